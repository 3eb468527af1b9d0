package cloud

import "sync"

// guard is the lock of what is remembered. It is never held while a call is under way.
type guard struct{ mu sync.Mutex }

// with runs fn under the lock. fn must not call AWS.
func (g *guard) with(fn func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	fn()
}
