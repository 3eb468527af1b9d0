package bindingplan

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// isDeleted reports whether the binding is being deleted or does not exist any more.
func (f *Facts) isDeleted() bool { return f.Absent || f.StoredBinding.DeletionTimestamp != nil }

// planDeletion plans to remove all targets and rules of a deleted binding, and its finalizer. The controller deletes a
// binding only after it has deleted the last rule that forwards to its target group. If the target group is still in use, a
// user or another program has deleted the binding or its CRD. In this case, the targets are retained, because the controller
// creates the binding again, and deregistering them would interrupt the traffic.
func (p *planner) planDeletion() {
	if !p.hasFinalizer() {
		if p.Memory.ResourcesRemoved {
			p.addStep(RecordRemovalNotNeeded, "")
		}
		return
	}
	p.finalReport = reportCleanup
	p.addStep(RecordBindingRead, "") // needed if a user removes the finalizer later
	if p.InUse == nil {
		p.ask(AskInUse{})
		return
	}
	switch {
	case p.InUse.Failure != nil:
		p.endingFailure = p.InUse.Failure
		return
	case p.InUse.Used:
		p.findings.Add(finding.Finding{
			Object: targets.BindingRef(p.StoredBinding), Reason: finding.RemovalNotTrusted, Severity: finding.Warning,
			Message: "the binding is deleted while its load balancer still sends requests to the target group; the targets stay, and the binding is created again",
			Fix:     "to end the traffic, delete the Ingress, Service or route that forwards to the target group, or remove the backend from it",
		})
		p.addStep(RecordDeletedInUse, "")
		p.addStep(p.events(p.findings, "", false), "")
		p.addStep(RemoveFinalizer{}, "the targets are retained, because the binding is created again")
		return
	}
	if p.cleanUp("the binding is deleted") {
		p.addStep(RemoveFinalizer{}, "all of its targets and rules are removed from AWS")
		p.addStep(RecordResourcesRemoved, "")
	}
}

// cleanUp plans to deregister all targets, to remove the rules and to open the gates of waiting pods. It is not a failure if
// the target group does not exist any more. It returns false if a question must be answered first or ends with a failure.
func (p *planner) cleanUp(why string) bool {
	switch {
	case p.CompletedBinding == nil && p.DescribeFailure == nil:
		p.ask(AskDescribed{})
		return false
	case p.DescribeFailure == nil:
		if !p.deregisterAll(why, false) {
			return false
		}
	case p.DescribeFailure.isMissing():
		p.TargetsUnavailable = true
	default:
		p.endingFailure = p.DescribeFailure
		return false
	}
	if p.StoredBinding.Spec.MultiClusterTargetGroup {
		p.addStep(DropRecord{}, why)
	}
	p.addStep(SyncRules{ExcludeBinding: true}, why)
	p.openGates(why)
	return true
}

// openGates plans to open the gates of the pods of the binding, because its target group gets no new targets.
func (p *planner) openGates(why string) {
	for _, pod := range p.GatedPods {
		gatePlanner{p.Facts}.setGate(&p.Steps, gateCondition{pod: pod, want: targets.ReleasedCondition}, why)
	}
}

// deregisterAll plans to deregister all targets of the binding. It does nothing if another binding has precedence. In a
// shared target group, it deregisters the targets of this cluster. Targets that another binding needs are retained. If
// mayWait is set, the call may be postponed. It returns false if a question must be answered first or ends with a failure.
func (p *planner) deregisterAll(why string, mayWait bool) bool {
	if p.Conflict == nil {
		p.ask(AskConflict{})
		return false
	}
	if p.Conflict.exists() {
		return true
	}
	if !p.readRecordAndHealth(durations.HealthAge) {
		return false
	}
	if f := p.Record.Failure; f != nil {
		p.endingFailure = f
		return false
	}
	if f := p.Health.Failure; f != nil {
		p.TargetsUnavailable = true
		if f.isMissing() {
			return true
		}
		p.endingFailure = f
		return false
	}
	p.addStep(RecordRemovalNotNeeded, "")
	if out := slices.DeleteFunc(p.removableTargets(p.Health.Targets), targets.IsDraining); len(out) > 0 {
		p.addStep(Deregister{Targets: out, AllowMissing: true, AllowPostponed: mayWait}, why)
	}
	return true
}

// MakeForPreviousTargetGroup returns the plan that deregisters the targets of a binding from its previous target group,
// after the target group in the spec was changed.
func MakeForPreviousTargetGroup(f *Facts) Plan {
	p := &planner{Facts: f}
	p.finalReport = reportFailure
	p.deregisterAll("the binding names another target group now", false)
	return p.result()
}

// cleanUpAfterDeletion plans the removal for a binding that does not exist. Either a user has removed its finalizer, or it
// was never created although pods have its readiness gate. The removal waits for some time, because the event of a new
// binding may arrive late, and because a binding that is created again needs its rules.
func (p *planner) cleanUpAfterDeletion() {
	m := p.Memory
	p.addStep(RecordBackendMissing, "")
	if len(p.GatedPods) > 0 && m.AbsentFor < durations.FirstBackOff {
		p.requeueAfter(durations.FirstBackOff, "the binding may be created soon")
	} else {
		p.openGates("the binding does not exist")
	}
	if m.WasRead && !m.ResourcesRemoved && m.AbsentFor < durations.MissingWait {
		p.requeueAfter(durations.MissingWait-m.AbsentFor, "the binding may be created again")
		p.NeedsRemoval = true
		return
	}
	if p.StoredBinding != nil {
		switch {
		case p.InUse == nil:
			p.ask(AskInUse{})
			return
		case p.InUse.Failure != nil:
			p.Err, p.NeedsRemoval = p.InUse.Failure.Err, true
			return
		case p.InUse.Used: // targets and rules are retained, because the load balancer sends requests to the targets
			p.requeueAfter(durations.MissingWait, "its target group is still in use")
			p.NeedsRemoval = true
			return
		}
	}
	p.finalReport = reportDeletion
	if !m.WasRead { // this process has registered no targets
		if len(p.retries) == 0 {
			p.addStep(SyncRules{ExcludeBinding: true, OnlyIfRequested: true}, "the binding does not exist")
		}
		return
	}
	// If a user has removed the finalizer, the targets are still registered.
	if p.StoredBinding != nil && !m.ResourcesRemoved && p.StoredBinding.Spec.TargetGroupARN != "" && !p.deregisterAll("the binding does not exist", true) {
		if p.endingFailure == nil || p.endingFailure.RetryAfter <= 0 {
			return
		}
		p.postponedFor, p.endingFailure = p.endingFailure.RetryAfter, nil
	}
	p.addStep(SyncRules{ExcludeBinding: true}, "the binding does not exist")
}

// MakeRemoval returns the plan after a run that has not compared the targets with the endpoints. It deregisters the targets
// whose pod or node does not exist any more. After about half a minute, the addresses of these targets may belong to other
// pods, perhaps of another tenant. An invalid binding does not prevent this deregistration.
func MakeRemoval(f *Facts) Plan {
	p := &planner{Facts: f}
	p.finalReport = reportFailure
	p.deregisterAbsentTargets()
	return p.result()
}

// deregisterAbsentTargets plans to deregister targets whose pod or node does not exist any more.
func (p *planner) deregisterAbsentTargets() {
	if p.Conflict == nil {
		p.ask(AskConflict{})
		return
	}
	known := p.Memory.RegisteredTargets
	// If another binding has precedence, or the binding is not supported, only targets that this process has registered are
	// deregistered. It is unknown which binding registered the other targets.
	limited := p.Conflict.exists() || p.CompletedBinding.Spec.TargetType != nil && UnsupportedFinding(p.CompletedBinding) != nil
	if limited && known == nil || !p.readRecordAndHealth(durations.HealthAge) {
		return
	}
	if f := p.Record.Failure; f != nil {
		p.endingFailure = f
		return
	}
	if f := p.Health.Failure; f != nil {
		p.endingFailure = f
		return
	}
	list := slices.DeleteFunc(p.removableTargets(p.Health.Targets), func(t *observed.Target) bool {
		return targets.IsDraining(t) || limited && !known.Has(t)
	})
	if p.TargetsWithoutBackend == nil {
		p.ask(AskTargetsWithoutBackend{list})
		return
	}
	if out := p.TargetsWithoutBackend.Targets; len(out) > 0 {
		p.addStep(Deregister{Targets: out, AllowMissing: true}, "no pod or node has this address any more")
	}
}
