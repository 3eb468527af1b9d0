package engine

import (
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// secretMarks returns the known marks of the client secrets of live listeners and rules, by ARN.
func (e *Engine) secretMarks(id model.StackID, have observed.Stack) map[string]string {
	if e.Secrets == nil {
		return nil
	}
	out := map[string]string{}
	for arn := range arnsWithSecret(have) {
		if mark := e.Secrets.SecretMark(id, arn); mark != "" {
			out[arn] = mark
		}
	}
	return out
}

// arnsWithSecret returns the ARNs of live listeners and rules with a client secret.
func arnsWithSecret(have observed.Stack) map[string]bool {
	out := map[string]bool{}
	note := func(arn string, actions []model.Action) {
		if slices.ContainsFunc(actions, func(a model.Action) bool { _, ok := a.(model.AuthOIDC); return ok }) {
			out[arn] = true
		}
	}
	for _, lb := range have.LoadBalancers {
		for _, l := range lb.Listeners {
			note(l.ARN, l.Default)
			for _, r := range l.Rules {
				note(r.ARN, r.Actions)
			}
		}
	}
	return out
}

// noteSecret remembers the mark of the client secret that a step has written to AWS, if any.
func (r *execution) noteSecret(s plan.Step, res plan.Result, known plan.KnownIDs) {
	if r.e.Secrets == nil {
		return
	}
	var arn string
	var actions []model.Action
	switch do := s.Do.(type) {
	case plan.CreateRule:
		arn, actions = res.ID, do.Rule.Actions
	case plan.ModifyRule:
		arn, actions = known[do.Rule], do.Actions
	case plan.CreateListener:
		arn, actions = res.ID, do.Settings.Default
	case plan.ModifyListener:
		arn, actions = known[do.Listener], do.Settings.Default
	}
	if mark := plan.SecretMark(arn, actions); mark != "" {
		r.e.Secrets.NoteSecretMark(r.out.ID, arn, mark)
	}
}

// noteSecrets remembers the marks that the plan assumes. If the plan is empty, it forgets the marks of listeners and rules
// that do not exist any more.
func (r *execution) noteSecrets(d Draft) {
	if r.e.Secrets == nil {
		return
	}
	for _, arn := range slices.Sorted(maps.Keys(d.Plan.AssumedSecrets)) {
		r.e.Secrets.NoteSecretMark(r.out.ID, arn, d.Plan.AssumedSecrets[arn])
	}
	if d.Plan.Empty() {
		r.e.Secrets.RetainSecretMarks(r.out.ID, slices.Sorted(maps.Keys(arnsWithSecret(d.Have))))
	}
}
