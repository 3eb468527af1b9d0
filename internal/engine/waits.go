package engine

import (
	"maps"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// waits are the times since which the plans of a stack have been waiting, by the key of the wait (plan.Plan.WaitKeys). They
// are those of the last plan. After a restart each wait begins once more, with its full deadline.
type waits map[string]time.Time

// waitedTimes returns how long the stack has been waiting, by the key of the wait.
func (w waits) waitedTimes(now time.Time) map[string]time.Duration {
	out := make(map[string]time.Duration, len(w))
	for key, since := range w {
		out[key] = now.Sub(since)
	}
	return out
}

// otherStackKey is the key of the wait of a stack for the other stack with which it shares a load balancer.
const otherStackKey = "other stack"

// otherStackPollInterval returns the time until a stack that waits for another stack runs again. The time grows with the wait.
func (w waits) otherStackPollInterval(now time.Time) time.Duration {
	return min(max(durations.FirstBackOff, w.waitedTimes(now)[otherStackKey]/4), durations.MissingWait)
}

// withKeys returns the waits, with a new one for each key that was not waited for before. It returns none without a clock.
func (w waits) withKeys(waiting []string, now time.Time) waits {
	if now.IsZero() {
		return nil
	}
	next := make(waits, len(w)+len(waiting))
	for _, key := range waiting {
		next[key] = now
	}
	maps.Copy(next, w)
	return next
}

// onlyKeys returns the waits with these keys. It is called once a run, with the keys of its last plan, because an earlier
// plan of the run may lack some of them.
func (w waits) onlyKeys(waiting []string) waits {
	next := make(waits, len(waiting))
	for _, key := range waiting {
		if since, known := w[key]; known {
			next[key] = since
		}
	}
	return next
}
