package planner

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/accelerators"
	"github.com/fulcrum-lb/fulcrum/internal/plan/authority"
)

// Make computes what has to be done to reach the desired state, in an order in which every
// prefix leaves a working load balancer. Findings are faults that only AWS facts could show. A
// plan with Asks is preliminary: answer them and make it again.
func Make(want model.Stack, have observed.Stack, opt plan.Options, memory plan.Memory) (plan.Plan, finding.List) {
	if want.ID.Kind.HasAccelerator() {
		return accelerators.Make(want, have, opt, memory)
	}
	have, withdrawn := authority.Revoke(have)
	want, again := withoutDeparted(want, have, opt)
	r := resolve(want, have, opt, memory)
	diff(r)
	moves{r}.reportDepartures()
	if again > 0 && (r.Plan.RetryAfter == 0 || again < r.Plan.RetryAfter) {
		r.Plan.RetryAfter = again
	}
	r.Plan.Retains = r.retains()
	withdrawn.Prepend(&r.Plan)
	r.Findings.Add(withdrawn.Findings...)
	return r.Plan, r.Findings
}
