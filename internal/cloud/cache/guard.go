// Package cache has what all that is remembered of AWS has in common.
package cache

import "sync"

// Guard is the lock of what is remembered. It is never held while a call is under way.
type Guard struct{ mu sync.Mutex }

// With runs fn under the lock. fn must not call AWS.
func (g *Guard) With(fn func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	fn()
}
