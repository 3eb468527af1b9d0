package bindings

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// steps carries the steps of a plan out. Where AWS refuses targets, the plan is made again with what was refused, and
// the rest of that is carried out.
func (p *run) steps(ctx context.Context, f *bindingplan.Facts, plan *bindingplan.Plan) bindingplan.Done {
	var d bindingplan.Done
	failed := func(at bindingplan.Action, err error) bindingplan.Done {
		d.At, d.Failure = at, p.r.failure(err)
		return d
	}
	var gates []error
	queue := plan.Steps
	for len(queue) > 0 {
		do := queue[0].Do
		queue = queue[1:]
		if g, ok := do.(bindingplan.SetGate); ok { // one that cannot be written does not keep the others waiting
			if err := p.setGate(ctx, g); err != nil {
				gates = append(gates, err)
			}
			continue
		}
		if len(gates) > 0 {
			break
		}
		switch do := do.(type) {
		case bindingplan.Register:
			if do.Fill && d.PutOff > 0 {
				continue
			}
			attempt, again := p.register(ctx, f, do)
			f.Attempt = attempt
			if !again || do.Fill {
				continue
			}
			f.Serving = nil // it may have changed meanwhile
			rest, err := p.plan(ctx, f, bindingplan.Make)
			if err != nil {
				return failed(do, err)
			}
			*plan, queue = rest, rest.Steps
		case bindingplan.AddFinalizer:
			if err := p.write(ctx, f, do); err != nil {
				return failed(do, err)
			}
			f.Claimed = true
			rest, err := p.plan(ctx, f, bindingplan.Make)
			if err != nil {
				d.Err = err
				return d
			}
			*plan, queue = rest, rest.Steps
		case bindingplan.CompleteSpec:
			if err := p.completeSpec(ctx, f, do); err != nil {
				return failed(do, err)
			}
		case bindingplan.Deregister:
			err := p.deregister(ctx, f, do.Targets)
			switch x := p.r.failure(err); {
			case x == nil || do.MayMiss && missing(x):
			case x.Turn > 0 && do.MayWait:
				d.PutOff = x.Turn
			default:
				return failed(do, err)
			}
		case bindingplan.SyncRules:
			if err := p.syncRules(ctx, f, do, &d); err != nil {
				return failed(do, err)
			}
		case bindingplan.SetCheckpoint:
			if do.IfRulesMissing && d.Rules.Done {
				continue
			}
			if err := p.write(ctx, f, do); err != nil {
				return failed(do, err)
			}
		case bindingplan.Note:
			if d.Settled = d.Settled || do == bindingplan.Settled; d.Settled {
				p.settled = true
			}
			p.note(f, do)
		default:
			if err := p.write(ctx, f, do); err != nil {
				return failed(do, err)
			}
		}
	}
	if len(gates) > 0 {
		return failed(bindingplan.SetGate{}, errors.Join(gates...))
	}
	return d
}

// completeSpec fills in what the binding leaves open. The rest of the run is about the binding as it is then.
func (p *run) completeSpec(ctx context.Context, f *bindingplan.Facts, do bindingplan.CompleteSpec) error {
	if err := p.r.change(ctx, CompleteSpec{p.key, f.Stored.ResourceVersion, do.Spec}); err != nil {
		return err
	}
	f.Completed, f.Stored = true, f.Stored.DeepCopy()
	f.Stored.Spec = do.Spec
	var err error
	f.Want, err = f.Found.Checkpoint(do.Spec)
	return err
}

func (p *run) note(f *bindingplan.Facts, n bindingplan.Note) {
	switch n {
	case bindingplan.Forgotten:
		p.r.viewed(p.key, nil)
		p.r.rules.forget(p.key)
		p.r.memory.forget(p.key)
	default:
		p.r.memory.note(p.key, noteCarriedOut(n, f.Stored))
	}
}

// write carries out a step that changes Kubernetes or the memory.
func (p *run) write(ctx context.Context, f *bindingplan.Facts, do bindingplan.Action) error {
	switch do := do.(type) {
	case bindingplan.AddFinalizer:
		start := p.r.Now()
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
	at := p.r.Now().Unix()
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
	if g.Opens && p.r.PodReady != nil {
		p.r.PodReady(p.key, p.r.Now().Sub(g.Since))
	}
	return nil
}

func (p *run) setStatus(ctx context.Context, f *bindingplan.Facts, s bindingplan.SetStatus) error {
	if s.OnlyText {
		p.r.memory.note(p.key, noteTextReported)
	}
	start := p.r.Now()
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
	if rep.NoServerID > 0 && p.r.NoServerID != nil {
		p.r.NoServerID(p.key, rep.NoServerID)
	}
	d := p.steps(ctx, f, &bindingplan.Plan{Steps: rep.Steps})
	if d.Failure != nil {
		return errors.Join(rep.Err, d.Failure.Err)
	}
	if rep.Complete {
		p.out.Idle = p.out.RetryAfter == 0
		p.retry(p.r.memory.get(p.key).due.Sub(p.r.Now()))
	}
	return rep.Err
}
