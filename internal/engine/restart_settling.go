package engine

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// noteClaimed notes that a finalizer was added to an object of the stack. If none of its objects had one before, this
// process has created the stack.
func (m *memory) noteClaimed(s model.Stack) {
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

// requiredListingTime returns the time after which the resources in AWS must have been listed before a stack is regarded as
// deleted; zero: any listing is sufficient. The first answers of AWS may lack resources that the previous process created
// just before it ended. If the last finalizer were removed on such an answer, these resources would be orphans.
func (m memory) requiredListingTime(s model.Stack, now time.Time) time.Time {
	if now.IsZero() || !s.IsEmpty() || len(s.Leaving) == 0 || m.createdByThisProcess {
		return time.Time{}
	}
	return m.firstRun.Add(durations.Requeue)
}

// releaseWait returns how long a step that removes a finalizer of a deleted stack has to wait; 0 for every other step.
func (m memory) releaseWait(s model.Stack, do plan.Action, now time.Time) time.Duration {
	if _, ok := do.(plan.ReleaseFinalizer); !ok {
		return 0
	}
	since := m.requiredListingTime(s, now)
	if since.IsZero() {
		return 0
	}
	return max(since.Sub(now), 0)
}
