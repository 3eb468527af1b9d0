package dataplane

import (
	"context"
	"errors"
	"sync"
)

// Causes with which the data plane ends requests, connections and flows.
var (
	errPlaneClosed   = errors.New("the data plane was closed")
	errTargetRemoved = errors.New("the target was removed while it handled the request")
	// errTargetUnhealthy is used only for connections through a Network Load Balancer.
	errTargetUnhealthy = errors.New("the target became unhealthy")
)

// calls contains the requests, connections and flows that targets are handling.
type calls struct {
	mu     sync.Mutex
	active map[*call]struct{}
}

type call struct {
	target *target
	cancel context.CancelCauseFunc
}

// begin registers a request, connection or flow to target t. The returned context ends when the target is removed or the
// data plane is closed. The caller calls end when the request, connection or flow has ended.
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

// cancel ends the calls to target t, or all calls if t is nil. cause becomes the cause of their contexts.
func (c *calls) cancel(cause error, t *target) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for open := range c.active {
		if t == nil || open.target == t {
			open.cancel(cause)
		}
	}
}
