package bindings

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"

	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// deregistrationPriority returns the priority of a call that deregisters targets. It is lower than the priority of
// registrations, unless another pod already has the address of one of the targets.
func (p *run) deregistrationPriority(list []*observed.Target) CallPriority {
	priority := CallPriority{Tenant: p.key.Namespace, MaxDelay: durations.RunningTargetDeadline}
	switch targets.LeavingPodStateOf(p.r.Cluster.View().Unsubscribed(), p.key.Namespace, list, p.r.memory.get(p.key).leavingSince) {
	case targets.PodAddressReused:
		priority.MaxDelay = durations.ShortestInterval
	case targets.PodEnded:
		priority.MaxDelay = durations.EndedTargetDeadline
	}
	return priority
}

// deregister deregisters the targets in drop. If AWS refuses a call because of an invalid target, the targets are
// deregistered in smaller calls. It continues after a refused target, and returns the last error of a refused target. Any
// other error ends the deregistration and is returned.
func (p *run) deregister(ctx context.Context, f *bindingplan.Facts, drop []*observed.Target) (failed error) {
	start := p.r.Clock.Now()
	defer func() { p.r.recordPhase("apply", start) }()
	arn := f.CompletedBinding.Spec.TargetGroupARN
	queue := slices.Collect(slices.Chunk(drop, MaxTargetsPerCall))
	for len(queue) > 0 {
		chunk := queue[0]
		queue = queue[1:]
		if err := p.r.checkFence(); err != nil {
			return err
		}
		err := p.targetGroups(f).Deregister(ctx, arn, p.deregistrationPriority(chunk), chunk)
		switch {
		case err == nil:
			p.markChanged()
			p.r.memory.update(p.key, recordDeregistered(f.CompletedBinding, chunk))
			p.r.recordChange(TargetsDeregistered, arn, textsOf(chunk, targets.IdentityOf))
			p.r.reportCorrectedDrift(ctx, f.StoredBinding, textsOf(chunk, targets.IdentityOf))
			p.removeFromTargetRecord(ctx, f, chunk)
		case failure.PostponedFor(err) > 0:
			// Subscribe to the pods, because the call becomes more urgent when one of them ends or its address is reused.
			late := slices.Concat(append(queue, chunk)...)
			targets.LeavingPodStateOf(p.view, p.key.Namespace, late, nil)
			p.r.Recorder.RecordView(p.key, p.view)
			p.r.memory.update(p.key, recordLeavingTargets(late))
			return err
		case p.r.Cloud.Class(err) != failure.Invalid:
			return fmt.Errorf("deregister %d targets of %s: %w", len(chunk), arn, err)
		case len(chunk) > 1:
			queue = append(queue, chunk[:len(chunk)/2], chunk[len(chunk)/2:])
		default:
			failed = fmt.Errorf("deregister %s of %s: %w", chunk[0].ID, arn, err)
		}
	}
	return failed
}

// removeFromTargetRecord removes deregistered targets from the record of this cluster if several clusters share the target
// group. Their addresses may soon belong to pods of another cluster. If the write fails, the run continues, because a later
// step may write or delete the record. If no later step does, the run ends with the error.
func (p *run) removeFromTargetRecord(ctx context.Context, f *bindingplan.Facts, list []*observed.Target) {
	r := f.Record
	if !r.Shared {
		return
	}
	for _, t := range list {
		r.Deregistered[targets.CanonicalIdentity(targets.IdentityOf(t))] = true
	}
	if !r.HasRecord {
		return
	}
	left := maps.Clone(r.Identities)
	maps.DeleteFunc(left, func(id string, _ bool) bool { return r.Deregistered[id] })
	p.recordErr = p.carryOutWrite(ctx, f, bindingplan.SetRecord{Identities: left})
}

// register registers endpoints. If AWS refuses a call because of invalid targets, the endpoints are registered without the
// targets that AWS names; if AWS names none, they are registered in smaller calls. The result a has the earlier refusals and
// the refusals of this call. refused reports whether AWS refused a target in this call.
func (p *run) register(ctx context.Context, f *bindingplan.Facts, do bindingplan.Register) (a *bindingplan.RegistrationAttempt, refused bool) {
	start := p.r.Clock.Now()
	defer func() { p.r.recordPhase("apply", start) }()
	a = &bindingplan.RegistrationAttempt{}
	if do.KnownRefusals != nil {
		*a = *do.KnownRefusals
		a.Refusals = slices.Clone(a.Refusals)
	}
	arn := f.CompletedBinding.Spec.TargetGroupARN
	refuse := func(list []targets.Endpoint, err, run error) {
		x := bindingplan.Refusal{Endpoints: list, AWSFailure: *p.r.failureOf(err), RunFailure: *p.r.failureOf(run)}
		a.Refusals, a.LastFailure, refused = append(a.Refusals, x), &x.RunFailure, true
	}
	queue := slices.Collect(slices.Chunk(do.Endpoints, MaxTargetsPerCall))
	for len(queue) > 0 {
		chunk := queue[0]
		list, err := f.TargetsFor(chunk)
		if err == nil {
			err = p.r.checkFence()
		}
		if err != nil {
			refuse(slices.Concat(queue...), err, err)
			return a, refused
		}
		if err = p.r.memory.get(p.key).capacityRefusal.refusalFor(arn, len(chunk), p.r.Clock.Now()); err == nil {
			err = p.targetGroups(f).Register(ctx, arn, CallPriority{Tenant: p.key.Namespace, MaxDelay: durations.ShortestInterval}, list)
			p.r.memory.update(p.key, recordRegisterCall(arn, len(chunk), err, err != nil && p.r.Cloud.Class(err) == failure.Quota))
		}
		if errors.Is(err, ErrZoneNeeded) && accountOf(f.StoredBinding) == (Account{}) && !f.Network.ZonesRequired {
			p.r.memory.update(p.key, recordZonesRequired)
			f.Network.ZonesRequired = true
			continue
		}
		queue = queue[1:]
		if err == nil {
			p.markChanged()
			p.out.RegisteredCount += len(chunk)
			p.out.RegisteredAt = p.r.Clock.Now()
			p.r.memory.update(p.key, recordRegistered(f.CompletedBinding, chunk))
			p.r.recordChange(TargetsRegistered, arn, textsOf(chunk, targets.Endpoint.Identity))
			p.r.reportCorrectedDrift(ctx, f.StoredBinding, textsOf(chunk, targets.Endpoint.Identity))
			continue
		}
		class := p.r.Cloud.Class(err)
		if class == failure.Unknown {
			p.r.memory.update(p.key, recordUncertainRegistration)
		}
		half := len(chunk) / 2
		if class == failure.Invalid && half > 0 {
			named, others := splitByErrorMessage(chunk, err)
			if len(named) == 0 {
				queue = append(queue, chunk[:half], chunk[half:])
				continue
			}
			if len(others) > 0 {
				queue = append(queue, others)
			}
			chunk = named
		}
		if class == failure.Quota && do.UpToCapacity {
			if half > 0 {
				queue = append([][]targets.Endpoint{chunk[:half], chunk[half:]}, queue...)
				continue
			}
			chunk, queue = slices.Concat(chunk, slices.Concat(queue...)), nil // the target group has no capacity for another target
		}
		what := chunk[0].ID
		if more := len(chunk) - 1; more > 0 {
			what += fmt.Sprintf(" and %d more targets", more)
		}
		refuse(chunk, err, fmt.Errorf("register %s in %s: %w", what, arn, err))
		p.r.memory.update(p.key, recordRefusedEndpoints(a.Refusals[len(a.Refusals)-1]))
	}
	return a, refused
}

// splitByErrorMessage returns the endpoints whose IDs are in the error of AWS, and all other endpoints. An ID must be a
// whole word of the error, because an address can be the beginning of another address.
func splitByErrorMessage(list []targets.Endpoint, err error) (named, others []targets.Endpoint) {
	words := map[string]bool{}
	for word := range strings.FieldsFuncSeq(err.Error(), func(c rune) bool {
		return !unicode.IsLetter(c) && !unicode.IsDigit(c) && !strings.ContainsRune(".:-", c)
	}) {
		words[strings.TrimSuffix(word, ".")] = true
	}
	for _, e := range list {
		if words[e.ID] {
			named = append(named, e)
		} else {
			others = append(others, e)
		}
	}
	return named, others
}

// markChanged records that the run has changed AWS.
func (p *run) markChanged() { p.out.Changed, p.reported.AWSChanged = true, true }
