package conformance

import (
	"maps"
	"slices"
)

// beyondAWS are the tests of features that are core and that the load balancers of AWS
// do not have. docs/conformance.md has the documents of AWS.
var beyondAWS = map[string]string{
	"HTTPRouteRequestHeaderModifier": "an Application Load Balancer does not add, set or remove request headers by route",
}

func skipped() []string { return slices.Sorted(maps.Keys(beyondAWS)) }
