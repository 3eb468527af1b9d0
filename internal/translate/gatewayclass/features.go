package gatewayclass

import (
	"slices"
	"strings"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// The features of the Gateway API that this controller supports, by their names in the conformance suite of the Gateway API.
// All tests of these features pass. docs/conformance.md explains why other features are not supported.
var (
	sharedFeatures = []gwv1.FeatureName{"Gateway", "GatewayAddressEmpty", "ReferenceGrant"}
	albFeatures    = []gwv1.FeatureName{
		"GatewayHTTPListenerIsolation", "HTTPRoute", "HTTPRouteBackendProtocolWebSocket", "HTTPRouteDestinationPortMatching",
		"HTTPRouteMethodMatching", "HTTPRouteNamedRouteRule", "HTTPRouteParentRefPort", "HTTPRoutePortRedirect", "HTTPRouteSchemeRedirect",
	}
	nlbFeatures = []gwv1.FeatureName{"TCPRoute", "UDPRoute"}
)

// supportedFeatures returns the features of a class in ascending order, as the Gateway API requires.
func supportedFeatures(alb, nlb, listenerSets bool) []gwv1.SupportedFeature {
	names := slices.Clone(sharedFeatures)
	if alb {
		names = append(names, albFeatures...)
	}
	if nlb {
		names = append(names, nlbFeatures...)
	}
	if listenerSets {
		names = append(names, "ListenerSet")
	}
	slices.SortFunc(names, func(a, b gwv1.FeatureName) int { return strings.Compare(string(a), string(b)) })
	out := make([]gwv1.SupportedFeature, len(names))
	for i, n := range names {
		out[i].Name = n
	}
	return out
}
