package conformance

import (
	"maps"
	"slices"
)

// beyondAWS are the tests of core features that AWS does not let a controller pass.
// docs/conformance.md has the documents of AWS.
var beyondAWS = map[string]string{
	"HTTPRouteRequestHeaderModifier":            "an Application Load Balancer does not add, set or remove request headers by route",
	"GatewaySecretReferenceGrantAllInNamespace": withoutDomain,
	"GatewaySecretReferenceGrantSpecific":       withoutDomain,
}

const withoutDomain = "the certificate of the test is for no domain name, and AWS refuses such certificates"

func skipped() []string { return slices.Sorted(maps.Keys(beyondAWS)) }
