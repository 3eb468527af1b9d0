package bindings

import (
	"maps"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// refusedTarget is a target that AWS has refused, with the current delay of its back-off.
type refusedTarget struct {
	bindingplan.RefusedTarget
	delay time.Duration
}

// noteRefusedEndpoints notes endpoints that AWS has refused as invalid or denied, with exponential back-off. It ignores other
// failures.
func noteRefusedEndpoints(x bindingplan.Refusal) note {
	return func(e entry, at moment) entry {
		if x.AWSFailure.Class != failure.Invalid && x.AWSFailure.Class != failure.Denied {
			return e
		}
		all := map[string]refusedTarget{}
		maps.Copy(all, e.refusedTargets)
		for _, t := range x.Endpoints {
			delay := min(max(2*all[t.Identity()].delay, durations.Requeue), durations.DeniedWait)
			all[t.Identity()] = refusedTarget{bindingplan.RefusedTarget{AWSFailure: x.AWSFailure, RunFailure: x.RunFailure, Until: at.now.Add(delay)}, delay}
		}
		e.refusedTargets = all
		return e
	}
}

// noteRetainedRefusals retains the refusals of the given endpoints, and forgets all others.
func noteRetainedRefusals(of []targets.Endpoint) note {
	return func(e entry, _ moment) entry {
		all := map[string]refusedTarget{}
		for _, t := range of {
			if x, ok := e.refusedTargets[t.Identity()]; ok {
				all[t.Identity()] = x
			}
		}
		e.refusedTargets = all
		return e
	}
}
