package planner

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// awaitActive makes the stack of a Gateway run again until AWS has provisioned its load balancer, because the status of a
// Gateway shows whether its load balancer is provisioned.
func (r *resolution) awaitActive() {
	switch {
	case !r.Want.ID.Kind.IsGateway() || r.Want.Held.Creation:
	case r.lb.Live == nil:
		r.RetryWithin(durations.FirstPoll)
	case r.lb.Live.State == observed.LoadBalancerProvisioning:
		r.Ask(model.AskState{ARN: r.lb.Live.ARN})
		r.RetryWithin(4 * durations.FirstPoll) // the state of the load balancer is read at most every ten seconds
	}
}
