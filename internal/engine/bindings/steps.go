package bindings

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
)

// carryOutSteps carries out the steps of a plan. The rest of the plan is made again after the finalizer was added, and after
// AWS has refused targets, because the later steps depend on the result.
func (p *run) carryOutSteps(ctx context.Context, f *bindingplan.Facts, plan *bindingplan.Plan) bindingplan.StepResults {
	var d bindingplan.StepResults
	for {
		last := p.carryOutUntilReplan(ctx, f, plan.Steps, &d)
		if last == nil {
			return d
		}
		rest, err := reader{p}.makePlan(ctx, f, bindingplan.Make)
		if _, claimed := last.(bindingplan.AddFinalizer); claimed && err != nil {
			d.Err = err
			return d
		}
		if err != nil {
			d.FailedStep, d.Failure = last, p.r.failureOf(err)
			return d
		}
		*plan = rest
	}
}

// carryOutUntilReplan carries out steps until one of them requires that the rest of the plan is made again, and returns that
// step; nil if there is none. If a pod condition cannot be written, the conditions of other pods are still written.
func (p *run) carryOutUntilReplan(ctx context.Context, f *bindingplan.Facts, steps []bindingplan.Step, d *bindingplan.StepResults) (last bindingplan.Action) {
	var gates []error
	for _, s := range steps {
		if g, ok := s.Do.(bindingplan.SetGate); ok {
			if err := p.setReadinessGateCondition(ctx, g); err != nil {
				gates = append(gates, err)
			}
			continue
		}
		if len(gates) > 0 {
			break
		}
		again, err := p.carryOutStep(ctx, f, s.Do, d)
		if err != nil {
			d.FailedStep, d.Failure = s.Do, p.r.failureOf(err)
			return nil
		}
		if again {
			return s.Do
		}
	}
	if err := errors.Join(gates...); err != nil {
		d.FailedStep, d.Failure = bindingplan.SetGate{}, p.r.failureOf(err)
	}
	return nil
}

// carryOutStep carries out one step, and reports whether the rest of the plan must be made again.
func (p *run) carryOutStep(ctx context.Context, f *bindingplan.Facts, do bindingplan.Action, d *bindingplan.StepResults) (again bool, _ error) {
	switch do := do.(type) {
	case bindingplan.Register:
		if do.UpToCapacity && d.PostponedFor > 0 {
			return false, nil
		}
		attempt, refused := p.register(ctx, f, do)
		f.Attempt = attempt
		if refused && !do.UpToCapacity {
			f.ServingPods = nil // the pods must be read again, because they may have changed during the calls
			return true, nil
		}
		return false, nil
	case bindingplan.AddFinalizer:
		if err := p.carryOutWrite(ctx, f, do); err != nil {
			return false, err
		}
		f.FinalizerAdded = true
		return true, nil
	case bindingplan.CompleteSpec:
		return false, p.completeSpec(ctx, f, do)
	case bindingplan.Deregister:
		err := p.deregister(ctx, f, do.Targets)
		switch x := p.r.failureOf(err); {
		case x == nil || do.AllowMissing && isNotFound(x):
		case x.RetryAfter > 0 && do.AllowPostponed:
			d.PostponedFor = x.RetryAfter
		default:
			return false, err
		}
		return false, nil
	case bindingplan.SyncRules:
		return false, ruleRun{p}.syncRules(ctx, f, do, d)
	case bindingplan.SetCheckpoint:
		if do.IfRulesMissing && d.Rules.AllRulesExist {
			return false, nil
		}
		err := p.carryOutWrite(ctx, f, do)
		if x := p.r.failureOf(err); x != nil && x.RetryAfter > 0 && do.Value == "" {
			// An external actor restores the old checkpoint after each write. The run continues, because the memory of this
			// process has no checkpoint any more, so that the binding is not regarded as complete.
			err = nil
		}
		return false, err
	case bindingplan.MemoryUpdate:
		if d.RemovalNotNeeded = d.RemovalNotNeeded || do == bindingplan.RecordRemovalNotNeeded; d.RemovalNotNeeded {
			p.skipsRemoval = true
		}
		p.applyMemoryUpdate(f, do)
		return false, nil
	}
	return false, p.carryOutWrite(ctx, f, do)
}

// completeSpec writes the fields that the spec of the binding lacks. After that, the run uses the completed binding.
func (p *run) completeSpec(ctx context.Context, f *bindingplan.Facts, do bindingplan.CompleteSpec) error {
	if err := p.r.changeObject(ctx, CompleteSpec{p.key, f.StoredBinding.ResourceVersion, do.Spec}); err != nil {
		return err
	}
	f.SpecCompleted, f.StoredBinding = true, f.StoredBinding.DeepCopy()
	f.StoredBinding.Spec = do.Spec
	var err error
	f.DesiredCheckpoint, err = f.Resolution.Checkpoint(do.Spec)
	return err
}

// applyMemoryUpdate applies an update of a plan to the memory of the binding.
func (p *run) applyMemoryUpdate(f *bindingplan.Facts, n bindingplan.MemoryUpdate) {
	switch n {
	case bindingplan.ForgetBinding:
		p.r.Recorder.RecordDeleted(p.key)
		p.r.sharedRules.forget(p.key)
		p.r.memory.forget(p.key)
	default:
		p.r.memory.update(p.key, recordPlanUpdate(n, f.StoredBinding))
	}
}

// carryOutWrite carries out a step that changes Kubernetes or the memory.
func (p *run) carryOutWrite(ctx context.Context, f *bindingplan.Facts, do bindingplan.Action) error {
	switch do := do.(type) {
	case bindingplan.AddFinalizer:
		start := p.r.Clock.Now()
		err := p.r.changeObject(ctx, AddFinalizer{p.key})
		p.r.recordPhase("claim", start)
		return err
	case bindingplan.RemoveFinalizer:
		return p.r.changeObject(ctx, RemoveFinalizer{p.key})
	case bindingplan.SetCheckpoint:
		return p.setCheckpoint(ctx, do.Value)
	case bindingplan.SetRecord:
		if r := f.Record; !r.HasRecord || !maps.Equal(r.Identities, do.Identities) {
			if err := p.r.changeObject(ctx, SetOwnedTargets{p.key, slices.Sorted(maps.Keys(do.Identities))}); err != nil {
				return fmt.Errorf("write the record of registered targets: %w", err)
			}
			r.HasRecord, r.Identities = true, do.Identities
		}
		p.recordErr = nil
	case bindingplan.DropRecord:
		if err := p.r.changeObject(ctx, DropOwnedTargets{p.key}); err != nil {
			return fmt.Errorf("delete the record of registered targets: %w", err)
		}
		p.recordErr = nil
	case bindingplan.SetStatus:
		return p.setStatus(ctx, f, do)
	case bindingplan.WriteEvents:
		lasts := func(x cluster.Patch) bool { _, ok := x.(cluster.LastingWarnings); return ok }
		if !slices.ContainsFunc(do.Patches, func(x cluster.Patch) bool { return !lasts(x) }) {
			return p.r.Cluster.Write(ctx, do.Patches)
		}
		return p.r.writeEvents(ctx, do.Patches)
	case bindingplan.RetainRefusals:
		p.r.memory.update(p.key, removeOtherRefusals(do.RetainedEndpoints))
	case bindingplan.RecordRegistered:
		p.r.memory.update(p.key, recordFoundTargets(f.CompletedBinding, do.Targets))
	default:
		return fmt.Errorf("unknown step type %T", do)
	}
	return nil
}

// setCheckpoint writes the checkpoint annotation, unless it already has this value. The annotation that was read may be
// older than the last one that this process wrote, so both are compared.
func (p *run) setCheckpoint(ctx context.Context, value string) error {
	last := p.r.memory.get(p.key).checkpoint
	p.r.memory.update(p.key, recordCheckpointSet(value))
	if p.checkpoint == value && (last == nil || *last == value) {
		return nil
	}
	at := p.r.Clock.Now().Unix()
	p.r.memory.update(p.key, recordCheckpointWritten(value, at))
	if err := p.r.changeObject(ctx, SetCheckpoint{p.key, value, at}); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	p.checkpoint = value
	return nil
}

// setReadinessGateCondition sets the condition of a pod for the readiness gate of the binding.
func (p *run) setReadinessGateCondition(ctx context.Context, g bindingplan.SetGate) error {
	gate := readinessGateConditionType(p.key)
	err := p.r.changeObject(ctx, SetPodCondition{
		Namespace: g.Pod.Namespace, Name: g.Pod.Name, UID: g.Pod.UID, Type: string(gate),
		Status: string(g.Want.Status), Reason: g.Want.Reason, Message: g.Want.Message,
	})
	if err != nil {
		return fmt.Errorf("set condition %s of pod %s/%s: %w", gate, g.Pod.Namespace, g.Pod.Name, err)
	}
	if g.OpensGate {
		p.r.Recorder.RecordPodReady(p.key, p.r.Clock.Now().Sub(g.Since))
	}
	return nil
}

// setStatus writes the status of the binding. If that fails, it writes an event about the failure, and returns the error. A
// write that is only postponed is no failure.
func (p *run) setStatus(ctx context.Context, f *bindingplan.Facts, s bindingplan.SetStatus) error {
	if s.OnlyTextChanges {
		p.r.memory.update(p.key, recordFaultTextReported)
	}
	start := p.r.Clock.Now()
	err := p.r.changeObject(ctx, SetStatus{Binding: p.key, ObservedGeneration: s.ReconciledGeneration, Conditions: s.Conditions})
	p.r.recordPhase("report", start)
	switch postponed := failure.PostponedFor(err); {
	case err == nil:
		return nil
	case postponed > 0:
		// Another client undoes the writes. The run continues, and a later run writes the status.
		p.requeueAfter(postponed)
		return nil
	}
	event, err := bindingplan.StatusFailureEvent(f, err)
	if werr := p.r.writeEvents(ctx, []cluster.Patch{event}); werr != nil {
		return fmt.Errorf("%w (and the event could not be written: %v)", err, werr)
	}
	return err
}

// report carries out the steps of a report, and stores its results in the outcome.
func (p *run) report(ctx context.Context, f *bindingplan.Facts, rep bindingplan.Report) error {
	p.out.Findings, p.out.RetryAfter, p.out.CallPostponed = rep.Findings, rep.RetryAfter, p.out.CallPostponed || rep.CallPostponed
	p.out.AllRegistered = rep.AllRegistered
	p.reported.Findings, p.reported.StatusHasFault, p.reported.PodConditionsSet, p.reported.RetryAfter = rep.Findings, rep.StatusHasFault, rep.PodConditionsSet, rep.RetryAfter
	if rep.MissingServerIDs > 0 {
		p.r.Recorder.RecordMissingServerIDs(p.key, rep.MissingServerIDs)
	}
	d := p.carryOutSteps(ctx, f, &bindingplan.Plan{Steps: rep.Steps})
	if d.Failure != nil {
		return errors.Join(rep.Err, d.Failure.Err)
	}
	if rep.Complete {
		p.out.Idle = p.out.RetryAfter == 0
		p.requeueAfter(p.r.memory.get(p.key).comparisonDueAt.Sub(p.r.Clock.Now()))
	}
	return rep.Err
}
