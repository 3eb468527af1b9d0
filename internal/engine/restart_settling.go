package engine

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// recordFinalizerAdded records that a finalizer was added to an object of the stack. If no object of the stack had a
// finalizer before, this process has created the stack.
func (m *memory) recordFinalizerAdded(s model.Stack) {
	if len(s.Leaving) > 0 {
		return
	}
	for _, member := range s.Members {
		if member.Claimed {
			return
		}
	}
	m.createdByThisProcess = true
}

// requiredListingTime returns the earliest time at which AWS resources must have been listed so that the stack can be
// regarded as deleted; zero: any listing is sufficient. Just after the start of this process, AWS may not yet list resources
// that the previous process created before it ended. If the last finalizer were removed because of such a list, these
// resources would be orphans.
func (m memory) requiredListingTime(s model.Stack, now time.Time) time.Time {
	if now.IsZero() || !s.IsEmpty() || len(s.Leaving) == 0 || m.createdByThisProcess {
		return time.Time{}
	}
	return m.firstRun.Add(durations.Requeue)
}

// finalizerRemovalDelay returns how long action do has to wait if it removes a finalizer of a deleted stack; 0 for any other
// action.
func (m memory) finalizerRemovalDelay(s model.Stack, do plan.Action, now time.Time) time.Duration {
	if _, ok := do.(plan.ReleaseFinalizer); !ok {
		return 0
	}
	since := m.requiredListingTime(s, now)
	if since.IsZero() {
		return 0
	}
	return max(since.Sub(now), 0)
}
