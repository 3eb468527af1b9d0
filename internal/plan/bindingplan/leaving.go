package bindingplan

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// leaving reports whether the binding goes or is gone.
func (f *Facts) leaving() bool { return f.Absent || f.Stored.DeletionTimestamp != nil }

// leaveTargetGroup takes everything out that a binding put in and lets the object go. The controller deletes a binding
// only after the last rule that forwards to its group, so one whose group is in use is deleted by another: by hand,
// with the definition of the kind, or by a tool that takes it for a leftover. It will be made again, and taking its
// targets out meanwhile would stop the traffic.
func (p *planner) leaveTargetGroup() {
	if !p.claimed() {
		if p.Memory.Released {
			p.addStep(NoRemoval, "")
		}
		return
	}
	p.end = released
	p.addStep(Known, "") // should the finalizer be removed by hand
	if p.InUse == nil {
		p.ask(AskInUse{})
		return
	}
	switch {
	case p.InUse.Failure != nil:
		p.failed = p.InUse.Failure
		return
	case p.InUse.Is:
		p.findings.Add(finding.Finding{
			Object: targets.Ref(p.Stored), Reason: finding.RemovalNotTrusted, Severity: finding.Warning,
			Message: "the binding is deleted while its load balancer still sends requests to the target group; the targets stay, and the binding is created again",
			Fix:     "to end the traffic, delete the object that sends it, or its backend",
		})
		p.addStep(Departed, "")
		p.addStep(p.events(p.findings, ""), "")
		p.addStep(RemoveFinalizer{}, "its targets stay for the binding that is made again")
		return
	}
	if p.cleanUp("the binding is deleted") {
		p.addStep(RemoveFinalizer{}, "nothing of it is left in AWS")
		p.addStep(Released, "")
	}
}

// cleanUp deregisters all targets, drops the rules and lets waiting pods go. A target group that
// is gone is no obstacle. It reports whether the plan goes on.
func (p *planner) cleanUp(why string) bool {
	switch {
	case p.Described == nil && p.Undescribed == nil:
		p.ask(AskDescribed{})
		return false
	case p.Undescribed == nil:
		if !p.deregisterAll(why, false) {
			return false
		}
	case p.Undescribed.missing():
		p.Unavailable = true
	default:
		p.failed = p.Undescribed
		return false
	}
	if p.Stored.Spec.MultiClusterTargetGroup {
		p.addStep(DropRecord{}, why)
	}
	p.addStep(SyncRules{Leaving: true}, why)
	p.release(why)
	return true
}

// release lets pods go that wait for a target group that nothing fills any more.
func (p *planner) release(why string) {
	for _, pod := range p.GatedPods {
		gates{p.Facts}.setGate(&p.Steps, gateCondition{pod: pod, want: targets.Released}, why)
	}
}

// deregisterAll deregisters what is registered, unless another binding was there first. In a group
// that several clusters fill, it is what this one has registered. A binding that goes leaves what
// its successor wants. It reports whether the plan goes on.
func (p *planner) deregisterAll(why string, mayWait bool) bool {
	if p.Conflict == nil {
		p.ask(AskConflict{})
		return false
	}
	if p.Conflict.exists() {
		return true
	}
	if !p.recordAndHealth(durations.HealthAge) {
		return false
	}
	if f := p.Record.Failure; f != nil {
		p.failed = f
		return false
	}
	if f := p.Health.Failure; f != nil {
		p.Unavailable = true
		if f.missing() {
			return true
		}
		p.failed = f
		return false
	}
	p.addStep(NoRemoval, "")
	if out := slices.DeleteFunc(p.removable(p.Health.Targets), targets.Draining); len(out) > 0 {
		p.addStep(Deregister{Targets: out, MayMiss: true, MayWait: mayWait}, why)
	}
	return true
}

// MakeEmptying makes the plan of emptying the target group that a binding has filled before it named another.
func MakeEmptying(f *Facts) Plan {
	p := &planner{Facts: f}
	p.end = withFailure
	p.deregisterAll("the binding names another target group now", false)
	return p.result()
}

// cleanUpAfterDeletion tidies up after a binding that disappeared with or without our doing, or that was never
// there although pods have its readiness gate. A binding that is only on its way to us must not
// have its gates opened, and one that will be made again needs its rules.
func (p *planner) cleanUpAfterDeletion() {
	m := p.Memory
	p.addStep(BackendMissing, "")
	if len(p.GatedPods) > 0 && m.AbsentFor < durations.FirstBackOff {
		p.requeueAfter(durations.FirstBackOff, "the binding may be on its way")
	} else {
		p.release("there is no such binding")
	}
	if m.Known && !m.Released && m.AbsentFor < durations.MissingWait {
		p.requeueAfter(durations.MissingWait-m.AbsentFor, "the binding may come back")
		p.Remove = true
		return
	}
	if p.Stored != nil {
		switch {
		case p.InUse == nil:
			p.ask(AskInUse{})
			return
		case p.InUse.Failure != nil:
			p.Err, p.Remove = p.InUse.Failure.Err, true
			return
		case p.InUse.Is: // it has to be made again first, because requests are still sent to its targets
			p.requeueAfter(durations.MissingWait, "its target group is still in use")
			p.Remove = true
			return
		}
	}
	p.end = disappeared
	if !m.Known { // it has no targets
		if len(p.retries) == 0 {
			p.addStep(SyncRules{Leaving: true, IfAsked: true}, "there is no such binding")
		}
		return
	}
	// One that went without letting go, as when its finalizer is removed by hand, leaves its targets.
	if p.Stored != nil && !m.Released && p.Stored.Spec.TargetGroupARN != "" && !p.deregisterAll("the binding is gone", true) {
		if p.failed == nil || p.failed.RetryAfter <= 0 {
			return
		}
		p.postponed, p.failed = p.failed.RetryAfter, nil
	}
	p.addStep(SyncRules{Leaving: true}, "the binding is gone")
}

// MakeRemoval makes the plan of a run that has not brought the target group to its endpoints: the targets whose pod or
// node is gone leave. A target whose pod is gone must not stay, whatever else goes wrong: its address is given to another
// pod about half a minute later, perhaps of another tenant. What the binding's owner writes cannot keep it in.
func MakeRemoval(f *Facts) Plan {
	p := &planner{Facts: f}
	p.end = withFailure
	p.removeGone()
	return p.result()
}

func (p *planner) removeGone() {
	if p.Conflict == nil {
		p.ask(AskConflict{})
		return
	}
	known := p.Memory.Registered
	// In a group that is another's, or that this binding cannot fill, it is not known who registered
	// the rest.
	limited := p.Conflict.exists() || p.Described.Spec.TargetType != nil && UnsupportedFinding(p.Described) != nil
	if limited && known == nil || !p.recordAndHealth(durations.HealthAge) {
		return
	}
	if f := p.Record.Failure; f != nil {
		p.failed = f
		return
	}
	if f := p.Health.Failure; f != nil {
		p.failed = f
		return
	}
	list := slices.DeleteFunc(p.removable(p.Health.Targets), func(t *observed.Target) bool {
		return targets.Draining(t) || limited && !known.Has(t)
	})
	if p.Gone == nil {
		p.ask(AskGone{list})
		return
	}
	if out := p.Gone.Targets; len(out) > 0 {
		p.addStep(Deregister{Targets: out, MayMiss: true}, "no pod or node has it any more")
	}
}
