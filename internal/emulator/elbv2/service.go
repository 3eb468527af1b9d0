package elbv2

import (
	"github.com/fulcrum-lb/fulcrum/internal/emulator/world"
)

// Service serves the operations.
type Service struct {
	w *world.World
}

// New returns the service of a world.
func New(w *world.World) *Service { return &Service{w: w} }

// state returns the load balancing state of the caller.
func (s *Service) state(c *world.Call) *world.ELBState { return s.partition(c).ELB }

// partition returns the caller's account and region.
func (s *Service) partition(c *world.Call) *world.Partition {
	if c.Partition != nil {
		return c.Partition
	}
	return s.w.Partition(c.Account, c.Region)
}

// newARN names a new resource of this service.
func newARN(p *world.Partition, resource string) string {
	return p.ARN("elasticloadbalancing", resource)
}

// ptr returns a pointer to a copy of v.
func ptr[T any](v T) *T { return &v }

// val returns what p points to, or the zero value.
func val[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// text returns a pointer to s, nil if s is empty: how an absent member is
// written.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
