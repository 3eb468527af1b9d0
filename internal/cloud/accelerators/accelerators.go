// Package accelerators is AWS Global Accelerator: what is known of accelerators, and the steps that change them. The service
// is in one region, whatever that of the cluster is, and only accelerators carry tags: whose a listener, an endpoint group or
// an endpoint is follows from its accelerator.
package accelerators

import (
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/observe"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Accelerators are the accelerators of the account, as far as they are known. It is safe for concurrent use.
type Accelerators struct {
	*sdk.Client
	inv    *inventory.Inventory // of load balancers, and of what others change
	reader *observe.Reader

	cache.Guard
	listedAt   time.Time
	all        map[string]*entry    // by ARN
	tombstones map[string]time.Time // of accelerators that were deleted from here
	ports      map[string]portsOf   // of load balancers that the cluster does not have, by ARN
}

// entry is what is known of an accelerator. Values that were handed out are never changed. A zero time means "not read, or
// not to be trusted".
type entry struct {
	seen          observed.Accelerator
	at, tagsAt    time.Time
	partsAt       time.Time // of all listeners with their endpoint groups
	made, written time.Time
	// groupsAt is when the endpoint groups of a listener were read for themselves.
	groupsAt map[string]time.Time
}

// New returns Accelerators of which nothing is read yet.
func New(at *sdk.Client, inv *inventory.Inventory, r *observe.Reader) *Accelerators {
	c := &Accelerators{Client: at, inv: inv, reader: r}
	c.Reset()
	return c
}

// Reset drops all that was read.
func (c *Accelerators) Reset() {
	c.With(func() {
		c.listedAt, c.all, c.tombstones, c.ports = time.Time{}, map[string]*entry{}, map[string]time.Time{}, map[string]portsOf{}
	})
}

// belongsToStack reports whether an accelerator is that of a stack.
func (c *Accelerators) belongsToStack(id model.StackID, tags map[string]string) bool {
	return naming.BelongsToAccelerator(c.Config.Cluster, c.Config.Region, id, tags)
}

// owns reports whether an accelerator is the cluster's.
func (c *Accelerators) owns(tags map[string]string) bool {
	return naming.OwnsAccelerator(c.Config.Cluster, c.Config.Region, tags)
}

// foreign notes that others have changed something of an accelerator of the cluster, or of one that the cluster has endpoint
// groups of.
func (c *Accelerators) foreign(tags map[string]string, kind plan.ResourceKind, id string) {
	c.foreignToOwner(tags, kind, id)
	c.foreignToGuest(tags, kind, id)
}

func (c *Accelerators) foreignToOwner(tags map[string]string, kind plan.ResourceKind, id string) {
	if c.owns(tags) {
		c.inv.Write(func() { c.inv.Foreign.Note(tags, kind, id) })
	}
}

// acceleratorOf returns the accelerator that an ARN is a part of.
func acceleratorOf(arn string) string {
	of, _, _ := strings.Cut(arn, "/listener/")
	return of
}

// edit changes a copy of what is known of an accelerator, which others may have; false if it is not known. The lock is
// held.
func (c *Accelerators) edit(arn string, change func(a *observed.Accelerator)) bool {
	e := c.all[arn]
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

// enterOwnChange enters a change that was made from here.
func (c *Accelerators) enterOwnChange(arn string, change func(a *observed.Accelerator)) {
	c.With(func() {
		if c.edit(arn, change) {
			c.all[arn].written = c.Config.Clock.Now()
		}
	})
}

// withPropagating marks an accelerator as one whose changes have not spread.
func withPropagating(change func(a *observed.Accelerator)) func(a *observed.Accelerator) {
	return func(a *observed.Accelerator) {
		change(a)
		a.State = observed.InProgress
	}
}

// endpointGroup changes an endpoint group of an accelerator.
func endpointGroup(arn string, change func(g *observed.EndpointGroup)) func(a *observed.Accelerator) {
	return withPropagating(func(a *observed.Accelerator) {
		for i := range a.Listeners {
			for j := range a.Listeners[i].Groups {
				if g := &a.Listeners[i].Groups[j]; g.ARN == arn {
					change(g)
				}
			}
		}
	})
}
