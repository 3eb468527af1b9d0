package dataplane

import (
	"context"
	"sync"
	"time"
)

// lifetime is a context that ends when end is called. The data plane, each of its UDP sockets and each health checker has
// a lifetime. It is the root context of work that does not belong to a request.
type lifetime struct {
	done chan struct{}
	once *sync.Once
}

func newLifetime() lifetime { return lifetime{done: make(chan struct{}), once: &sync.Once{}} }

func (l lifetime) end() { l.once.Do(func() { close(l.done) }) }

func (l lifetime) Deadline() (time.Time, bool) { return time.Time{}, false }
func (l lifetime) Done() <-chan struct{}       { return l.done }
func (l lifetime) Value(any) any               { return nil }

func (l lifetime) Err() error {
	select {
	case <-l.done:
		return context.Canceled
	default:
		return nil
	}
}
