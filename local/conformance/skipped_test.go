package conformance

import (
	"maps"
	"slices"
)

// unsupportedByAWS lists the tests of core features that no controller can pass on AWS, with the reason. docs/conformance.md
// links to the AWS documentation.
var unsupportedByAWS = map[string]string{
	"HTTPRouteRequestHeaderModifier":            "an Application Load Balancer does not add, set or remove request headers by route",
	"GatewaySecretReferenceGrantAllInNamespace": noDomainReason,
	"GatewaySecretReferenceGrantSpecific":       noDomainReason,
}

const noDomainReason = "the certificate of the test is for no domain name, and AWS refuses such certificates"

// unsupportedByALBClasses lists further tests that GatewayClasses of the controller gateway.k8s.aws/alb cannot pass, with
// the reason. For these GatewayClasses, Fulcrum creates the same rules as earlier controllers, so that a takeover does not
// change them.
var unsupportedByALBClasses = map[string]string{
	"HTTPRouteHostnameIntersection": portInHostReason,
	"HTTPRouteListenerPortMatching": portInHostReason,
}

const portInHostReason = "rules match the hostname alone, and an Application Load Balancer compares a Host header with its port"

func skippedTests(controller string) []string {
	out := slices.Collect(maps.Keys(unsupportedByAWS))
	if controller == albController {
		out = slices.AppendSeq(out, maps.Keys(unsupportedByALBClasses))
	}
	slices.Sort(out)
	return out
}
