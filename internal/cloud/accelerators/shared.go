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

// admitsGuest reports whether tags let a stack have the endpoint groups of the region.
func (c *Accelerators) admitsGuest(id model.StackID, tags map[string]string) bool {
	return naming.IsGuest(c.Config.Cluster, c.Config.Region, id, tags)
}

// admitsAnyGuest reports whether tags let a stack of the cluster have the endpoint groups of the region.
func (c *Accelerators) admitsAnyGuest(tags map[string]string) bool {
	_, ok := naming.GuestStack(c.Config.Cluster, c.Config.Region, tags)
	return ok
}

// foreignToGuest notes a change for the stack of the cluster that has endpoint groups of an accelerator.
func (c *Accelerators) foreignToGuest(tags map[string]string, kind plan.ResourceKind, id string) {
	if of, ok := naming.GuestStack(c.Config.Cluster, c.Config.Region, tags); ok {
		c.inv.Write(func() {
			c.inv.Foreign.Note(naming.AcceleratorTracking(c.Config.Cluster, c.Config.Region, of), kind, id)
		})
	}
}

// shared adds an accelerator of another owner to what is observed of a stack. Without consent only its tags are read, and
// nothing else of it is reported.
func (c reading) shared(ctx context.Context, id model.StackID, arn string, out *observed.Stack) error {
	// About as old as a run takes, which asks several times: the consent is read in every run.
	since := c.Config.Clock.Now().Add(-durations.Recent)
	there := func() (ok bool) {
		c.With(func() { ok = c.all[arn] != nil })
		return ok
	}
	if !there() { // it may have been made a moment ago
		if err := c.list(ctx, since); err != nil {
			return err
		}
	}
	if err := c.tags(ctx, arn, since); err != nil {
		return err
	}
	admitted := false
	c.With(func() {
		e := c.all[arn]
		admitted = e != nil && c.admitsGuest(id, e.seen.Tags)
	})
	if admitted {
		if err := c.listenersAndGroups(ctx, arn, since); err != nil {
			return err
		}
	}
	c.With(func() {
		switch e := c.all[arn]; {
		case e == nil:
		case admitted && c.admitsGuest(id, e.seen.Tags):
			seen := e.seen
			out.Shared = &seen
		default:
			out.Shared = &observed.Accelerator{ARN: arn, Tags: e.seen.Tags}
		}
	})
	return nil
}

// lookupGroup finds the ARN of an endpoint group that is the stack's.
func (w writer) lookupGroup(a plan.Address) (string, error) {
	arn := w.known[a]
	if arn == "" {
		return "", notCreatedError(a)
	}
	return arn, w.checkGroupOwner(arn)
}

// checkGroupOwner returns an error unless an endpoint group is the stack's.
func (w writer) checkGroupOwner(arn string) error {
	region := ""
	w.With(func() {
		if e := w.all[acceleratorOf(arn)]; e != nil {
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
		return sdk.Failed(failure.Gone, arn, "the endpoint group is not there any more")
	}
	return w.checkRegionOwner(arn, region)
}

// checkRegionOwner returns an error unless the stack has the endpoint groups of a region under an accelerator, which an
// ARN is a part of: as its owner, those of all regions that no guest is named for, and as the guest of its region,
// those of that.
func (w writer) checkRegionOwner(arn, region string) (err error) {
	w.With(func() {
		e := w.all[acceleratorOf(arn)]
		switch {
		case e == nil:
			err = sdk.Failed(failure.Gone, arn, "the accelerator is not there any more")
		case w.belongsToStack(w.id, e.seen.Tags):
			if guest := naming.Guests(e.seen.Tags)[region]; guest != "" {
				err = sdk.Failed(failure.Invalid, arn, "endpoint groups of %s are those of guest %s, so they are left alone", region, guest)
			}
		case region != w.Config.Region || !w.admitsGuest(w.id, e.seen.Tags):
			err = sdk.Failed(failure.Invalid, arn, "the accelerator does not let %s have endpoint groups of %s, so they are left alone", w.id, region)
		}
	})
	return err
}
