package dataplane

import (
	"context"
	"errors"
	"sync"
)

// Reasons for which the data plane itself ends a request.
var (
	errClosed  = errors.New("the data plane was closed")
	errRemoved = errors.New("the target was removed while it handled the request")
	// errUnhealthy ends the connections of a Network Load Balancer only.
	errUnhealthy = errors.New("the target became unhealthy")
)

// calls are the requests that targets are handling right now.
type calls struct {
	mu   sync.Mutex
	open map[*call]struct{}
}

type call struct {
	target *target
	cancel context.CancelCauseFunc
}

// begin registers a request; its context ends when the target is removed or
// the data plane closed. The caller calls end when it is finished.
func (c *calls) begin(ctx context.Context, t *target) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	one := &call{target: t, cancel: cancel}
	t.inflight.Add(1)
	c.mu.Lock()
	if c.open == nil {
		c.open = map[*call]struct{}{}
	}
	c.open[one] = struct{}{}
	c.mu.Unlock()
	return ctx, func() {
		t.inflight.Add(-1)
		c.mu.Lock()
		delete(c.open, one)
		c.mu.Unlock()
		cancel(nil)
	}
}

// cancel ends the calls to a target, or all calls when it is nil.
func (c *calls) cancel(cause error, of *target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for one := range c.open {
		if of == nil || one.target == of {
			one.cancel(cause)
		}
	}
}
