package engine

import (
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Secrets remember the OIDC client secret that was last written to each listener and rule of a stack, as a mark: a hash
// (plan.SecretMark).
type Secrets interface {
	// SecretMark returns the mark of a listener or rule, "" if none is known.
	SecretMark(id model.StackID, arn string) string
	// NoteSecretMark remembers the mark of a listener or rule.
	NoteSecretMark(id model.StackID, arn, mark string)
	// ForgetSecretMark forgets a mark before another client secret is written. An empty ARN refers to all listeners and rules
	// that are about to be created. The channel is like the channel that Checkpoints.Forget returns.
	ForgetSecretMark(id model.StackID, arn string) (written <-chan struct{})
	// RetainSecretMarks forgets the marks of a stack except for those of the ARNs.
	RetainSecretMarks(id model.StackID, arns []string)
}

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

// noteWrittenSecret remembers the mark of the client secret that a step has written to AWS, if any.
func (r *execution) noteWrittenSecret(s plan.Step, res plan.StepResult, known plan.KnownIDs) {
	if r.e.Secrets == nil {
		return
	}
	if arn, mark := writtenSecretMark(s, known, res.ID); mark != "" {
		r.e.Secrets.NoteSecretMark(r.out.ID, arn, mark)
	}
}

// writtenSecretMark returns the ARN of the listener or rule that a step changes or has created (created), and the mark of the
// client secret that the step writes; the mark is empty if it writes none.
func writtenSecretMark(s plan.Step, known plan.KnownIDs, created string) (arn, mark string) {
	var actions []model.Action
	switch do := s.Do.(type) {
	case plan.CreateRule:
		return created, plan.SecretMark(created, do.Rule.Actions)
	case plan.CreateListener:
		return created, plan.SecretMark(created, do.Settings.Default)
	case plan.ModifyRule:
		arn, actions = known[do.Rule], do.Actions
	case plan.ModifyListener:
		arn, actions = known[do.Listener], do.Settings.Default
	}
	if arn == "" {
		return "", ""
	}
	return arn, plan.SecretMark(arn, actions)
}

// forgetSecrets forgets the marks of listeners and rules whose client secrets the steps of a plan change.
func (r *execution) forgetSecrets(p plan.Plan) {
	if r.e.Secrets == nil {
		return
	}
	for _, s := range p.Steps {
		arn, mark := writtenSecretMark(s, p.KnownIDs, "")
		if mark == "" || mark == r.e.Secrets.SecretMark(r.out.ID, arn) || s.Waits() {
			continue
		}
		r.checkpointWrites.Add(r.e.Secrets.ForgetSecretMark(r.out.ID, arn))
	}
}

// noteAssumedSecrets remembers the marks that the plan assumes. If the plan is empty, it forgets the marks of listeners and
// rules that do not exist any more.
func (r *execution) noteAssumedSecrets(d Draft) {
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
