package conformance

import (
	"maps"
	"slices"
)

// unsupportedByAWS are the tests of core features that AWS does not let a controller pass.
// docs/conformance.md has the documents of AWS.
var unsupportedByAWS = map[string]string{
	"HTTPRouteRequestHeaderModifier":            "an Application Load Balancer does not add, set or remove request headers by route",
	"GatewaySecretReferenceGrantAllInNamespace": withoutDomain,
	"GatewaySecretReferenceGrantSpecific":       withoutDomain,
}

const withoutDomain = "the certificate of the test is for no domain name, and AWS refuses such certificates"

// unsupportedByALBClasses are further tests that classes of controller gateway.k8s.aws/alb cannot pass: what older controllers made for
// these classes is not changed when Fulcrum takes over.
var unsupportedByALBClasses = map[string]string{
	"HTTPRouteHostnameIntersection": portInHost,
	"HTTPRouteListenerPortMatching": portInHost,
}

const portInHost = "rules match the hostname alone, and an Application Load Balancer compares a Host header with its port"

func skippedTests(controller string) []string {
	out := slices.Collect(maps.Keys(unsupportedByAWS))
	if controller == albController {
		out = slices.AppendSeq(out, maps.Keys(unsupportedByALBClasses))
	}
	slices.Sort(out)
	return out
}
