package bindingplan

import (
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// withRefusal returns a copy of the attempt with one more refusal. The receiver may be nil.
func (a *RegistrationAttempt) withRefusal(r Refusal) *RegistrationAttempt {
	out := RegistrationAttempt{}
	if a != nil {
		out = *a
	}
	out.Refusals = append(slices.Clone(out.Refusals), r)
	out.LastFailure = &r.RunFailure // overwrites the earlier failure
	return &out
}

// isOverCapacity reports whether the last failure of the attempt is that the target group has reached its quota of targets.
func (a *RegistrationAttempt) isOverCapacity() bool {
	return a != nil && a.LastFailure != nil && a.LastFailure.Class == failure.Quota
}

// sendableEndpoints returns the endpoints that may be sent to AWS now. It omits endpoints that AWS has refused, until
// RefusedTarget.Until. If they were not omitted, every change of another target would repeat the refused call.
func (m Memory) sendableEndpoints(list []targets.Endpoint, now time.Time) []targets.Endpoint {
	if len(m.RefusedTargets) == 0 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(e targets.Endpoint) bool {
		old, ok := m.RefusedTargets[e.Identity()]
		return ok && now.Before(old.Until)
	})
}

// earlierRefusals returns an attempt with the earlier refusals of endpoints that must not be sent yet; nil if all endpoints
// may be sent.
func (m Memory) earlierRefusals(list []targets.Endpoint, now time.Time) *RegistrationAttempt {
	var out *RegistrationAttempt
	for _, e := range list {
		old, ok := m.RefusedTargets[e.Identity()]
		if !ok || !now.Before(old.Until) {
			continue
		}
		out = out.withRefusal(Refusal{[]targets.Endpoint{e}, old.AWSFailure, old.RunFailure})
		if left := old.Until.Sub(now); out.RetryIn == 0 || left < out.RetryIn {
			out.RetryIn = left
		}
	}
	return out
}
