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

// moves is how a target group gets from the targets that it has to the endpoints that were found.
type moves struct {
	targets.Diff
	retained []*observed.Target // old targets that serve on for now
	delayed  delayed            // what flaps
	owned    bool               // the own targets of a shared group are recorded
	attempt  *Attempt           // what is known of targets that are not registered, nil if all are
	// deselected: the Service has no endpoint any more, and pods that it took still run.
	deselected bool
}

// comparison is a difference and what it was made from.
type comparison struct {
	of   *Health
	diff targets.Diff
}

// mover is the part of a planner that changes targets.
type mover struct{ *planner }

// moveTargets brings the target group to the endpoints: rules first, then new targets, then the old ones out. A
// maxAge above zero compares with what was read from AWS no longer ago, and zero with what is remembered.
func (p mover) moveTargets(maxAge time.Duration) {
	age := durations.HealthAge
	switch {
	case maxAge > 0:
		age = 0
	case p.gatesClosed():
		age = durations.Moment
	}
	m, ok := p.compare(age)
	if !ok {
		return
	}
	if ok := p.retain(m) && p.selectorChanged(m); !ok {
		return
	}
	if p.Forwards == nil && (gates{p.Facts}).unserved(m.Matched) {
		p.ask(AskForwards{})
		return
	}
	if p.Attempt != nil {
		p.afterAttempt(m)
		return
	}
	try := p.Memory.sendable(m.Register, p.Now)
	if len(try) > 0 && !targets.IsInstance(p.Described) && p.Network == nil {
		p.ask(AskNetwork{try})
		return
	}
	p.prepare(m, maxAge)
	was, drop := replaced(m.Diff)
	if len(was) > 0 {
		p.addStep(Deregister{Targets: was}, "a new target has the same address and port")
	}
	m.attempt = p.Memory.refusedBefore(m.Register, p.Now)
	if len(p.Memory.Refused) > 0 {
		p.addStep(KeepRefusals{m.Register}, "")
	}
	if len(try) > 0 {
		p.addStep(Register{Endpoints: try, Known: m.attempt}, "the endpoint has no target")
	}
	p.deregisterOld(m, drop)
	p.finish(m)
}

// prepare does what has to be done before targets are changed.
func (p mover) prepare(m *moves, maxAge time.Duration) {
	p.addStep(NoteRegistered{m.Staying()}, "")
	p.addStep(SyncRules{Keeps: len(m.retained)+len(m.delayed.targets) > 0, MaxAge: maxAge}, "")
	pending := !targets.IsInstance(p.Described) && slices.ContainsFunc(m.Matched, func(x targets.Pair) bool {
		return targets.Gated(x.Endpoint.Pod, p.gate()) && gates{p.Facts}.conditionOf(x).Status != corev1.ConditionTrue
	})
	if m.Empty() && len(m.retained) == 0 && !pending {
		p.addStep(SetCheckpoint{IfRulesMissing: true}, "")
	} else {
		p.clearCheckpoint()
	}
	if len(m.Register) > 0 && m.owned {
		want := p.wantedIdentities()
		for id := range p.Record.Identities {
			want[id] = true
		}
		p.record(want, "before they are registered")
	}
}

// finish ends a plan that changes targets.
func (p mover) finish(m *moves) {
	p.moves, p.end = m, withTargets
}

// afterAttempt goes on after some targets could not be registered.
func (p mover) afterAttempt(m *moves) {
	_, old := replaced(m.Diff)
	m.attempt = p.Attempt
	p.deregisterOld(m, old)
	if p.Attempt.overCapacity() { // there may be room now, if not for all
		var again []targets.Endpoint
		var kept *Attempt
		for _, r := range p.Attempt.Refused {
			if r.Because.Class == failure.Quota {
				again = append(again, r.Endpoints...)
			} else {
				kept = kept.with(r)
			}
		}
		p.addStep(Register{Endpoints: again, Known: kept, UpToCapacity: true}, "there may be room now")
	}
	p.finish(m)
}

// drop takes the old targets out after the new ones have come; if none of those can come, the old ones that can still
// serve stay.
func (p mover) deregisterOld(m *moves, old []*observed.Target) {
	a := m.attempt
	if a != nil && a.Failed != nil && !a.overCapacity() && len(m.Staying())+len(withoutRefused(m.Register, a.Refused)) == 0 {
		var ok bool
		if old, ok = p.unableToServe(old); !ok {
			return
		}
	}
	if a.overCapacity() {
		old = append(old, m.retained...) // there is no room for both
		m.retained = nil
	}
	p.addStep(NoRemoval, "")
	if len(old) > 0 {
		p.addStep(Deregister{Targets: old, MayWait: true}, "no endpoint any more")
	}
}

// replaced splits the old targets into those with the address and port of a new one, which have to go first, as AWS
// would take the new one for the old, and the rest.
func replaced(d targets.Diff) (first, rest []*observed.Target) {
	for _, t := range d.Deregister {
		if slices.ContainsFunc(d.Register, func(e targets.Endpoint) bool { return e.ID == t.ID && e.Port == t.Port }) {
			first = append(first, t)
		} else {
			rest = append(rest, t)
		}
	}
	return first, rest
}

func withoutRefused(all []targets.Endpoint, refused []Refusal) []targets.Endpoint {
	if len(refused) == 0 {
		return all
	}
	out := map[string]bool{}
	for _, r := range refused {
		for _, e := range r.Endpoints {
			out[e.Identity()] = true
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(e targets.Endpoint) bool { return out[e.Identity()] })
}

// unableToServe leaves out the targets that can still serve: all nodes, and the pods that are ready. The address of a
// pod that is gone may be another's soon.
func (p mover) unableToServe(list []*observed.Target) ([]*observed.Target, bool) {
	if targets.IsInstance(p.Described) {
		return nil, true
	}
	serving, ok := p.serving(list)
	return slices.DeleteFunc(slices.Clone(list), func(t *observed.Target) bool { return serving[t.ID] != nil }), ok
}

// serving returns the pods of targets that are ready and not about to go, by address.
func (p mover) serving(list []*observed.Target) (map[string]*corev1.Pod, bool) {
	for _, t := range list {
		if p.Serving == nil || !p.Serving.Asked[t.ID] {
			p.ask(AskServing{list})
			return nil, false
		}
	}
	out := map[string]*corev1.Pod{}
	for _, t := range list {
		if pod := p.Serving.Pods[t.ID]; pod != nil {
			out[t.ID] = pod
		}
	}
	return out, true
}

// compare finds what has to happen to the target group. What is remembered of a target is not enough
// where something follows from its health: whether new targets can take over from old ones, and
// whether a pod that is not known to be healthy yet may have its gate opened. A target may have
// become healthy since, and the address may have been another pod's.
func (p mover) compare(age time.Duration) (*moves, bool) {
	if !p.recordAndHealth(age) {
		return nil, false
	}
	if p.Record.Failure != nil {
		p.Err = p.Record.Failure.Err
		return nil, false
	}
	if p.Health.Failure != nil {
		p.Unavailable = p.Health.MaxAge == age
		p.fail(*p.Health.Failure)
		return nil, false
	}
	m := &moves{Diff: p.diff(), owned: p.Record.Shared}
	if !p.delay(m) {
		return nil, false
	}
	if p.Health.MaxAge <= durations.Moment {
		return m, true
	}
	serving, ok := p.handingOver(m.Diff)
	if !ok {
		return nil, false
	}
	if len(serving) > 0 || p.opensGate(m.Diff) {
		p.ask(AskHealth{durations.Moment})
		return nil, false
	}
	return m, true
}

// recordAndHealth asks for what may be taken out and for the registered targets, and reports whether they are known.
func (p *planner) recordAndHealth(age time.Duration) bool {
	if p.Record == nil {
		p.ask(AskRecord{p.leaving()})
	}
	if p.Health == nil && (p.Record == nil || p.Record.Failure == nil) {
		p.ask(AskHealth{age})
	}
	return len(p.Questions) == 0
}

// diff is computed once for the same health.
func (p mover) diff() targets.Diff {
	if p.compared == nil || p.compared.of != p.Health {
		d := p.compareTargets()
		d.Deregister = p.removable(d.Deregister)
		p.compared = &comparison{p.Health, d}
	}
	return p.compared.diff
}

func (p mover) compareTargets() targets.Diff {
	if targets.IsQUIC(p.Described) {
		return targets.Compare(p.registrable(), p.Health.Targets, p.Options.MaxTargets)
	}
	return p.Resolution.Compare(p.Health.Targets, p.Options.MaxTargets)
}

// opensGate reports whether the gate of a pod is to be opened.
func (p mover) opensGate(d targets.Diff) bool {
	return !targets.IsInstance(p.Described) && slices.ContainsFunc(d.Matched, func(m targets.Pair) bool {
		shown, _, _ := targets.CurrentCondition(m.Endpoint.Pod, p.gate())
		return targets.Gated(m.Endpoint.Pod, p.gate()) && shown.Status != corev1.ConditionTrue &&
			gates{p.Facts}.conditionOf(m).Status == corev1.ConditionTrue
	})
}

// retain takes out of the moves the old targets that have to serve on, because all the new ones
// are still in their first health checks and the load balancer would have nowhere to send requests
// to. That is so when a Service is turned to other pods at once. An old target serves on only
// while its pod is there and ready, and no longer than the first checks of the new ones take,
// however they end; nor where there is no room for both.
func (p mover) retain(m *moves) bool {
	serving, ok := p.handingOver(m.Diff)
	if !ok || len(serving) == 0 {
		return ok
	}
	m.Deregister = slices.DeleteFunc(slices.Clone(m.Deregister), func(t *observed.Target) bool {
		pod := serving[t.ID]
		if pod == nil || t.State != "healthy" {
			return false
		}
		p.Watch = append(p.Watch, cluster.Ref{Kind: cluster.KindPod, Namespace: pod.Namespace, Name: pod.Name})
		m.retained = append(m.retained, t)
		return true
	})
	return true
}

// handingOver finds, by address, the pods of the targets to be taken out that could serve on;
// none if the targets that stay are enough.
func (p mover) handingOver(d targets.Diff) (map[string]*corev1.Pod, bool) {
	if targets.IsInstance(p.Described) || len(d.Over) > 0 || len(d.Deregister) == 0 || len(d.Register)+len(d.Matched) == 0 {
		return nil, true
	}
	for _, m := range d.Matched {
		if m.Target.State != "initial" && m.Target.State != "" {
			return nil, true
		}
	}
	return p.serving(d.Deregister)
}
