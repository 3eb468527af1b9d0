package cloud

import (
	"cmp"
	"context"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/drift"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
)

// SetDriftNotifier sets the notifier of changes that others make in AWS.
func (c *Cloud) SetDriftNotifier(n drift.Notifier) {
	c.inv.WithWriteLock(func() { c.inv.OutsideChanges.Notifier = n })
}

// ReadRate returns how many read calls per second to Elastic Load Balancing the rate limiter admits now.
func (c *Cloud) ReadRate() float64 {
	return cmp.Or(c.client.Limits.Limiter.Rate(services.ELB, "DescribeLoadBalancers"), 50) // the rate that AWS documents
}

// Checks returns the checks of all resources that may be read again now.
func (c *Cloud) Checks() []drift.Check {
	checks := append(c.verifier.Checks(), c.accelerators.Checks()...)
	for i, check := range checks {
		checks[i].Read = func(ctx context.Context) error { return check.Read(callerForDrift(ctx)) }
	}
	return checks
}
