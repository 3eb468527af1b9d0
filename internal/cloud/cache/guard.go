// Package cache has code that all caches of AWS state use: a lock, a check whether the settle window after a write is over,
// and functions for maps.
package cache

import "sync"

// Guard is the lock of a cache of AWS state. It is never held while a call to AWS is in flight.
type Guard struct{ mu sync.Mutex }

// WithLock runs fn under the lock. fn must not call AWS.
func (g *Guard) WithLock(fn func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	fn()
}
