package sdk

import (
	"context"
	"sync"
)

// sharedReads shares one read among concurrent callers that need the same value. The first caller reads in its goroutine. No
// lock is held during the read.
type sharedReads struct {
	mu    sync.Mutex
	calls map[string]*sharedCall
}

type sharedCall struct {
	done chan struct{}
	err  error
}

// do runs fn, or waits while another caller runs fn with the same key. fn must store the value in a cache, because do
// returns only an error. If the context of the caller that runs fn ends, another caller runs fn.
func (f *sharedReads) do(ctx context.Context, key string, fn func() error) error {
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

func (f *sharedReads) runAsLeader(key string, c *sharedCall, fn func() error) error {
	// If fn panics, waiting callers get this error, so that they do not assume that the value was read.
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
