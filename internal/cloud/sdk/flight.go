package sdk

import (
	"context"
	"sync"
)

// flight shares one reading among concurrent callers that need the same value. The first caller reads on its own
// goroutine; no lock is held meanwhile.
type flight struct {
	mu    sync.Mutex
	calls map[string]*sharedCall
}

type sharedCall struct {
	done chan struct{}
	err  error
}

// do runs fn, or waits for another caller's run under the same key. The value that fn reads is passed on through a
// cache, not through do. If the context of the reading caller ends, another caller reads.
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
			return f.runAsLeader(key, c, fn)
		}
		f.mu.Unlock()
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-c.done:
		}
		if IsInterrupted(c.err) && ctx.Err() == nil {
			continue
		}
		return c.err
	}
}

func (f *flight) runAsLeader(key string, c *sharedCall, fn func() error) error {
	// The error if fn panics, so that waiting callers do not take the value as read.
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
