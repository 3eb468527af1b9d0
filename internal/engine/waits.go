package engine

import (
	"maps"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// waits are since when the plans of a stack wait for what. They are as many as the last plan waits for. What is
// forgotten at a restart is waited for once more, and not longer.
type waits map[string]time.Time

// waitedTimes returns how long the stack has waited for each of its conditions.
func (w waits) waitedTimes(now time.Time) map[string]time.Duration {
	out := make(map[string]time.Duration, len(w))
	for key, since := range w {
		out[key] = now.Sub(since)
	}
	return out
}

// otherStack is the key of the wait of a stack for the one with which it shares a load balancer.
const otherStack = "other stack"

// pollOtherStack returns the time until a stack that waits for another one is compared again: later and later, as what
// the other one waits for may last.
func (w waits) pollOtherStack(now time.Time) time.Duration {
	return min(max(durations.FirstBackOff, w.waitedTimes(now)[otherStack]/4), durations.MissingWait)
}

// withKeys returns the waits together with those of a plan that waits for the keys. Without a clock nothing is known.
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

// onlyKeys returns the waits for the keys, which are those of the last plan of a run. A plan before it may lack some,
// where it has a step that AWS refuses.
func (w waits) onlyKeys(waiting []string) waits {
	next := make(waits, len(waiting))
	for _, key := range waiting {
		if since, known := w[key]; known {
			next[key] = since
		}
	}
	return next
}
