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

// core gives the operations of all resource types access to the emulator state.
type core struct{ store *store.Store }

// These types group the operations by subject. Rules and certificates belong to listeners, targets to target groups.
type (
	loadBalancers struct{ *core }
	listeners     struct{ *core }
	targetGroups  struct{ *core }
	trustStores   struct{ *core }
)

// newARN returns the ARN of a new resource of this service.
func newARN(p *store.Partition, resource string) string {
	return p.ARN("elasticloadbalancing", resource)
}
