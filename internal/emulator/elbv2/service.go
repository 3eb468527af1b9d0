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

// core contains the emulator state, which the operations of all resource types use.
type core struct{ store *store.Store }

// These types group the operations by resource type. Operations on rules and certificates are methods of listeners, those on
// targets are methods of targetGroups.
type (
	loadBalancers struct{ *core }
	listeners     struct{ *core }
	targetGroups  struct{ *core }
	trustStores   struct{ *core }
)

// newARN returns an ARN of this service in the account and region of p. resource is the part after the account.
func newARN(p *store.Partition, resource string) string {
	return p.ARN("elasticloadbalancing", resource)
}
