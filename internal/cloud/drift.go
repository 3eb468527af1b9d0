package cloud

import (
	"cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/drift"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
)

// NotifyOutside subscribes changes to what others change.
func (c *Cloud) NotifyOutside(changes drift.Changes) {
	c.inv.Write(func() { c.inv.Foreign.Changes = changes })
}

// ReadRate returns how many reading calls per second the rate limiter admits now to the load balancing
// service.
func (c *Cloud) ReadRate() float64 {
	return cmp.Or(c.client.Limits.Limiter.Rate(services.ELB, "DescribeLoadBalancers"), 50) // as AWS documents
}

// Checks returns what there is to read again now.
func (c *Cloud) Checks() []drift.Check {
	return append(c.verifier.Checks(), c.accelerators.Checks()...)
}
