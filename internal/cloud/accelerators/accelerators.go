// Package accelerators reads and changes the accelerators of AWS Global Accelerator. AWS serves this API only in region
// us-west-2, also for clusters in other regions. Only accelerators have tags. The tags name the owner of the accelerator and
// of its listeners, endpoint groups and endpoints. The tags can also name guests: stacks that own the endpoint groups of
// their region in the accelerator of another owner.
package accelerators

import (
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Accelerators caches the accelerators of the account, and changes those that belong to the cluster. It is safe for
// concurrent use.
type Accelerators struct {
	*sdk.Client
	inv   *inventory.Inventory             // load balancers, and changes that the controller did not make
	ports *sdk.Answers[map[string][]int32] // ports by protocol, of load balancers whose listeners are not in the inventory

	cache.Guard
	listedAt   time.Time
	entries    map[string]*cachedAccelerator // by ARN
	tombstones map[string]time.Time          // times at which this process deleted accelerators, by ARN
}

// cachedAccelerator is the cached state of an accelerator. Values that were returned to callers are never modified in place.
// A zero time means that the value was never read or may be outdated.
type cachedAccelerator struct {
	seen                 observed.Accelerator
	readAt, tagsAt       time.Time
	partsAt              time.Time // when all listeners and their endpoint groups were read
	createdAt, changedAt time.Time // when this process created and last changed it
	// groupsAt has the times at which the endpoint groups of a single listener were read, by ARN of the listener.
	groupsAt map[string]time.Time
}

// New returns an Accelerators with an empty cache.
func New(client *sdk.Client, inv *inventory.Inventory) *Accelerators {
	c := &Accelerators{Client: client, inv: inv, ports: sdk.NewAnswers[map[string][]int32](client)}
	c.Reset()
	return c
}

// Reset empties the cache, so that the next run reads all accelerators from AWS.
func (c *Accelerators) Reset() {
	c.ports.Expire()
	c.WithLock(func() {
		c.listedAt, c.entries, c.tombstones = time.Time{}, map[string]*cachedAccelerator{}, map[string]time.Time{}
	})
}

// belongsToStack reports whether an accelerator with these tags belongs to a stack.
func (c *Accelerators) belongsToStack(id model.StackID, tags map[string]string) bool {
	return naming.IsAcceleratorOfStack(c.Config.Cluster, c.Config.Region, id, tags)
}

// owns reports whether an accelerator with these tags belongs to the cluster.
func (c *Accelerators) owns(tags map[string]string) bool {
	return naming.IsAcceleratorOfCluster(c.Config.Cluster, c.Config.Region, tags)
}

// recordOutsideChange records a change of an accelerator that the controller did not make, for the stacks of the cluster that
// own the accelerator or endpoint groups in it. tags are the tags of the accelerator; kind and id name the changed resource.
func (c *Accelerators) recordOutsideChange(tags map[string]string, kind plan.ResourceKind, id string) {
	c.recordChangeForOwner(tags, kind, id)
	c.recordChangeForGuest(tags, kind, id)
}

// recordChangeForOwner records a change of an accelerator for the stack that owns the accelerator. It does nothing if that
// stack is in another cluster.
func (c *Accelerators) recordChangeForOwner(tags map[string]string, kind plan.ResourceKind, id string) {
	if c.owns(tags) {
		c.inv.WithWriteLock(func() { c.inv.OutsideChanges.Record(tags, kind, id) })
	}
}

// acceleratorARN returns the ARN of an accelerator. arn is the ARN of the accelerator, or of one of its listeners or
// endpoint groups.
func acceleratorARN(arn string) string {
	accelerator, _, _ := strings.Cut(arn, "/listener/")
	return accelerator
}

// editCached replaces the cached state of an accelerator by a copy that change has edited, because callers may still use the
// previous state. It reports whether the accelerator is cached. The caller must hold the lock.
func (c *Accelerators) editCached(arn string, change func(a *observed.Accelerator)) bool {
	e := c.entries[arn]
	if e == nil {
		return false
	}
	a := e.seen
	a.Listeners = slices.Clone(a.Listeners)
	for i := range a.Listeners {
		a.Listeners[i].Groups = slices.Clone(a.Listeners[i].Groups)
		for j := range a.Listeners[i].Groups {
			g := &a.Listeners[i].Groups[j]
			g.Endpoints, g.Overrides = slices.Clone(g.Endpoints), slices.Clone(g.Overrides)
		}
	}
	change(&a)
	e.seen = a
	return true
}

// cacheOwnChange updates the cached state of an accelerator after this process has changed it.
func (c *Accelerators) cacheOwnChange(arn string, change func(a *observed.Accelerator)) {
	c.WithLock(func() {
		if c.editCached(arn, change) {
			c.entries[arn].changedAt = c.Config.Clock.Now()
		}
	})
}

// withInProgressState returns a change that also sets the state of the accelerator to IN_PROGRESS, which AWS shows until the
// change has propagated.
func withInProgressState(change func(a *observed.Accelerator)) func(a *observed.Accelerator) {
	return func(a *observed.Accelerator) {
		change(a)
		a.State = observed.AcceleratorInProgress
	}
}

// endpointGroupChange returns a change of an accelerator that applies change to the endpoint group with the given ARN.
func endpointGroupChange(arn string, change func(g *observed.EndpointGroup)) func(a *observed.Accelerator) {
	return withInProgressState(func(a *observed.Accelerator) {
		for i := range a.Listeners {
			for j := range a.Listeners[i].Groups {
				if g := &a.Listeners[i].Groups[j]; g.ARN == arn {
					change(g)
				}
			}
		}
	})
}
