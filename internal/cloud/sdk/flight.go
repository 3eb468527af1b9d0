package sdk

import (
	"context"
	"sync"
)

// flight lets concurrent callers that want the same value share one reading of it. The first
// reads on its own goroutine; no lock is held meanwhile.
type flight struct {
	mu    sync.Mutex
	calls map[string]*sharedCall
}

type sharedCall struct {
	done chan struct{}
	err  error
}

// do runs fn, or waits for another caller's run under the same key. What is read is handed over
// through the inventory, not through do. If the other caller gave up, the next in line reads.
func (f *flight) do(ctx context.Context, key string, fn func() error) error {
	for {
		f.mu.Lock()
		c, running := f.calls[key]
		if !running {
			if f.calls == nil {
				f.calls = map[string]*sharedCall{}
			}
			c = &sharedCall{done: make(chan struct{})}
			f.calls[key] = c
			f.mu.Unlock()
			return f.lead(key, c, fn)
		}
		f.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.done:
		}
		if Interrupted(c.err) && ctx.Err() == nil {
			continue
		}
		return c.err
	}
}

func (f *flight) lead(key string, c *sharedCall, fn func() error) error {
	// Stays if fn panics, so that those who wait do not take the thing as read.
	c.err = context.Canceled
	defer func() {
		f.mu.Lock()
		delete(f.calls, key)
		f.mu.Unlock()
		close(c.done)
	}()
	c.err = fn()
	return c.err
}
