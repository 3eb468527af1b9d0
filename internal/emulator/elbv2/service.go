package elbv2

import (
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// Service serves the operations of Elastic Load Balancing. The embedded types serve all operations except those on
// tags and quotas.
type Service struct {
	*core
	loadBalancers
	listeners
	targetGroups
	trustStores
}

// New returns the service for the state of an emulator.
func New(w *store.Store) *Service {
	c := &core{w}
	return &Service{c, loadBalancers{c}, listeners{c}, targetGroups{c}, trustStores{c}}
}

// core has the state that all resource types share.
type core struct{ w *store.Store }

// These types have the operations by subject. Rules and certificates belong to listeners, targets to target groups.
type (
	loadBalancers struct{ *core }
	listeners     struct{ *core }
	targetGroups  struct{ *core }
	trustStores   struct{ *core }
)

// state returns the load balancing state of the caller.
func (s *core) state(c *store.Call) *store.ELBState { return s.partition(c).ELB }

// partition returns the caller's account and region.
func (s *core) partition(c *store.Call) *store.Partition {
	if c.Partition != nil {
		return c.Partition
	}
	return s.w.Partition(c.Account, c.Region)
}

// newARN returns the ARN of a new resource of this service.
func newARN(p *store.Partition, resource string) string {
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

// text returns a pointer to s, or nil for an empty s, which is an absent member.
func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}
