package accelerators

import (
	"context"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// admitsGuest reports whether a stack is the guest in the region of the cluster, according to the tags of an accelerator.
// The guest owns the endpoint groups in that region.
func (c *Accelerators) admitsGuest(id model.StackID, tags map[string]string) bool {
	return naming.IsGuest(c.Config.Cluster, c.Config.Region, id, tags)
}

// ownsParts reports whether the cluster owns an accelerator or endpoint groups in it, according to its tags.
func (c *Accelerators) ownsParts(tags map[string]string) bool {
	_, isGuest := naming.GuestStack(c.Config.Cluster, c.Config.Region, tags)
	return isGuest || c.owns(tags)
}

// recordChangeForGuest records an outside change of an accelerator for its guest in the region of the cluster. It does nothing
// if the tags name no guest of this cluster. kind and id identify the changed resource.
func (c *Accelerators) recordChangeForGuest(tags map[string]string, kind plan.ResourceKind, id string) {
	if guest, ok := naming.GuestStack(c.Config.Cluster, c.Config.Region, tags); ok {
		c.inv.WithWriteLock(func() {
			c.inv.OutsideChanges.Record(naming.AcceleratorTrackingTags(c.Config.Cluster, c.Config.Region, guest), kind, id)
		})
	}
}

// addSharedAccelerator adds an accelerator of another owner to the observed state of a stack. If the stack is not a guest of
// the accelerator, it adds only the ARN and the tags.
func (c reader) addSharedAccelerator(ctx context.Context, id model.StackID, arn string, out *observed.Stack) error {
	// A run takes about durations.Recent and calls this function several times. Tags that were read in this period are not
	// read again.
	since := c.Config.Clock.Now().Add(-durations.Recent)
	listed := false
	c.WithLock(func() { listed = c.entries[arn] != nil })
	if !listed { // the accelerator may be too new for the cached list
		if err := c.refreshList(ctx, since); err != nil {
			return err
		}
	}
	if err := c.refreshTags(ctx, arn, since); err != nil {
		return err
	}
	admitted := false
	c.WithLock(func() {
		e := c.entries[arn]
		admitted = e != nil && c.admitsGuest(id, e.seen.Tags)
	})
	if admitted {
		if err := c.refreshParts(ctx, arn, since); err != nil {
			return err
		}
	}
	c.WithLock(func() {
		switch e := c.entries[arn]; {
		case e == nil:
		case admitted && c.admitsGuest(id, e.seen.Tags):
			seen := e.seen
			out.SharedAccelerator = &seen
		default:
			out.SharedAccelerator = &observed.Accelerator{ARN: arn, Tags: e.seen.Tags}
		}
	})
	return nil
}

// lookupEndpointGroup returns the ARN of the endpoint group that has address a in the plan. It returns an error if the ARN
// is unknown or the stack does not own the endpoint group.
func (w writer) lookupEndpointGroup(a plan.Address) (string, error) {
	return w.lookup(a, w.checkEndpointGroupOwner)
}

// checkEndpointGroupOwner returns an error unless an endpoint group is cached and the stack owns it.
func (w writer) checkEndpointGroupOwner(arn string) error {
	region := ""
	w.WithLock(func() {
		if e := w.entries[acceleratorARN(arn)]; e != nil {
			for _, l := range e.seen.Listeners {
				for _, g := range l.Groups {
					if g.ARN == arn {
						region = g.Region
					}
				}
			}
		}
	})
	if region == "" {
		return sdk.NewError(failure.Gone, arn, "the endpoint group no longer exists")
	}
	return w.checkRegionOwner(arn, region)
}

// checkRegionOwner returns an error unless the stack owns the endpoint groups of an accelerator in a region. arn is the ARN
// of the accelerator, or of one of its listeners or endpoint groups. A guest owns the endpoint groups in its region. The
// owner of the accelerator owns the endpoint groups in all regions without a guest.
func (w writer) checkRegionOwner(arn, region string) (err error) {
	w.WithLock(func() {
		e := w.entries[acceleratorARN(arn)]
		switch {
		case e == nil:
			err = sdk.NewError(failure.Gone, arn, "the accelerator no longer exists")
		case w.belongsToStack(w.id, e.seen.Tags):
			if guest := naming.GuestsInTags(e.seen.Tags)[region]; guest != "" {
				err = sdk.NewError(failure.Invalid, arn, "the endpoint groups in region %s belong to guest %s, so they are not changed", region, guest)
			}
		case region != w.Config.Region || !w.admitsGuest(w.id, e.seen.Tags):
			err = sdk.NewError(failure.Invalid, arn, "the tags of the accelerator do not permit %s to change the endpoint groups in region %s, so they are not changed", w.id, region)
		}
	})
	return err
}
