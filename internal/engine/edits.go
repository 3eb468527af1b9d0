package engine

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// delayAll delays all steps but those that withdraw rights, if the desired state changes too often.
func (r *run) delayAll(p plan.Plan) {
	if r.delay <= 0 {
		return
	}
	if r.delayed == nil {
		r.delayed = map[plan.StepID]bool{}
	}
	for _, s := range p.Steps {
		if !s.Revokes {
			r.delayed[s.ID] = true
		}
	}
}

// reportDelayed returns findings about a desired state that changes too often to be carried out at once.
func (r *run) reportDelayed() (out finding.List) {
	if r.delay <= 0 {
		return nil
	}
	for _, m := range r.out.Stack.Members {
		out.Add(finding.Finding{
			Object: m.Ref, Reason: finding.ChangedTooOften, Severity: finding.Warning,
			Message: "the desired state changed several times within seconds; the last change is made within a minute, and the load balancer stays unchanged until then",
			Fix:     "find the client that keeps editing the object, or an object that it references",
		})
	}
	return out
}
