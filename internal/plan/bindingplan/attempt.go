package bindingplan

import (
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// with returns the attempt with one more refusal.
func (a *Attempt) with(r Refusal) *Attempt {
	out := Attempt{}
	if a != nil {
		out = *a
	}
	out.Refused = append(slices.Clone(out.Refused), r)
	out.Failed = &r.Run // the same text as before, so that it is not written again
	return &out
}

// overCapacity reports whether the target group has no room.
func (a *Attempt) overCapacity() bool {
	return a != nil && a.Failed != nil && a.Failed.Class == failure.Quota
}

// sendable returns the endpoints that may be sent to AWS now. Otherwise a target that AWS refuses would cost calls with
// each change of another.
func (m Memory) sendable(list []targets.Endpoint, now time.Time) []targets.Endpoint {
	if len(m.Refused) == 0 {
		return list
	}
	return slices.DeleteFunc(slices.Clone(list), func(e targets.Endpoint) bool {
		old, ok := m.Refused[e.Identity()]
		return ok && now.Before(old.Until)
	})
}

// refusedBefore returns what is known of endpoints that are not tried now, nil if all are.
func (m Memory) refusedBefore(list []targets.Endpoint, now time.Time) *Attempt {
	var out *Attempt
	for _, e := range list {
		old, ok := m.Refused[e.Identity()]
		if !ok || !now.Before(old.Until) {
			continue
		}
		out = out.with(Refusal{[]targets.Endpoint{e}, old.Because, old.Run})
		if left := old.Until.Sub(now); out.Untried == 0 || left < out.Untried {
			out.Untried = left
		}
	}
	return out
}
