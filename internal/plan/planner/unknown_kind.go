package planner

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
)

// unknownTypeOrScheme is an existing load balancer whose type or scheme AWS does not return.
type unknownTypeOrScheme struct {
	name, field, desired string
	origin               finding.Origin
}

// withAssumedTypesAndSchemes returns the observed stack with the desired type or scheme in each load balancer for which AWS
// does not return it, and these load balancers. A load balancer is never replaced because of an unknown type or scheme,
// because AWS would not return the value for a new load balancer either.
func withAssumedTypesAndSchemes(want model.Stack, have observed.Stack) (observed.Stack, []unknownTypeOrScheme) {
	var unknown []unknownTypeOrScheme
	for i, lb := range have.LoadBalancers {
		desired := want.LoadBalancer
		if lb.ResourceID == model.FrontendNLBID {
			desired = want.FrontendNLB
		}
		if desired == nil || lb.Type != "" && lb.Scheme != "" {
			continue
		}
		if len(unknown) == 0 {
			have.LoadBalancers = slices.Clone(have.LoadBalancers)
		}
		note := func(field, desiredValue string) {
			unknown = append(unknown, unknownTypeOrScheme{lb.Name, field, desiredValue, cmp.Or(desired.Origins[field], desired.Of)})
		}
		known := &have.LoadBalancers[i]
		if lb.Type == "" {
			known.Type = desired.Type.String()
			note("type", known.Type)
		}
		if lb.Scheme == "" {
			known.Scheme = desired.Scheme
			note("scheme", string(known.Scheme))
		}
	}
	return have, unknown
}

// reportUnknownTypesAndSchemes reports load balancers whose type or scheme AWS does not return.
func reportUnknownTypesAndSchemes(d *draft.Draft, unknown []unknownTypeOrScheme) {
	for _, k := range unknown {
		d.Findings.Add(finding.Finding{
			Object: d.EventObject(k.origin.Object), Field: k.origin.Field, Reason: finding.ChangeNotKept, Severity: finding.Warning,
			Message: fmt.Sprintf("load balancer %q: %s should be %q, but AWS returns no value that the controller knows; the load balancer is not replaced", k.name, k.field, k.desired),
			Fix:     "read the value with the AWS CLI (elbv2 describe-load-balancers); a new value of AWS needs a newer version of the controller",
		})
	}
}
