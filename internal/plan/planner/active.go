package planner

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// reportFailed reports the load balancers that AWS could not create. Because of these findings, the stack is planned again
// with back-off.
func reportFailed(d *draft.Draft, all ...*resolved.LoadBalancer) {
	for _, lb := range all {
		if lb.Live == nil || lb.Live.State != observed.LoadBalancerFailed {
			continue
		}
		d.Ask(model.AskState{ARN: lb.Live.ARN})
		d.Findings.Add(finding.Finding{
			Object: d.EventObject(finding.Ref{}), Reason: finding.RejectedByAWS, Severity: finding.Error,
			Message: fmt.Sprintf("AWS could not create load balancer %q: its state is %q; it replaces no other load balancer", lb.Live.Name, lb.Live.State),
			Fix:     "remove the cause that AWS shows for the state, and delete the load balancer in AWS, so that another one is created",
		})
	}
}

// retryUntilLoadBalancerActive sets a short retry interval for the stack of a Gateway until its load balancer is active in
// AWS, because the status of the Gateway shows the state of the load balancer.
func (r *resolution) retryUntilLoadBalancerActive() {
	switch {
	case !r.Want.ID.Kind.IsGateway() || r.Want.Held.Creation:
	case r.lb.Live == nil:
		r.RetryWithin(durations.FirstPoll)
	case r.lb.Live.State == observed.LoadBalancerProvisioning:
		r.RetryWithin(r.AwaitActive(r.lb.Live.ARN, "the load balancer to be active").RetryAfter)
	}
}
