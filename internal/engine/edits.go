package engine

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// delayFrequentEdits delays all steps of a plan if the desired state changes too often. Steps that revoke access are not
// delayed.
func (r *run) delayFrequentEdits(p plan.Plan) {
	if r.editDelay <= 0 {
		return
	}
	if r.delayedSteps == nil {
		r.delayedSteps = map[plan.StepID]bool{}
	}
	for _, s := range p.Steps {
		if !s.IsRevocation {
			r.delayedSteps[s.ID] = true
		}
	}
}

// delayedEditFindings returns findings about a desired state that changes too often to be carried out immediately.
func (r *run) delayedEditFindings() (out finding.List) {
	if r.editDelay <= 0 {
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
