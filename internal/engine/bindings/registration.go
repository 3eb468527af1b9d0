package bindings

import (
	"maps"
	"slices"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// registration is what this process has registered for a binding, the zero value for nothing. It is needed where the record
// in Kubernetes is missing, changed by its owner, or was never kept.
type registration struct {
	binding *elbv2.TargetGroupBinding // as last described; nil for nothing
	targets *targets.IdentitySet
	// written is when a target was last registered or taken out.
	written time.Time
	// unknown: a registration may have taken effect although it failed.
	unknown bool
	// drift holds the changes that others seem to have made.
	drift targetDrift
}

// isFor reports whether a registration is for the target group of a binding.
func (r registration) isFor(b *elbv2.TargetGroupBinding) bool {
	return r.binding != nil && r.binding.Spec.TargetGroupARN == b.Spec.TargetGroupARN
}

// forGroupOf returns the registration in the target group of a binding, which may be another than before.
func (r registration) forGroupOf(described *elbv2.TargetGroupBinding) registration {
	if !r.isFor(described) {
		r = registration{}
	}
	r.binding = described
	return r
}

// noteFound notes targets of a binding that were found to be registered.
func noteFound(described *elbv2.TargetGroupBinding, list []*observed.Target) note {
	return func(e entry, _ moment) entry {
		if len(list) > 0 {
			e.registration = e.registration.forGroupOf(described)
			e.registration.targets = e.registration.targets.WithTargets(list)
		}
		return e
	}
}

// noteRegistered notes targets that were registered for a binding.
func noteRegistered(described *elbv2.TargetGroupBinding, list []targets.Endpoint) note {
	return func(e entry, at moment) entry {
		if len(list) > 0 {
			e.registration = e.registration.forGroupOf(described)
			e.registration.targets, e.registration.written = e.registration.targets.With(list), at.now
			ids := make([]string, len(list))
			for i, t := range list {
				ids[i] = t.ID
			}
			e.flapping = e.flapping.noteRegistered(ids, at.now)
		}
		return e
	}
}

// noteDeregistered notes targets that are not registered for a binding any more.
func noteDeregistered(described *elbv2.TargetGroupBinding, list []*observed.Target) note {
	return func(e entry, at moment) entry {
		e.leavingSince = maps.Clone(e.leavingSince)
		ids := make([]string, len(list))
		for i, t := range list {
			delete(e.leavingSince, t.ID)
			ids[i] = t.ID
		}
		e.flapping = e.flapping.noteDeregistered(ids, at.now)
		if e.registration.isFor(described) {
			e.registration.targets, e.registration.written = e.registration.targets.Without(list), at.now
		}
		e.overCapacity = overCapacity{} // there is room again
		return e
	}
}

// noteEmptied notes a target group that the binding has left.
func noteEmptied(e entry, _ moment) entry {
	e.registration = registration{}
	return e
}

// noteUnknown notes a registration that may have taken effect although it failed.
func noteUnknown(e entry, _ moment) entry {
	e.registration.unknown = e.registration.binding != nil
	return e
}

// driftIn returns what others have changed, of targets that are listed. Others may fill a shared target group.
func (r registration) driftIn(live []*observed.Target) (d targetDrift) {
	live = slices.DeleteFunc(slices.Clone(live), targets.Draining)
	d.missing = r.targets.Missing(live)
	if !r.binding.Spec.MultiClusterTargetGroup && !r.unknown {
		for _, t := range live {
			if !r.targets.Has(t) {
				d.added = append(d.added, targets.CanonicalIdentity(targets.IdentityOf(t)))
			}
		}
	}
	slices.Sort(d.added)
	return d
}

// split takes out of what has drifted what is about some identities.
func (d targetDrift) split(identities []string) (of, rest targetDrift) {
	part := func(list []string) (of, rest []string) {
		for _, id := range list {
			if slices.Contains(identities, id) {
				of = append(of, id)
			} else {
				rest = append(rest, id)
			}
		}
		return of, rest
	}
	of.missing, rest.missing = part(d.missing)
	of.added, rest.added = part(d.added)
	return of, rest
}
