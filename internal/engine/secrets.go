package engine

import (
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Secrets stores a hash (plan.SecretHash) of the OIDC client secret that was last written to each listener and rule.
type Secrets interface {
	// SecretHash returns the hash of the client secret of the listener or rule with this ARN; "" if none is known.
	SecretHash(id model.StackID, arn string) string
	// RecordSecretHash stores the hash of the client secret of the listener or rule with this ARN.
	RecordSecretHash(id model.StackID, arn, hash string)
	// ForgetSecretHash invalidates a hash before another client secret is written. An empty ARN stands for all listeners and
	// rules that the run will create. The channel is like that of Checkpoints.Forget.
	ForgetSecretHash(id model.StackID, arn string) (written <-chan struct{})
	// RetainSecretHashes removes all hashes of a stack except for the hashes with the given ARNs.
	RetainSecretHashes(id model.StackID, arns []string)
}

// secretHashes returns the stored hashes of the client secrets of the listeners and rules in AWS, by ARN.
func (e *Engine) secretHashes(id model.StackID, have observed.Stack) map[string]string {
	if e.Secrets == nil {
		return nil
	}
	out := map[string]string{}
	for arn := range arnsWithSecret(have) {
		if hash := e.Secrets.SecretHash(id, arn); hash != "" {
			out[arn] = hash
		}
	}
	return out
}

// arnsWithSecret returns the ARNs of the listeners and rules in AWS that authenticate with an OIDC client secret.
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

// recordWrittenSecretHash stores the hash of the client secret that step s has written to AWS, if any.
func (r *execution) recordWrittenSecretHash(s plan.Step, res plan.StepResult, known plan.KnownIDs) {
	if r.e.Secrets == nil {
		return
	}
	if arn, hash := writtenSecretHash(s, known, res.ID); hash != "" {
		r.e.Secrets.RecordSecretHash(r.out.ID, arn, hash)
	}
}

// writtenSecretHash returns the ARN of the listener or rule that step s creates or changes, and the hash of the client
// secret that the step writes; "" if it writes none. created is the ARN of the created listener or rule; "" if the step has
// not been carried out.
func writtenSecretHash(s plan.Step, known plan.KnownIDs, created string) (arn, hash string) {
	var actions []model.Action
	switch do := s.Do.(type) {
	case plan.CreateRule:
		return created, plan.SecretHash(created, do.Rule.Actions)
	case plan.CreateListener:
		return created, plan.SecretHash(created, do.Settings.Default)
	case plan.ModifyRule:
		arn, actions = known[do.Rule], do.Actions
	case plan.ModifyListener:
		arn, actions = known[do.Listener], do.Settings.Default
	}
	if arn == "" {
		return "", ""
	}
	return arn, plan.SecretHash(arn, actions)
}

// invalidateSecretHashes invalidates the stored hashes of the client secrets that the plan will change in this run.
func (r *execution) invalidateSecretHashes(p plan.Plan) {
	if r.e.Secrets == nil {
		return
	}
	for _, s := range p.Steps {
		arn, hash := writtenSecretHash(s, p.KnownIDs, "")
		if hash == "" || hash == r.e.Secrets.SecretHash(r.out.ID, arn) || s.Waits() {
			continue
		}
		r.checkpointWrites.Add(r.e.Secrets.ForgetSecretHash(r.out.ID, arn))
	}
}

// recordAssumedSecretHashes stores the hashes of client secrets that AWS is assumed to have (plan.Plan.AssumedSecretHashes).
// If the plan is empty, it removes the hashes of listeners and rules that do not exist any more.
func (r *execution) recordAssumedSecretHashes(d Draft) {
	if r.e.Secrets == nil {
		return
	}
	for _, arn := range slices.Sorted(maps.Keys(d.Plan.AssumedSecretHashes)) {
		r.e.Secrets.RecordSecretHash(r.out.ID, arn, d.Plan.AssumedSecretHashes[arn])
	}
	if d.Plan.Empty() {
		r.e.Secrets.RetainSecretHashes(r.out.ID, slices.Sorted(maps.Keys(arnsWithSecret(d.Have))))
	}
}
