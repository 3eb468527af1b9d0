package engine

import "time"

// waits are since when the plans of a stack wait for what. They are as many as the last plan waits for. What is
// forgotten at a restart is waited for once more, and not longer.
type waits map[string]time.Time

// waited is for how long each of what is waited for is waited for.
func (w waits) waited(now time.Time) map[string]time.Duration {
	out := make(map[string]time.Duration, len(w))
	for key, since := range w {
		out[key] = now.Sub(since)
	}
	return out
}

// after are the waits after a plan that waits for the keys. Without a clock nothing is known.
func (w waits) after(waiting []string, now time.Time) waits {
	if now.IsZero() || len(waiting) == 0 {
		return nil
	}
	next := make(waits, len(waiting))
	for _, key := range waiting {
		since, known := w[key]
		if !known {
			since = now
		}
		next[key] = since
	}
	return next
}
