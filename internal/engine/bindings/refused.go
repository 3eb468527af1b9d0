package bindings

import (
	"maps"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// refusedTarget is a target that AWS refused to register, with the current delay of its back-off.
type refusedTarget struct {
	bindingplan.RefusedTarget
	delay time.Duration
}

// noteRefusedEndpoints returns a note of endpoints that AWS refused to register as invalid or denied. Each further refusal
// doubles the back-off of an endpoint. Other failures do not change the entry.
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

// noteRetainedRefusals returns a note that removes the refusals of all endpoints except for the given ones.
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
