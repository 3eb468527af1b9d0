package bindingplan

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// targetMoves has the changes of the registered targets that a plan makes.
type targetMoves struct {
	targets.Diff
	retainedTargets []*observed.Target   // old targets that are deregistered later
	delayed         delayedChanges       // flapping endpoints and targets
	isShared        bool                 // several clusters share the target group; therefore this cluster records its targets
	attempt         *RegistrationAttempt // refusals of endpoints that are not registered, nil if there are none
	// selectorChanged is set if the Service has no endpoint any more although the pods that it selected before still run.
	selectorChanged bool
}

// comparison has the difference between targets and endpoints, with the health from which it was computed.
type comparison struct {
	health *Health
	diff   targets.Diff
}

// targetPlanner plans changes of targets.
type targetPlanner struct{ *planner }

// moveTargets plans to make the registered targets equal to the endpoints: first it plans the security group rules, then the
// registration of new targets, then the deregistration of old targets. maxAge is the result of comparisonAge.
func (p targetPlanner) moveTargets(maxAge time.Duration) {
	age := durations.HealthAge
	switch {
	case maxAge > 0:
		age = 0
	case p.hasClosedGate():
		age = durations.ShortestInterval
	}
	m, ok := p.compare(age)
	if !ok {
		return
	}
	if ok := p.retainServingTargets(m) && p.detectSelectorChange(m); !ok {
		return
	}
	if p.Forwards == nil && (gatePlanner{p.Facts}).isLongUnchecked(m.MatchedPairs) {
		p.ask(AskForwards{})
		return
	}
	if p.Attempt != nil {
		p.planAfterRegistration(m)
		return
	}
	sendable := p.Memory.sendableEndpoints(m.ToRegister, p.Now)
	if len(sendable) > 0 && !targets.HasInstanceTargets(p.CompletedBinding) && p.Network == nil {
		p.ask(AskNetwork{sendable})
		return
	}
	p.prepareMoves(m, maxAge)
	first, rest := splitReplacedTargets(m.Diff)
	if len(first) > 0 {
		p.addStep(Deregister{Targets: first}, "a new target has the same address and port")
	}
	m.attempt = p.Memory.earlierRefusals(m.ToRegister, p.Now)
	if len(p.Memory.RefusedTargets) > 0 {
		p.addStep(RetainRefusals{m.ToRegister}, "")
	}
	if len(sendable) > 0 {
		p.addStep(Register{Endpoints: sendable, KnownRefusals: m.attempt}, "the endpoint has no target")
	}
	p.deregisterOld(m, rest)
	p.finishMoves(m)
}

// prepareMoves plans the steps that come before changes of targets: security group rules, checkpoint and record.
func (p targetPlanner) prepareMoves(m *targetMoves, maxAge time.Duration) {
	p.addStep(RecordRegistered{m.MatchedTargets()}, "")
	p.addStep(SyncRules{RetainPreviousRules: len(m.retainedTargets)+len(m.delayed.targets) > 0, MaxAge: maxAge}, "")
	pending := !targets.HasInstanceTargets(p.CompletedBinding) && slices.ContainsFunc(m.MatchedPairs, func(x targets.MatchedPair) bool {
		return targets.HasReadinessGate(x.Endpoint.Pod, p.gateType()) && (targets.IsUnchecked(x.Target) || gatePlanner{p.Facts}.conditionOf(x).Status != corev1.ConditionTrue)
	})
	if m.Empty() && len(m.retainedTargets) == 0 && !pending {
		p.addStep(SetCheckpoint{IfRulesMissing: true}, "")
	} else {
		p.clearCheckpoint()
	}
	if len(m.ToRegister) > 0 && m.isShared {
		p.recordNewTargets()
	}
}

// finishMoves ends the plan. The run then reports the health of the targets.
func (p targetPlanner) finishMoves(m *targetMoves) {
	p.moves, p.finalReport = m, reportTargets
}

// planAfterRegistration plans the remaining steps after AWS has refused to register some targets.
func (p targetPlanner) planAfterRegistration(m *targetMoves) {
	_, old := splitReplacedTargets(m.Diff)
	m.attempt = p.Attempt
	p.deregisterOld(m, old)
	if p.Attempt.isOverCapacity() { // after the deregistration, there may be capacity for some of the refused endpoints
		var overCapacity []targets.Endpoint
		var others *RegistrationAttempt
		for _, r := range p.Attempt.Refusals {
			if r.AWSFailure.Class == failure.Quota {
				overCapacity = append(overCapacity, r.Endpoints...)
			} else {
				others = others.withRefusal(r)
			}
		}
		p.addStep(Register{Endpoints: overCapacity, KnownRefusals: others, UpToCapacity: true}, "the target group may have capacity now")
	}
	p.finishMoves(m)
}

// deregisterOld plans to deregister old targets after new targets were registered. If AWS refused all new targets, it
// retains old targets whose pods are still ready.
func (p targetPlanner) deregisterOld(m *targetMoves, old []*observed.Target) {
	a := m.attempt
	if a != nil && a.LastFailure != nil && !a.isOverCapacity() && len(m.MatchedTargets())+len(withoutRefused(m.ToRegister, a.Refusals)) == 0 {
		if targets.HasInstanceTargets(p.CompletedBinding) {
			old = nil
		} else if unserving, ok := p.unservingTargets(old); ok {
			old = unserving
		} else {
			return
		}
	}
	if a.isOverCapacity() {
		old = append(old, m.retainedTargets...) // the target group has no capacity for old and new targets
		m.retainedTargets = nil
	}
	p.addStep(RecordRemovalNotNeeded, "")
	if len(old) > 0 {
		p.addStep(Deregister{Targets: old, AllowPostponed: true}, "the target is not an endpoint any more")
	}
}

// splitReplacedTargets returns first the old targets that have the address and port of a new target, and then all others.
// AWS identifies targets by address and port. Therefore a target must be deregistered before a new target with the same
// address and port is registered.
func splitReplacedTargets(d targets.Diff) (first, rest []*observed.Target) {
	for _, t := range d.ToDeregister {
		if slices.ContainsFunc(d.ToRegister, func(e targets.Endpoint) bool { return e.ID == t.ID && e.Port == t.Port }) {
			first = append(first, t)
		} else {
			rest = append(rest, t)
		}
	}
	return first, rest
}

// withoutRefused returns the endpoints that are in none of the refusals.
func withoutRefused(all []targets.Endpoint, refused []Refusal) []targets.Endpoint {
	if len(refused) == 0 {
		return all
	}
	identities := map[string]bool{}
	for _, r := range refused {
		for _, e := range r.Endpoints {
			identities[e.Identity()] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(e targets.Endpoint) bool { return identities[e.Identity()] })
}

// servingPods returns the pods of targets that are ready and not terminating, by address. The second result is false if a
// question must be answered first.
func (p targetPlanner) servingPods(list []*observed.Target) (map[string]*corev1.Pod, bool) {
	for _, t := range list {
		if p.ServingPods == nil || !p.ServingPods.AskedAddresses[t.ID] {
			p.ask(AskServing{list})
			return nil, false
		}
	}
	out := map[string]*corev1.Pod{}
	for _, t := range list {
		if pod := p.ServingPods.Pods[t.ID]; pod != nil {
			out[t.ID] = pod
		}
	}
	return out, true
}

// compare returns the changes of the targets. The second result is false if a question must be answered first or a fact
// could not be read. age is the maximum age of the health. Cached health is not sufficient to decide whether new targets can
// replace old ones, or whether the gate of a pod may be opened: the health may have changed, and the address may have
// belonged to another pod.
func (p targetPlanner) compare(age time.Duration) (*targetMoves, bool) {
	if !p.readRecordAndHealth(age) {
		return nil, false
	}
	if p.Record.Failure != nil {
		p.Err = p.Record.Failure.Err
		return nil, false
	}
	if p.Health.Failure != nil {
		p.TargetsUnavailable = p.Health.MaxAge == age
		p.stopWithFailure(*p.Health.Failure)
		return nil, false
	}
	m := &targetMoves{Diff: p.diff(), isShared: p.Record.Shared}
	if !p.delayFlapping(m) {
		return nil, false
	}
	if p.Health.MaxAge <= durations.ShortestInterval {
		return m, true
	}
	serving, ok := p.servingOldTargets(m.Diff)
	if !ok {
		return nil, false
	}
	if len(serving) > 0 || p.needsFreshHealth(m.Diff) {
		p.ask(AskHealth{durations.ShortestInterval})
		return nil, false
	}
	return m, true
}

// readRecordAndHealth adds questions for the record and the registered targets. It reports whether both are known already.
func (p *planner) readRecordAndHealth(age time.Duration) bool {
	if p.Record == nil {
		p.ask(AskRecord{p.isDeleted()})
	}
	if p.Health == nil && (p.Record == nil || p.Record.Failure == nil) {
		p.ask(AskHealth{age})
	}
	return len(p.Questions) == 0
}

// diff returns the difference between targets and endpoints. The result is cached until the health is read again.
func (p targetPlanner) diff() targets.Diff {
	if p.cachedComparison == nil || p.cachedComparison.health != p.Health {
		d := p.compareTargets()
		d.ToDeregister = p.removableTargets(d.ToDeregister)
		p.cachedComparison = &comparison{p.Health, d}
	}
	return p.cachedComparison.diff
}

// compareTargets computes the difference between targets and endpoints.
func (p targetPlanner) compareTargets() targets.Diff {
	if targets.IsQUIC(p.CompletedBinding) {
		return targets.Compare(p.registrableEndpoints(), p.Health.Targets, p.Options.MaxTargets)
	}
	return p.Resolution.Compare(p.Health.Targets, p.Options.MaxTargets)
}

// needsFreshHealth reports whether the plan would open the readiness gate of a pod, or a pod with the readiness gate has an
// unchecked target.
func (p targetPlanner) needsFreshHealth(d targets.Diff) bool {
	return !targets.HasInstanceTargets(p.CompletedBinding) && slices.ContainsFunc(d.MatchedPairs, func(m targets.MatchedPair) bool {
		shown, _, _ := targets.CurrentCondition(m.Endpoint.Pod, p.gateType())
		return targets.HasReadinessGate(m.Endpoint.Pod, p.gateType()) && (targets.IsUnchecked(m.Target) ||
			shown.Status != corev1.ConditionTrue && gatePlanner{p.Facts}.conditionOf(m).Status == corev1.ConditionTrue)
	})
}

// retainServingTargets moves old targets from ToDeregister to retainedTargets if all new targets are still in their first
// health checks, for example after the selector of a Service was changed. Without the old targets, no target could answer
// requests. An old target is retained while its pod is ready, at most until the first health checks of the new targets end.
// It is not retained if the target group has no capacity for both. It returns false if a question must be answered first.
func (p targetPlanner) retainServingTargets(m *targetMoves) bool {
	serving, ok := p.servingOldTargets(m.Diff)
	if !ok || len(serving) == 0 {
		return ok
	}
	m.ToDeregister = slices.DeleteFunc(slices.Clone(m.ToDeregister), func(t *observed.Target) bool {
		pod := serving[t.ID]
		if pod == nil || t.State != "healthy" {
			return false
		}
		p.WatchedObjects = append(p.WatchedObjects, cluster.Ref{Kind: cluster.KindPod, Namespace: pod.Namespace, Name: pod.Name})
		m.retainedTargets = append(m.retainedTargets, t)
		return true
	})
	return true
}

// servingOldTargets returns the pods of old targets that can still answer requests, by address. It returns none if the
// matched targets are sufficient. The second result is false if a question must be answered first.
func (p targetPlanner) servingOldTargets(d targets.Diff) (map[string]*corev1.Pod, bool) {
	if targets.HasInstanceTargets(p.CompletedBinding) || len(d.OverCapacity) > 0 || len(d.ToDeregister) == 0 || len(d.ToRegister)+len(d.MatchedPairs) == 0 {
		return nil, true
	}
	for _, m := range d.MatchedPairs {
		if m.Target.State != "initial" && m.Target.State != "" {
			return nil, true
		}
	}
	return p.servingPods(d.ToDeregister)
}
