package bindingplan

import (
	"slices"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// Reasons of events and of the Ready condition. They are known to tools.
const (
	reasonReconciled      = "SuccessfullyReconciled"
	reasonFailedReconcile = "FailedReconcile"
	reasonFailedNetwork   = "FailedNetworkReconcile"
	reasonFailedCleanup   = "FailedCleanup"
	reasonBackendNotFound = "BackendNotFound"
)

// converge plans for a binding that is to stay.
func (p *planner) converge() {
	if p.Undescribed != nil {
		p.Unavailable = p.Undescribed.missing()
		p.fail(*p.Undescribed)
		return
	}
	if f := UnsupportedFinding(p.Described); f != nil {
		p.stop(*f)
		return
	}
	p.findings.Add(p.Resolution.Findings...)
	p.addStep(Known, "")
	if p.unchanged() && p.Memory.DueIn > 0 && !p.reportsNoEndpoints() {
		p.addStep(NoRemoval, "")
		p.Deferred = true
		p.requeueAfter(p.Memory.DueIn, "to compare it with AWS")
		if wait, ok := p.noEndpointsIn(); ok {
			p.requeueAfter(wait, "pods may become endpoints")
		}
		p.end = withMissingEndpoints
		return
	}
	if p.Conflict == nil {
		p.ask(AskConflict{})
		return
	}
	if !p.Conflict.exists() { // the ARN is for the binding that fills the target group, see before
		p.complete()
		if !p.claimed() && !p.Claimed {
			p.addStep(AddFinalizer{}, "the targets are to be taken out before the binding goes")
			return
		}
		if p.Group == nil && (p.checkpoint() == "" || p.Memory.DueIn <= 0 || !p.specSeen()) {
			p.ask(AskGroup{}) // not at each change of pods
			return
		}
	}
	switch {
	case p.Conflict.exists():
		p.addStep(SyncRules{IfAsked: true}, "those of its pods that are there")
		if o := p.Conflict.First; o != nil { // its going is noticed at once
			p.Watch = append(p.Watch, cluster.Ref{Kind: cluster.KindBinding, Namespace: o.Namespace, Name: o.Name})
		}
		p.requeueAfter(durations.DeniedWait, "")
		p.stop(p.Conflict.finding(p.Described))
	case p.Resolution.NotFound:
		p.withdraw()
	case p.Resolution.SourceMissing:
		p.keepEverything()
	case p.Resolution.Faulty:
		p.addStep(BackendSeen, "")
		p.stop()
	default:
		p.addStep(BackendSeen, "")
		if p.Group != nil && p.Group.TargetGroup != nil {
			g := p.Group.TargetGroup
			if f := g.contradicts(p.Stored); f != nil {
				p.stop(*f)
				return
			}
			p.findings.Add(g.ignoredSettings(p.Stored)...)
		}
		mover{p}.moveTargets(p.comparisonAge())
	}
}

// comparisonAge returns how old what is compared may be: zero for what is remembered.
func (p *planner) comparisonAge() time.Duration {
	switch m := p.Memory; {
	case m.HasCheckpoint && m.Checkpoint == p.Want && p.checkpoint() == "":
		// Another actor has removed the checkpoint of an unchanged binding, which asks for a comparison with AWS.
		return durations.Moment
	case m.DueIn <= 0:
		return p.Options.ResyncAge
	}
	return 0
}

// unchanged reports whether nothing has changed since the last complete run.
func (f *Facts) unchanged() bool {
	if f.Memory.HasCheckpoint && f.Memory.Checkpoint != f.Want {
		return false // who may edit the binding may write a checkpoint
	}
	if f.Resolution.NotFound || f.Resolution.SourceMissing || f.Resolution.Faulty || f.Resolution.Unknown || f.checkpoint() != f.Want || !f.claimed() {
		return false
	}
	return f.specSeen() && !f.gatesClosed()
}

// specSeen reports whether a run has succeeded with the spec as it is now.
func (f *Facts) specSeen() bool {
	seen := f.Stored.Status.ObservedGeneration
	return seen != nil && *seen >= f.Stored.Generation
}

func (f *Facts) checkpoint() string { return f.Stored.Annotations[targets.CheckpointAnnotation] }

func hasFinalizer(b *elbv2.TargetGroupBinding) bool {
	return slices.Contains(b.Finalizers, naming.BindingFinalizer)
}

// clearCheckpoint makes the next run look at everything.
func (p *planner) clearCheckpoint() {
	p.addStep(SetCheckpoint{}, "not complete until all of this is done")
}

// withdraw takes everything out for a Service that is not there, and keeps the binding.
func (p *planner) withdraw() {
	p.addStep(BackendMissing, "")
	if p.Memory.AbsentFor < durations.FirstBackOff {
		// The Service may have been made a moment ago and not have arrived here.
		p.addStep(NoRemoval, "")
		p.requeueAfter(durations.FirstBackOff, "the Service may be on its way")
		return
	}
	const why = "the Service or its port does not exist"
	if p.Memory.AbsentFor < durations.LongestWait {
		// An edit may have named another Service and deleted this one. Requests come to its pods until the others
		// are healthy and the load balancer knows them; then the stack deletes the binding.
		switch {
		case p.Wanted == nil:
			p.ask(AskWanted{})
			return
		case *p.Wanted:
			p.release(why)
			p.requeueAfter(durations.LongestWait-p.Memory.AbsentFor, "another Service may take over")
			p.end = withdrawn
			return
		}
	}
	p.clearCheckpoint()
	p.end = withdrawn
	p.cleanUp(why)
}

// keepEverything leaves everything as it is while that which endpoints are read from is missing as a whole.
func (p *planner) keepEverything() {
	p.addStep(BackendMissing, "")
	if p.Memory.AbsentFor < durations.FirstBackOff {
		p.requeueAfter(durations.FirstBackOff, "what endpoints are read from may be on its way, as for a new Service")
		return
	}
	p.stop()
}

// fail ends a plan at something that could not be read.
func (p *planner) fail(f Failure) { p.failed, p.end = &f, withFailure }

// stop ends a plan whose faults are to be corrected by a person.
func (p *planner) stop(fs ...finding.Finding) {
	p.ended = append(p.ended, fs...)
	p.end = withFindings
}
