package bindings

import (
	"maps"
	"slices"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// registration has the targets that this process has registered for a binding; the zero value has none. It is used for
// bindings that have no record of their targets in Kubernetes, and if that record is missing or was changed by a user.
type registration struct {
	binding *elbv2.TargetGroupBinding // the binding with the ARN of its target group; nil: nothing is registered
	targets *targets.IdentitySet
	// writtenAt is the time of the last registration or deregistration of a target.
	writtenAt time.Time
	// isUncertain reports whether a registration may have taken effect although the call failed.
	isUncertain bool
	// drift has the drift that the last verification found.
	drift targetDrift
}

// isFor reports whether a registration is for the target group of a binding.
func (r registration) isFor(b *elbv2.TargetGroupBinding) bool {
	return r.binding != nil && r.binding.Spec.TargetGroupARN == b.Spec.TargetGroupARN
}

// resetForOtherTargetGroup returns r with the given binding, or a registration without targets if r is for another target
// group.
func (r registration) resetForOtherTargetGroup(described *elbv2.TargetGroupBinding) registration {
	if !r.isFor(described) {
		r = registration{}
	}
	r.binding = described
	return r
}

// recordFoundTargets returns an update that records the targets of a binding that AWS listed as registered.
func recordFoundTargets(described *elbv2.TargetGroupBinding, list []*observed.Target) update {
	return func(e entry, _ updateInput) entry {
		if len(list) > 0 {
			e.registration = e.registration.resetForOtherTargetGroup(described)
			e.registration.targets = e.registration.targets.WithTargets(list)
		}
		return e
	}
}

// recordRegistered returns an update that records targets that were registered for a binding. It removes the targets of
// another target group from the registration.
func recordRegistered(described *elbv2.TargetGroupBinding, list []targets.Endpoint) update {
	return func(e entry, at updateInput) entry {
		if len(list) > 0 {
			e.registration = e.registration.resetForOtherTargetGroup(described)
			e.registration.targets, e.registration.writtenAt = e.registration.targets.WithEndpoints(list), at.now
			ids := textsOf(list, func(t targets.Endpoint) string { return t.ID })
			e.flappingTargets = e.flappingTargets.recordRegistered(ids, at.now)
		}
		return e
	}
}

// recordDeregistered returns an update that records targets that were deregistered for a binding.
func recordDeregistered(described *elbv2.TargetGroupBinding, list []*observed.Target) update {
	return func(e entry, at updateInput) entry {
		e.leavingSince = maps.Clone(e.leavingSince)
		ids := textsOf(list, func(t *observed.Target) string { return t.ID })
		for _, id := range ids {
			delete(e.leavingSince, id)
		}
		e.flappingTargets = e.flappingTargets.recordDeregistered(ids, at.now)
		if e.registration.isFor(described) {
			e.registration.targets, e.registration.writtenAt = e.registration.targets.WithoutTargets(list), at.now
		}
		e.capacityRefusal = capacityRefusal{} // the target group has capacity again
		return e
	}
}

// recordTargetGroupEmptied records that all targets of the binding were deregistered from its target group.
func recordTargetGroupEmptied(e entry, _ updateInput) entry {
	e.registration = registration{}
	return e
}

// recordUncertainRegistration records that a registration may have taken effect although the call failed.
func recordUncertainRegistration(e entry, _ updateInput) entry {
	e.registration.isUncertain = e.registration.binding != nil
	return e
}

// driftIn returns the drift between the registration and the targets that AWS returns (live). Draining targets are treated
// as missing. Added targets are not treated as drift if several clusters share the target group, or if the registration is
// uncertain.
func (r registration) driftIn(live []*observed.Target) (d targetDrift) {
	live = slices.DeleteFunc(slices.Clone(live), targets.IsDraining)
	d.missing = r.targets.MissingFrom(live)
	if !r.binding.Spec.MultiClusterTargetGroup && !r.isUncertain {
		for _, t := range live {
			if !r.targets.Has(t) {
				d.added = append(d.added, targets.CanonicalIdentity(targets.IdentityOf(t)))
			}
		}
	}
	slices.Sort(d.added)
	return d
}

// split divides the drift into the targets with the given identities (of) and all other targets (rest).
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
