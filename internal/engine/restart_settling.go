package engine

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// noteClaimed notes that a stack is claimed; it is this process's own if its objects carried no mark of it.
func (m *memory) noteClaimed(s model.Stack) {
	if len(s.Leaving) > 0 {
		return
	}
	for _, member := range s.Members {
		if member.Claimed {
			return
		}
	}
	m.own = true
}

// listedSince returns when the listings must have been made at the earliest from which a stack is taken for gone; zero:
// at any time. What the process before this one made just before it ended may be missing from the first answers of AWS.
// To let the last object of a stack go then would leave that behind for ever.
func (m memory) listedSince(s model.Stack, now time.Time) time.Time {
	if now.IsZero() || !s.Empty() || len(s.Leaving) == 0 || m.own {
		return time.Time{}
	}
	return m.begun.Add(durations.Requeue)
}

// releaseWait returns how long a step that lets a stack go for good has to wait.
func (m memory) releaseWait(s model.Stack, do plan.Action, now time.Time) time.Duration {
	if _, ok := do.(plan.ReleaseFinalizer); !ok {
		return 0
	}
	since := m.listedSince(s, now)
	if since.IsZero() {
		return 0
	}
	return max(since.Sub(now), 0)
}
