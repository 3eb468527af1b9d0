package engine

import (
	"maps"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// waits has the times since which the last plan of a stack has been waiting, by the key of the wait (plan.Plan.WaitKeys).
// After a restart each wait begins again, with its full deadline.
type waits map[string]time.Time

// waitDurations returns how long the stack has been waiting, by the key of the wait.
func (w waits) waitDurations(now time.Time) map[string]time.Duration {
	out := make(map[string]time.Duration, len(w))
	for key, since := range w {
		out[key] = now.Sub(since)
	}
	return out
}

// otherStackKey is the key of the wait for another stack that uses the same load balancer.
const otherStackKey = "other stack"

// otherStackPollInterval returns the time after which a stack that waits for another stack runs again. It grows with the
// time that the stack has been waiting.
func (w waits) otherStackPollInterval(now time.Time) time.Duration {
	return min(max(durations.FirstBackOff, w.waitDurations(now)[otherStackKey]/4), durations.MissingWait)
}

// withKeys returns a copy of w with an additional wait, which begins now, for each key that w does not have. Without a
// clock, it returns nil.
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

// onlyKeys returns the waits of w that have one of the keys. It is called once per run, with the keys of the last plan. An
// earlier plan of the run may lack some of these keys.
func (w waits) onlyKeys(waiting []string) waits {
	next := make(waits, len(waiting))
	for _, key := range waiting {
		if since, known := w[key]; known {
			next[key] = since
		}
	}
	return next
}
