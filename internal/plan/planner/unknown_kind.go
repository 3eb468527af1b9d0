package planner

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// withAssumedTypesAndSchemes returns the observed stack with the desired type or scheme in each load balancer for which AWS
// does not return it, and findings about these load balancers. A load balancer is never replaced because of an unknown type or
// scheme, because AWS would not return the value for a new load balancer either.
func withAssumedTypesAndSchemes(want model.Stack, have observed.Stack) (observed.Stack, finding.List) {
	var unknown finding.List
	have.LoadBalancers = slices.Clone(have.LoadBalancers)
	for i := range have.LoadBalancers {
		lb, desired := &have.LoadBalancers[i], want.LoadBalancer
		if lb.ResourceID == model.FrontendNLBID {
			desired = want.FrontendNLB
		}
		if desired == nil {
			continue
		}
		report := func(field, value string) {
			of := cmp.Or(desired.Origins[field], desired.Of)
			unknown.Add(finding.Finding{
				Object: of.Object, Field: of.Field, Reason: finding.ChangeNotKept, Severity: finding.Warning,
				Message: fmt.Sprintf("load balancer %q: %s should be %q, but AWS returns no value that the controller knows; the load balancer is not replaced", lb.Name, field, value),
				Fix:     "read the value with the AWS CLI (elbv2 describe-load-balancers); a new value of AWS needs a newer version of the controller",
			})
		}
		if lb.Type == "" {
			lb.Type = desired.Type.String()
			report("type", lb.Type)
		}
		if lb.Scheme == "" {
			lb.Scheme = desired.Scheme
			report("scheme", string(lb.Scheme))
		}
	}
	return have, unknown
}
