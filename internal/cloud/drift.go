package cloud

import (
	"cmp"
	"context"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/drift"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
)

// SetDriftNotifier sets the notifier that is called when a change in AWS is found that the controller did not make.
func (c *Cloud) SetDriftNotifier(n drift.Notifier) {
	c.inv.WithWriteLock(func() { c.inv.OutsideChanges.Notifier = n })
}

// ReadRate returns how many describe calls per second to Elastic Load Balancing the rate limiter currently admits, or 50 if
// it has no limit for them.
func (c *Cloud) ReadRate() float64 {
	return cmp.Or(c.client.Limits.Limiter.Rate(services.ELB, "DescribeLoadBalancers"), 50) // the rate that AWS documents
}

// Checks returns the drift checks of all resources that may be read again now. Their calls have the caller of
// callerForDrift.
func (c *Cloud) Checks() []drift.Check {
	checks := append(c.verifier.Checks(), c.accelerators.Checks()...)
	for i, check := range checks {
		checks[i].Read = func(ctx context.Context) error { return check.Read(callerForDrift(ctx)) }
	}
	return checks
}
