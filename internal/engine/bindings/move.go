package bindings

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// refusal is endpoints that could not be registered, and why.
type refusal struct {
	endpoints []targets.Endpoint
	err       error
}

func without(all []targets.Endpoint, refused []refusal) []targets.Endpoint {
	return slices.DeleteFunc(slices.Clone(all), func(e targets.Endpoint) bool {
		return slices.ContainsFunc(refused, func(r refusal) bool {
			return slices.ContainsFunc(r.endpoints, func(o targets.Endpoint) bool { return o.Identity() == e.Identity() })
		})
	})
}

// move registers and deregisters. The old targets go after the new ones have come; if none of those
// can come, the old ones that can still serve stay. An old target with the address and port of a new
// one has to go first, as AWS would take the new one for the old. It returns the last error.
func (p *pass) move(ctx context.Context, arn string, d targets.Diff) error {
	replaced := func(t observed.Target) bool {
		return slices.ContainsFunc(d.Register, func(e targets.Endpoint) bool { return e.ID == t.ID && e.Port == t.Port })
	}
	before := slices.DeleteFunc(slices.Clone(d.Deregister), func(t observed.Target) bool { return !replaced(t) })
	drop := slices.DeleteFunc(slices.Clone(d.Deregister), replaced)
	if err := p.deregister(ctx, arn, before); err != nil {
		p.refused = []refusal{{d.Register, err}}
		return err
	}
	failed := p.register(ctx, arn, d.Register, false)
	quota := failed != nil && p.r.Cloud.Class(failed) == engine.Quota
	if failed != nil && !quota && len(d.Matched)+len(without(d.Register, p.refused)) == 0 {
		var err error
		if drop, err = p.useless(drop); err != nil {
			return errors.Join(failed, err)
		}
	}
	if quota {
		drop = append(drop, p.retained...) // there is no room for both
		p.retained = nil
	}
	p.complete = true
	if err := p.deregister(ctx, arn, drop); err != nil {
		if p.putOff(err) {
			return failed // the new targets are there, the old ones go later
		}
		return errors.Join(failed, err)
	}
	if quota { // there may be room now, if not for all
		var again []targets.Endpoint
		for _, r := range p.refused {
			again = append(again, r.endpoints...)
		}
		failed = p.register(ctx, arn, again, true)
	}
	return failed
}

// useless leaves out the targets that can still serve: all nodes, and the pods that are ready. The
// address of a pod that is gone may be another's soon.
func (p *pass) useless(list []observed.Target) ([]observed.Target, error) {
	if targets.IsInstance(p.w) {
		return nil, nil
	}
	serving, err := p.servingPods(list)
	return slices.DeleteFunc(slices.Clone(list), func(t observed.Target) bool { return serving[t.ID] != nil }), err
}

// deregister takes targets out and returns the last error. One that AWS refuses does not keep the
// others in.
func (p *pass) deregister(ctx context.Context, arn string, drop []observed.Target) (failed error) {
	queue := slices.Collect(slices.Chunk(drop, MaxTargets))
	for len(queue) > 0 {
		chunk := queue[0]
		queue = queue[1:]
		if err := p.r.fence(); err != nil {
			return err
		}
		err := p.groups().Deregister(ctx, arn, p.deregisterTurn(chunk), chunk)
		switch {
		case err == nil:
			p.out.Changed = true
			p.noteRoom()
			p.noteFilled(false, namesOf(chunk)...)
			p.r.did(Deregistered, arn, namesOf(chunk))
		case turn(err) > 0:
			// Should one of the addresses be given to another tenant meanwhile, the call is urgent.
			targets.GivenAway(p.v, p.key.Namespace, slices.Concat(append(queue, chunk)...))
			p.r.viewed(p.key, p.v)
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

// register adds endpoints, notes those that could not be added, and returns the last error. One that
// AWS refuses does not keep the others out. With fill, a group that has no room for all gets as many
// as it has room for.
func (p *pass) register(ctx context.Context, arn string, add []targets.Endpoint, fill bool) (failed error) {
	p.refused = nil
	add, failed = p.tryable(add)
	queue := slices.Collect(slices.Chunk(add, MaxTargets))
	for len(queue) > 0 {
		chunk := queue[0]
		list, err := p.targetsOf(ctx, chunk)
		if err == nil {
			err = p.r.fence()
		}
		if err != nil {
			p.refused = append(p.refused, refusal{slices.Concat(queue...), err})
			return err
		}
		if err = p.overfull(arn, len(chunk)); err == nil {
			err = p.groups().Register(ctx, arn, p.registerTurn(), list)
			p.noteSent(arn, len(chunk), err)
		}
		if errors.Is(err, ErrZoneNeeded) && accountOf(p.b) == (Account{}) && !p.r.wantsZones(p.key) {
			p.r.noteZones(p.key)
			continue
		}
		queue = queue[1:]
		if err == nil {
			p.out.Changed = true
			p.noteFilled(true, endpointNames(chunk)...)
			p.r.did(Registered, arn, endpointNames(chunk))
			continue
		}
		class := p.r.Cloud.Class(err)
		half := len(chunk) / 2
		if class == engine.Invalid && half > 0 {
			queue = append(queue, chunk[:half], chunk[half:])
			continue
		}
		if class == engine.Quota && fill {
			if half > 0 {
				queue = append([][]targets.Endpoint{chunk[:half], chunk[half:]}, queue...)
				continue
			}
			chunk, queue = slices.Concat(chunk, slices.Concat(queue...)), nil // there is no room for one
		}
		p.refused = append(p.refused, refusal{chunk, err})
		failed = fmt.Errorf("register %s and %d more targets in %s: %w", chunk[0].ID, len(chunk)-1, arn, err)
		p.noteRefused(chunk, err, failed)
	}
	return failed
}

// isActive leaves out targets that were taken out already.
func isActive(t observed.Target) bool { return !targets.Draining(t) }
