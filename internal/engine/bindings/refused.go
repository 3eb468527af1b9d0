package bindings

import (
	"maps"
	"slices"
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

// recordRefusedEndpoints returns an update that records endpoints that AWS refused to register as invalid or denied. Each
// further refusal doubles the back-off of an endpoint. Other failures do not change the entry.
func recordRefusedEndpoints(x bindingplan.Refusal) update {
	return func(e entry, at updateInput) entry {
		if x.AWSFailure.Class != failure.Invalid && x.AWSFailure.Class != failure.Denied {
			return e
		}
		all := map[string]refusedTarget{}
		maps.Copy(all, e.refusedTargets)
		for _, t := range x.Endpoints {
			delay := nextRefusalDelay(all[t.Identity()].delay)
			all[t.Identity()] = refusedTarget{bindingplan.RefusedTarget{AWSFailure: x.AWSFailure, RunFailure: x.RunFailure, Until: at.now.Add(delay)}, delay}
		}
		e.refusedTargets = all
		return e
	}
}

// nextRefusalDelay returns the back-off after another refusal. last is the back-off after the previous refusal; 0 for the
// first refusal.
func nextRefusalDelay(last time.Duration) time.Duration {
	return min(max(2*last, durations.Requeue), durations.LongestTransientBackOff)
}

// removeOtherRefusals returns an update that removes the recorded refusals of all endpoints except the endpoints in of.
func removeOtherRefusals(of []targets.Endpoint) update {
	return func(e entry, _ updateInput) entry {
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

// refusedChange is a change of the rules of a security group that AWS refused, with the current delay of its back-off.
type refusedChange struct {
	bindingplan.SecurityGroupChange
	err   error
	until time.Time
	delay time.Duration
}

// refusalOf returns the error with which AWS refused the same change before, while the back-off of this change has not
// ended. Otherwise it returns nil. Many bindings have rules in one security group. Without this check, the run of each of
// them would repeat the call.
func (o *ruleRegistry) refusalOf(c bindingplan.SecurityGroupChange, now time.Time) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if x := o.refusedChanges[c.Group]; x.isSame(c) && now.Before(x.until) {
		return x.err
	}
	return nil
}

// recordRefusedChange records that AWS refused a change. Each further refusal of the same change doubles its back-off. If err
// is nil, it removes the entry of the security group.
func (o *ruleRegistry) recordRefusedChange(c bindingplan.SecurityGroupChange, err error, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err == nil {
		delete(o.refusedChanges, c.Group)
		return
	}
	x := o.refusedChanges[c.Group]
	if !x.isSame(c) {
		x.delay = 0
	}
	delay := nextRefusalDelay(x.delay)
	o.refusedChanges[c.Group] = refusedChange{c, err, now.Add(delay), delay}
}

func (x refusedChange) isSame(c bindingplan.SecurityGroupChange) bool {
	return slices.Equal(x.Authorize, c.Authorize) && slices.Equal(x.Revoke, c.Revoke)
}
