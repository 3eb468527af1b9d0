package bindings

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
)

// steps carries the steps of a plan out, and makes the rest of the plan again where a step has shown something that it depends
// on: that the finalizer is there, or what AWS has refused.
func (p *run) steps(ctx context.Context, f *bindingplan.Facts, plan *bindingplan.Plan) bindingplan.StepResults {
	var d bindingplan.StepResults
	for {
		shown := p.stepsUntilShown(ctx, f, plan.Steps, &d)
		if shown == nil {
			return d
		}
		rest, err := reader{p}.plan(ctx, f, bindingplan.Make)
		if _, claimed := shown.(bindingplan.AddFinalizer); claimed && err != nil {
			d.Err = err
			return d
		}
		if err != nil {
			d.At, d.Failure = shown, p.r.failure(err)
			return d
		}
		*plan = rest
	}
}

// stepsUntilShown carries steps out until one has shown something that the others depend on, which it returns. A condition of a
// pod that cannot be written does not keep the other conditions waiting.
func (p *run) stepsUntilShown(ctx context.Context, f *bindingplan.Facts, steps []bindingplan.Step, d *bindingplan.StepResults) (shown bindingplan.Action) {
	var gates []error
	for _, s := range steps {
		if g, ok := s.Do.(bindingplan.SetGate); ok {
			if err := p.setGate(ctx, g); err != nil {
				gates = append(gates, err)
			}
			continue
		}
		if len(gates) > 0 {
			break
		}
		again, err := p.step(ctx, f, s.Do, d)
		if err != nil {
			d.At, d.Failure = s.Do, p.r.failure(err)
			return nil
		}
		if again {
			return s.Do
		}
	}
	if err := errors.Join(gates...); err != nil {
		d.At, d.Failure = bindingplan.SetGate{}, p.r.failure(err)
	}
	return nil
}

// step carries one step out, and reports whether the rest of the plan is to be made again.
func (p *run) step(ctx context.Context, f *bindingplan.Facts, do bindingplan.Action, d *bindingplan.StepResults) (again bool, _ error) {
	switch do := do.(type) {
	case bindingplan.Register:
		if do.UpToCapacity && d.Postponed > 0 {
			return false, nil
		}
		attempt, refused := p.register(ctx, f, do)
		f.Attempt = attempt
		if refused && !do.UpToCapacity {
			f.Serving = nil // it may have changed meanwhile
			return true, nil
		}
		return false, nil
	case bindingplan.AddFinalizer:
		if err := p.write(ctx, f, do); err != nil {
			return false, err
		}
		f.Claimed = true
		return true, nil
	case bindingplan.CompleteSpec:
		return false, p.completeSpec(ctx, f, do)
	case bindingplan.Deregister:
		err := p.deregister(ctx, f, do.Targets)
		switch x := p.r.failure(err); {
		case x == nil || do.MayMiss && isNotFound(x):
		case x.RetryAfter > 0 && do.MayWait:
			d.Postponed = x.RetryAfter
		default:
			return false, err
		}
		return false, nil
	case bindingplan.SyncRules:
		return false, ruleRun{p}.syncRules(ctx, f, do, d)
	case bindingplan.SetCheckpoint:
		if do.IfRulesMissing && d.Rules.Done {
			return false, nil
		}
		err := p.write(ctx, f, do)
		if x := p.r.failure(err); x != nil && x.RetryAfter > 0 && do.Value == "" {
			// Others put the checkpoint back all the time. It is of other targets, and this process remembers that it has
			// none: nothing takes these targets for complete, and they do not wait.
			err = nil
		}
		return false, err
	case bindingplan.Note:
		if d.NoRemoval = d.NoRemoval || do == bindingplan.NoRemoval; d.NoRemoval {
			p.noRemoval = true
		}
		p.note(f, do)
		return false, nil
	}
	return false, p.write(ctx, f, do)
}

// completeSpec fills in what the binding leaves open. The rest of the run is about the binding as it is then.
func (p *run) completeSpec(ctx context.Context, f *bindingplan.Facts, do bindingplan.CompleteSpec) error {
	if err := p.r.change(ctx, CompleteSpec{p.key, f.Stored.ResourceVersion, do.Spec}); err != nil {
		return err
	}
	f.Completed, f.Stored = true, f.Stored.DeepCopy()
	f.Stored.Spec = do.Spec
	var err error
	f.Want, err = f.Resolution.Checkpoint(do.Spec)
	return err
}

func (p *run) note(f *bindingplan.Facts, n bindingplan.Note) {
	switch n {
	case bindingplan.Forgotten:
		p.r.Recorder.Gone(p.key)
		p.r.owner.forget(p.key)
		p.r.memory.forget(p.key)
	default:
		p.r.memory.note(p.key, noteCarriedOut(n, f.Stored))
	}
}

// write carries out a step that changes Kubernetes or the memory.
func (p *run) write(ctx context.Context, f *bindingplan.Facts, do bindingplan.Action) error {
	switch do := do.(type) {
	case bindingplan.AddFinalizer:
		start := p.r.Clock.Now()
		err := p.r.change(ctx, ClaimFinalizer{p.key})
		p.r.phase("claim", start)
		return err
	case bindingplan.RemoveFinalizer:
		return p.r.change(ctx, ReleaseFinalizer{p.key})
	case bindingplan.SetCheckpoint:
		return p.setCheckpoint(ctx, do.Value)
	case bindingplan.SetRecord:
		if r := f.Record; r.Recorded && maps.Equal(r.Identities, do.Identities) {
			return nil
		}
		if err := p.r.change(ctx, SetOwnedTargets{p.key, slices.Sorted(maps.Keys(do.Identities))}); err != nil {
			return fmt.Errorf("record own targets: %w", err)
		}
		f.Record.Recorded, f.Record.Identities = true, do.Identities
	case bindingplan.DropRecord:
		if err := p.r.change(ctx, DropOwnedTargets{p.key}); err != nil {
			return fmt.Errorf("drop the record of own targets: %w", err)
		}
	case bindingplan.SetStatus:
		return p.setStatus(ctx, f, do)
	case bindingplan.WriteEvents:
		lasts := func(x cluster.Patch) bool { _, ok := x.(cluster.Lasting); return ok }
		if !slices.ContainsFunc(do.Patches, func(x cluster.Patch) bool { return !lasts(x) }) {
			return p.r.Cluster.Write(ctx, do.Patches)
		}
		return p.r.write(ctx, do.Patches)
	case bindingplan.KeepRefusals:
		p.r.memory.note(p.key, noteOnlyRefused(do.Of))
	case bindingplan.NoteRegistered:
		p.r.memory.note(p.key, noteFound(f.Described, do.Targets))
	default:
		return fmt.Errorf("no step of type %T is known", do)
	}
	return nil
}

// setCheckpoint writes the checkpoint unless it is so already.
func (p *run) setCheckpoint(ctx context.Context, value string) error {
	p.r.memory.note(p.key, noteCheckpointSet(value))
	if p.checkpoint == value {
		return nil
	}
	at := p.r.Clock.Now().Unix()
	p.r.memory.note(p.key, noteCheckpointWritten(value, at))
	if err := p.r.change(ctx, SetCheckpoint{p.key, value, at}); err != nil {
		return fmt.Errorf("write checkpoint: %w", err)
	}
	p.checkpoint = value
	return nil
}

// setGate sets the gate's condition of a pod.
func (p *run) setGate(ctx context.Context, g bindingplan.SetGate) error {
	gate := gateOf(p.key)
	err := p.r.change(ctx, SetPodCondition{
		Namespace: g.Pod.Namespace, Name: g.Pod.Name, UID: g.Pod.UID, Type: string(gate),
		Status: string(g.Want.Status), Reason: g.Want.Reason, Message: g.Want.Message,
	})
	if err != nil {
		return fmt.Errorf("set condition %s of pod %s/%s: %w", gate, g.Pod.Namespace, g.Pod.Name, err)
	}
	if g.Opens {
		p.r.Recorder.PodReady(p.key, p.r.Clock.Now().Sub(g.Since))
	}
	return nil
}

func (p *run) setStatus(ctx context.Context, f *bindingplan.Facts, s bindingplan.SetStatus) error {
	if s.OnlyText {
		p.r.memory.note(p.key, noteTextReported)
	}
	start := p.r.Clock.Now()
	err := p.r.change(ctx, SetStatus{Binding: p.key, ObservedGeneration: s.Observed, Conditions: s.Conditions})
	p.r.phase("report", start)
	if err == nil {
		return nil
	}
	event, err := bindingplan.StatusFailed(f, err)
	if werr := p.r.write(ctx, []cluster.Patch{event}); werr != nil {
		return fmt.Errorf("%w (and the event could not be written: %v)", err, werr)
	}
	return err
}

// report carries the steps of a report out.
func (p *run) report(ctx context.Context, f *bindingplan.Facts, rep bindingplan.Report) error {
	p.out.Findings, p.out.RetryAfter, p.out.Waiting = rep.Findings, rep.RetryAfter, p.out.Waiting || rep.Waiting
	p.out.AllRegistered = rep.AllRegistered
	p.reported.Findings, p.reported.Fault, p.reported.Pods, p.reported.RetryAfter = rep.Findings, rep.Fault, rep.Pods, rep.RetryAfter
	if rep.NoServerID > 0 {
		p.r.Recorder.NoServerID(p.key, rep.NoServerID)
	}
	d := p.steps(ctx, f, &bindingplan.Plan{Steps: rep.Steps})
	if d.Failure != nil {
		return errors.Join(rep.Err, d.Failure.Err)
	}
	if rep.Complete {
		p.out.Idle = p.out.RetryAfter == 0
		p.retry(p.r.memory.get(p.key).due.Sub(p.r.Clock.Now()))
	}
	return rep.Err
}
