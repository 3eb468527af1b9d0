package bindings

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// deregistrationPriority returns the priority of a call that deregisters targets. It is lower than that of registrations,
// unless an address already belongs to another pod.
func (p *run) deregistrationPriority(list []*observed.Target) CallPriority {
	priority := CallPriority{Tenant: p.key.Namespace, MaxDelay: durations.RunningTargetDeadline}
	switch targets.DepartureOf(p.r.Cluster.View().Unsubscribed(), p.key.Namespace, list, p.r.memory.get(p.key).leavingSince) {
	case targets.AddressReused:
		priority.MaxDelay = durations.Moment
	case targets.Ended:
		priority.MaxDelay = durations.EndedTargetDeadline
	}
	return priority
}

// deregister deregisters targets, and returns the last error. If AWS refuses one of them, the others are deregistered in
// smaller calls.
func (p *run) deregister(ctx context.Context, f *bindingplan.Facts, drop []*observed.Target) (failed error) {
	start := p.r.Clock.Now()
	defer func() { p.r.recordPhase("apply", start) }()
	arn := f.Described.Spec.TargetGroupARN
	queue := slices.Collect(slices.Chunk(drop, MaxTargets))
	for len(queue) > 0 {
		chunk := queue[0]
		queue = queue[1:]
		if err := p.r.checkFence(); err != nil {
			return err
		}
		err := p.targetGroups(f).Deregister(ctx, arn, p.deregistrationPriority(chunk), chunk)
		switch {
		case err == nil:
			p.noteChanged()
			p.r.memory.note(p.key, noteDeregistered(f.Described, chunk))
			p.r.noteChange(Deregistered, arn, targetNames(chunk))
			p.reportRestored(ctx, f.Stored, targetNames(chunk))
		case failure.PostponedFor(err) > 0:
			// Subscribes to the pods, because the call becomes more urgent when one of them ends or loses its address.
			late := slices.Concat(append(queue, chunk)...)
			targets.DepartureOf(p.view, p.key.Namespace, late, nil)
			p.r.Recorder.Viewed(p.key, p.view)
			p.r.memory.note(p.key, noteLeaving(late))
			return err
		case p.r.Cloud.Class(err) != engine.Invalid:
			return fmt.Errorf("deregister %d targets of %s: %w", len(chunk), arn, err)
		case len(chunk) > 1:
			queue = append(queue, chunk[:len(chunk)/2], chunk[len(chunk)/2:])
		default:
			failed = fmt.Errorf("deregister %s of %s: %w", chunk[0].ID, arn, err)
		}
	}
	return failed
}

// register registers endpoints. It returns the known refusals, and whether any endpoint of this step was refused. If AWS
// refuses one of them, the others are registered in smaller calls.
func (p *run) register(ctx context.Context, f *bindingplan.Facts, do bindingplan.Register) (a *bindingplan.Attempt, refused bool) {
	start := p.r.Clock.Now()
	defer func() { p.r.recordPhase("apply", start) }()
	a = &bindingplan.Attempt{}
	if do.Known != nil {
		*a = *do.Known
		a.Refused = slices.Clone(a.Refused)
	}
	arn := f.Described.Spec.TargetGroupARN
	refuse := func(list []targets.Endpoint, err, run error) {
		x := bindingplan.Refusal{Endpoints: list, Because: *p.r.failure(err), Run: *p.r.failure(run)}
		a.Refused, a.Failed, refused = append(a.Refused, x), &x.Run, true
	}
	queue := slices.Collect(slices.Chunk(do.Endpoints, MaxTargets))
	for len(queue) > 0 {
		chunk := queue[0]
		list, err := f.Targets(chunk)
		if err == nil {
			err = p.r.checkFence()
		}
		if err != nil {
			refuse(slices.Concat(queue...), err, err)
			return a, refused
		}
		if err = p.r.memory.get(p.key).overCapacity.refusalFor(arn, len(chunk), p.r.Clock.Now()); err == nil {
			err = p.targetGroups(f).Register(ctx, arn, CallPriority{Tenant: p.key.Namespace, MaxDelay: durations.Moment}, list)
			p.r.memory.note(p.key, noteRegisterCall(arn, len(chunk), err, err != nil && p.r.Cloud.Class(err) == engine.Quota))
		}
		if errors.Is(err, ErrZoneNeeded) && accountOf(f.Stored) == (Account{}) && !f.Network.ZonesWanted {
			p.r.memory.note(p.key, noteZonesRequired)
			f.Network.ZonesWanted = true
			continue
		}
		queue = queue[1:]
		if err == nil {
			p.noteChanged()
			p.out.Registered += len(chunk)
			p.out.RegisteredAt = p.r.Clock.Now()
			p.r.memory.note(p.key, noteRegistered(f.Described, chunk))
			p.r.noteChange(Registered, arn, endpointNames(chunk))
			p.reportRestored(ctx, f.Stored, endpointNames(chunk))
			continue
		}
		class := p.r.Cloud.Class(err)
		if class == engine.Unknown {
			p.r.memory.note(p.key, noteUncertain)
		}
		half := len(chunk) / 2
		if class == engine.Invalid && half > 0 {
			queue = append(queue, chunk[:half], chunk[half:])
			continue
		}
		if class == engine.Quota && do.UpToCapacity {
			if half > 0 {
				queue = append([][]targets.Endpoint{chunk[:half], chunk[half:]}, queue...)
				continue
			}
			chunk, queue = slices.Concat(chunk, slices.Concat(queue...)), nil // the target group has no capacity for another target
		}
		refuse(chunk, err, fmt.Errorf("register %s and %d more targets in %s: %w", chunk[0].ID, len(chunk)-1, arn, err))
		p.r.memory.note(p.key, noteRefused(a.Refused[len(a.Refused)-1]))
	}
	return a, refused
}

// noteChanged notes in the outcome that AWS was changed.
func (p *run) noteChanged() { p.out.Changed, p.reported.Changed = true, true }
