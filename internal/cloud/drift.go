package cloud

import (
	"cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/drift"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// OnForeign has fn called with each stack of which others have changed something, as soon as that is
// read. fn must return at once and not call back.
func (c *Cloud) OnForeign(fn func(model.StackID)) { c.inv.Write(func() { c.inv.Foreign.Changed = fn }) }

// ReadRate is how many reading calls per second the rate limiter admits now to the load balancing
// service.
func (c *Cloud) ReadRate() float64 {
	return cmp.Or(c.client.Limits.Limiter.Rate(services.ELB, "DescribeLoadBalancers"), 50) // as AWS documents
}

// Checks are what there is to read again now.
func (c *Cloud) Checks() []drift.Check {
	return append(c.verifier.Checks(), c.accelerators.Checks()...)
}
