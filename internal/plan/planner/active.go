package planner

import (
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// awaitActive sets a short retry interval for the stack of a Gateway until its load balancer is active in AWS, because the
// status of the Gateway shows whether it is.
func (r *resolution) awaitActive() {
	switch {
	case !r.Want.ID.Kind.IsGateway() || r.Want.Held.Creation:
	case r.lb.Live == nil:
		r.RetryWithin(durations.FirstPoll)
	case r.lb.Live.State == observed.LoadBalancerProvisioning:
		r.RetryWithin(r.AwaitActive(r.lb.Live.ARN, "the load balancer to be active").RetryAfter)
	}
}
