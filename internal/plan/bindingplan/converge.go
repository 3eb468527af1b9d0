package bindingplan

import (
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// Reasons of events and of the Ready condition. Other programs may depend on them.
const (
	reasonReconciled      = "SuccessfullyReconciled"
	reasonFailedReconcile = "FailedReconcile"
	reasonFailedNetwork   = "FailedNetworkReconcile"
	reasonFailedCleanup   = "FailedCleanup"
	reasonBackendNotFound = "BackendNotFound"
)

// converge plans the changes for a binding that is not being deleted.
func (p *planner) converge() {
	if p.DescribeFailure != nil {
		p.TargetsUnavailable = p.DescribeFailure.isMissing()
		p.stopWithFailure(*p.DescribeFailure)
		return
	}
	if f := UnsupportedFinding(p.CompletedBinding); f != nil {
		p.stopWithFindings(*f)
		return
	}
	p.findings.Add(p.Resolution.Findings...)
	p.addStep(RecordBindingRead, "")
	if p.isUnchanged() && p.Memory.ComparisonDueIn > 0 && !p.mustReportNoEndpoints() {
		p.addStep(RecordRemovalNotNeeded, "")
		p.Deferred = true
		p.requeueAfter(p.Memory.ComparisonDueIn, "to compare it with AWS")
		if wait, ok := p.noEndpointsReportDelay(); ok {
			p.requeueAfter(wait, "pods may become endpoints")
		}
		p.finalReport = reportMissingEndpoints
		return
	}
	if p.Conflict == nil {
		p.ask(AskConflict{})
		return
	}
	if !p.Conflict.exists() { // only the binding that has precedence gets the ARN, see hasPrecedence
		p.completeBinding()
		if !p.hasFinalizer() && !p.FinalizerAdded {
			p.addStep(AddFinalizer{}, "targets must be deregistered before the binding is deleted")
			return
		}
		if p.LiveTargetGroup == nil && (p.storedCheckpoint() == "" || p.Memory.ComparisonDueIn <= 0 || !p.isSpecObserved()) {
			p.ask(AskTargetGroup{}) // the condition prevents a read for each change of pods
			return
		}
	}
	switch {
	case p.Conflict.exists():
		p.addStep(SyncRules{OnlyIfRequested: true}, "rules for the pods that already exist")
		if o := p.Conflict.PrecedingBinding; o != nil { // the deletion of that binding triggers a run
			p.WatchedObjects = append(p.WatchedObjects, cluster.Ref{Kind: cluster.KindBinding, Namespace: o.Namespace, Name: o.Name})
		}
		p.requeueAfter(durations.LongestTransientBackOff, "")
		p.stopWithFindings(p.Conflict.finding(p.CompletedBinding))
	case p.Resolution.BackendMissing:
		p.removeForMissingBackend()
	case p.Resolution.SourceMissing:
		p.retainForMissingSource()
	case p.Resolution.Faulty:
		p.addStep(RecordBackendFound, "")
		p.stopWithFindings()
	default:
		p.addStep(RecordBackendFound, "")
		if p.LiveTargetGroup != nil && p.LiveTargetGroup.TargetGroup != nil {
			g := p.LiveTargetGroup.TargetGroup
			if f := g.contradictionFinding(p.StoredBinding); f != nil {
				p.stopWithFindings(*f)
				return
			}
			p.findings.Add(g.ignoredSettings(p.StoredBinding)...)
		}
		targetPlanner{p}.moveTargets(p.comparisonAge())
	}
}

// comparisonAge returns a positive duration if the binding must be compared with AWS: the maximum age of the facts about
// security groups. The targets are then read again. Zero means that cached facts are sufficient.
func (p *planner) comparisonAge() time.Duration {
	switch m := p.Memory; {
	case m.HasCheckpoint && m.Checkpoint == p.DesiredCheckpoint && p.storedCheckpoint() == "":
		// A user or another program has removed the checkpoint of an unchanged binding, which requests a comparison with
		// AWS.
		return durations.ShortestInterval
	case m.ComparisonDueIn <= 0:
		return p.Options.ResyncAge
	}
	return 0
}

// isUnchanged reports whether the binding and its endpoints have not changed since the last complete run.
func (f *Facts) isUnchanged() bool {
	if f.Memory.HasCheckpoint && f.Memory.Checkpoint != f.DesiredCheckpoint {
		return false // a user who may edit the binding may have written the checkpoint
	}
	if f.Resolution.BackendMissing || f.Resolution.SourceMissing || f.Resolution.Faulty || f.Resolution.ViewInconsistent || f.storedCheckpoint() != f.DesiredCheckpoint || !f.hasFinalizer() {
		return false
	}
	return f.isSpecObserved() && !f.hasClosedGate()
}

// isSpecObserved reports whether a run has succeeded with the current spec of the binding.
func (f *Facts) isSpecObserved() bool {
	seen := f.StoredBinding.Status.ObservedGeneration
	return seen != nil && *seen >= f.StoredBinding.Generation
}

// storedCheckpoint returns the checkpoint in the annotation of the stored binding; empty if there is none.
func (f *Facts) storedCheckpoint() string {
	return f.StoredBinding.Annotations[targets.CheckpointAnnotation]
}

// hasFinalizer reports whether the stored binding has the finalizer of the controller.
func (f *Facts) hasFinalizer() bool {
	return slices.Contains(f.StoredBinding.Finalizers, naming.BindingFinalizer)
}

// clearCheckpoint plans to remove the checkpoint of the binding, so that the next run compares the binding with AWS.
func (p *planner) clearCheckpoint() {
	p.addStep(SetCheckpoint{}, "the binding is not complete until all steps are carried out")
}

// removeForMissingBackend plans to remove the targets and rules of a binding whose Service or port does not exist, after a
// delay.
func (p *planner) removeForMissingBackend() {
	p.addStep(RecordBackendMissing, "")
	if p.Memory.AbsentFor < durations.FirstBackOff {
		// The Service may be new: its event may arrive after the event of the binding.
		p.addStep(RecordRemovalNotNeeded, "")
		p.requeueAfter(durations.FirstBackOff, "the Service may be created soon")
		return
	}
	const why = "the Service or its port does not exist"
	if p.Memory.AbsentFor < durations.LongestWait {
		// A user may have replaced the Service by another one. The load balancer sends requests to the old pods until the
		// targets of the other Service are healthy. After that, the stack deletes the binding.
		switch {
		case p.NeededByStack == nil:
			p.ask(AskNeededByStack{})
			return
		case *p.NeededByStack:
			p.openGates(why)
			p.requeueAfter(durations.LongestWait-p.Memory.AbsentFor, "another Service may replace it")
			p.finalReport = reportMissingBackend
			return
		}
	}
	p.clearCheckpoint()
	p.finalReport = reportMissingBackend
	p.cleanUp(why)
}

// retainForMissingSource retains all targets, because there are no nodes, or no EndpointSlices for the Service.
func (p *planner) retainForMissingSource() {
	p.addStep(RecordBackendMissing, "")
	if p.Memory.AbsentFor < durations.FirstBackOff {
		p.requeueAfter(durations.FirstBackOff, "nodes or EndpointSlices may be created soon, for example for a new Service")
		return
	}
	p.stopWithFindings()
}

// stopWithFailure ends the plan because a fact could not be read.
func (p *planner) stopWithFailure(f Failure) { p.endingFailure, p.finalReport = &f, reportFailure }

// stopWithFindings ends the plan with findings that a user has to resolve.
func (p *planner) stopWithFindings(fs ...finding.Finding) {
	p.endFindings = append(p.endFindings, fs...)
	p.finalReport = reportFindings
}
