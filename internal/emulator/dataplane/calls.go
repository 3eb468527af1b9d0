package dataplane

import (
	"context"
	"errors"
	"sync"
)

// Reasons for which the data plane itself ends a request.
var (
	errPlaneClosed   = errors.New("the data plane was closed")
	errTargetRemoved = errors.New("the target was removed while it handled the request")
	// errTargetUnhealthy ends the connections of a Network Load Balancer only.
	errTargetUnhealthy = errors.New("the target became unhealthy")
)

// calls are the requests, connections and flows that targets are handling.
type calls struct {
	mu     sync.Mutex
	active map[*call]struct{}
}

type call struct {
	target *target
	cancel context.CancelCauseFunc
}

// begin registers a request; its context ends when the target is removed or the data plane is closed. The caller
// calls end after the request.
func (c *calls) begin(ctx context.Context, t *target) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	begun := &call{target: t, cancel: cancel}
	t.inflightRequests.Add(1)
	c.mu.Lock()
	if c.active == nil {
		c.active = map[*call]struct{}{}
	}
	c.active[begun] = struct{}{}
	c.mu.Unlock()
	return ctx, func() {
		t.inflightRequests.Add(-1)
		c.mu.Lock()
		delete(c.active, begun)
		c.mu.Unlock()
		cancel(nil)
	}
}

// cancel ends the calls to a target, or all calls if it is nil.
func (c *calls) cancel(cause error, t *target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for open := range c.active {
		if t == nil || open.target == t {
			open.cancel(cause)
		}
	}
}
