package bindingplan

import (
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// withRefusal returns the attempt with one more refusal.
func (a *Attempt) withRefusal(r Refusal) *Attempt {
	out := Attempt{}
	if a != nil {
		out = *a
	}
	out.Refused = append(slices.Clone(out.Refused), r)
	out.Failed = &r.Run // the text of the first refusal, so that the status does not change
	return &out
}

// isOverCapacity reports whether the attempt failed because the target group is full.
func (a *Attempt) isOverCapacity() bool {
	return a != nil && a.Failed != nil && a.Failed.Class == failure.Quota
}

// sendable returns the endpoints that may be sent to AWS now. Refused endpoints wait, because they would cost calls with
// each change of another target.
func (m Memory) sendable(list []targets.Endpoint, now time.Time) []targets.Endpoint {
	if len(m.Refused) == 0 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(e targets.Endpoint) bool {
		old, ok := m.Refused[e.Identity()]
		return ok && now.Before(old.Until)
	})
}

// refusedBefore returns the refusals of endpoints that are not sent now, nil if all endpoints are sent.
func (m Memory) refusedBefore(list []targets.Endpoint, now time.Time) *Attempt {
	var out *Attempt
	for _, e := range list {
		old, ok := m.Refused[e.Identity()]
		if !ok || !now.Before(old.Until) {
			continue
		}
		out = out.withRefusal(Refusal{[]targets.Endpoint{e}, old.Because, old.Run})
		if left := old.Until.Sub(now); out.RetryIn == 0 || left < out.RetryIn {
			out.RetryIn = left
		}
	}
	return out
}
