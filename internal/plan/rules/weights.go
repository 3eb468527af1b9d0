package rules

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// interimActions returns the actions that are set on a rule in this run, and the wait until the desired actions are set. The
// parameter have contains the actions that answer the requests of the rule now.
func (ro *Rollout) interimActions(w *ruleChange, have []model.Action) ([]model.Action, plan.Wait) {
	now, pending := ro.Shift(w.rule.Desired.Actions, have)
	if len(pending) == 0 {
		return now, plan.Wait{}
	}
	wait := ro.ruleWait(w, pending)
	if wait.For == "" {
		return w.rule.Desired.Actions, plan.Wait{}
	}
	return now, wait
}
