package accelerators

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/observe"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Observe answers the questions about accelerators, and adds the accelerators of a stack to its observed state. If the ARN
// in the status of the GlobalAccelerator belongs to the stack, the tags of other accelerators are not read.
func (c *Accelerators) Observe(ctx context.Context, id model.StackID, questions []model.Question, out *observed.Stack) error {
	bound := observe.ComparisonIn(questions)
	recorded, since, shared := "", observe.ListsSince(questions), ""
	for _, q := range questions {
		switch q := q.(type) {
		case model.AskAccelerator:
			recorded = cmp.Or(recorded, q.Recorded)
		case model.AskSharedAccelerator:
			shared = q.ARN
		case model.AskAcceleratorState:
			if acceleratorARN(q.ARN) == q.ARN && c.Config.Clock.Now().Add(-durations.PendingOperationAge).After(since) {
				since = c.Config.Clock.Now().Add(-durations.PendingOperationAge)
			}
		}
	}
	if bound.Since.After(since) && len(c.arnsOf(func(e *cachedAccelerator) bool { return c.belongsToStack(id, e.seen.Tags) })) > 0 {
		since = bound.Since
	}
	if err := (reader{c}).refreshList(ctx, since); err != nil {
		return err
	}
	of, err := c.findOwnAccelerators(ctx, id, recorded, bound.TagsSince)
	if err != nil {
		return err
	}
	for _, arn := range of {
		if err := (reader{c}).refreshParts(ctx, arn, bound.Since); err != nil {
			return err
		}
	}
	for _, q := range questions {
		if q, ok := q.(model.AskAcceleratorState); ok && acceleratorARN(q.ARN) != q.ARN {
			if err := (reader{c}).refreshHealth(ctx, q); err != nil {
				return err
			}
		}
	}
	if shared != "" {
		if err := (reader{c}).addSharedAccelerator(ctx, id, shared, out); err != nil {
			return err
		}
	}
	c.WithLock(func() {
		for _, arn := range of {
			if e := c.entries[arn]; e != nil && c.belongsToStack(id, e.seen.Tags) {
				out.Accelerators = append(out.Accelerators, e.seen)
			}
		}
		switch e := c.entries[recorded]; {
		case recorded == "":
		case e == nil:
			out.Facts.RecordedAccelerator = observed.RecordedMissing
		case c.belongsToStack(id, e.seen.Tags):
			out.Facts.RecordedAccelerator = observed.RecordedOwn
		default:
			out.Facts.RecordedAccelerator = observed.RecordedNotOwned
		}
	})
	return nil
}

// findOwnAccelerators returns the ARNs of the accelerators that belong to a stack according to their tags. recorded is the
// ARN in the status of the object, or "" if the status has none. If that accelerator belongs to the stack, it is the only
// result. Tags of the accelerators of the stack are read again if they were read before tagsSince.
func (c *Accelerators) findOwnAccelerators(ctx context.Context, id model.StackID, recorded string, tagsSince time.Time) ([]string, error) {
	own := func(arn string) (ok bool) {
		c.WithLock(func() { e := c.entries[arn]; ok = e != nil && c.belongsToStack(id, e.seen.Tags) })
		return ok
	}
	if recorded != "" {
		if err := (reader{c}).refreshTags(ctx, recorded, tagsSince); err != nil {
			return nil, err
		}
		if own(recorded) {
			return []string{recorded}, nil
		}
	}
	var out []string
	for _, arn := range c.arnsOf(func(*cachedAccelerator) bool { return true }) {
		since := time.Time{}
		if own(arn) {
			since = tagsSince
		}
		if err := (reader{c}).refreshTags(ctx, arn, since); err != nil {
			return nil, err
		}
		if own(arn) {
			out = append(out, arn)
		}
	}
	return out, nil
}

// Invalidate makes the next run read the list of accelerators again, and the listeners of all accelerators in which a stack
// owns resources. It is called after AWS has reported that one of these resources does not exist. It reports whether this
// process created one of the accelerators within the settle window.
func (c *Accelerators) Invalidate(id model.StackID) (recentlyCreated bool) {
	c.WithLock(func() {
		c.listedAt = time.Time{}
		for _, e := range c.entries {
			if c.belongsToStack(id, e.seen.Tags) || c.admitsGuest(id, e.seen.Tags) {
				recentlyCreated = recentlyCreated || c.IsYounger(e.createdAt, durations.SettleWindow)
				e.partsAt, e.changedAt = time.Time{}, time.Time{}
			}
		}
	})
	return recentlyCreated
}

// OwnedAccelerators returns the ARNs of the accelerators that the cluster owns, by the stack that is named in their tags. It
// reads tags that were never read.
func (c *Accelerators) OwnedAccelerators(ctx context.Context) (map[model.StackID][]string, error) {
	if err := (reader{c}).refreshList(ctx, time.Time{}); err != nil {
		return nil, err
	}
	out := map[model.StackID][]string{}
	for _, arn := range c.arnsOf(func(*cachedAccelerator) bool { return true }) {
		if err := (reader{c}).refreshTags(ctx, arn, time.Time{}); err != nil {
			return nil, err
		}
		c.WithLock(func() {
			if e := c.entries[arn]; e != nil && c.owns(e.seen.Tags) {
				if id, ok := stackFromTags(e.seen.Tags); ok {
					out[id] = append(out[id], arn)
				}
			}
		})
	}
	return out, nil
}

// AcceleratorsWithEndpoint returns the ARNs of the accelerators that have the given endpoint ID, sorted. It considers only
// accelerators that the cluster owns, or in which it owns endpoint groups. It reads the accelerators that this process has
// not read yet. If that fails, it returns the error and the ARNs of the accelerators that are known.
func (c *Accelerators) AcceleratorsWithEndpoint(ctx context.Context, endpoint string) (out []string, err error) {
	err = c.ReadOptional(ctx, "endpoints of accelerators", func() error { return c.readUnknownParts(sdk.WithOptional(ctx)) })
	out = c.arnsOf(func(e *cachedAccelerator) bool {
		return c.ownsParts(e.seen.Tags) && slices.ContainsFunc(e.seen.Listeners, func(l observed.AcceleratorListener) bool {
			return slices.ContainsFunc(l.Groups, func(g observed.EndpointGroup) bool { return g.Endpoint(endpoint) != nil })
		})
	})
	return out, err
}

// arnsOf returns the ARNs of the cached accelerators that meet a condition, sorted.
func (c *Accelerators) arnsOf(condition func(*cachedAccelerator) bool) (out []string) {
	c.WithLock(func() {
		for arn, e := range c.entries {
			if condition(e) {
				out = append(out, arn)
			}
		}
	})
	slices.Sort(out)
	return out
}

// readUnknownParts reads the listeners of the accelerators in which the cluster owns endpoint groups, if they were never read.
func (c *Accelerators) readUnknownParts(ctx context.Context) error {
	if _, err := c.OwnedAccelerators(ctx); err != nil { // reads the list and the tags
		return err
	}
	for _, arn := range c.arnsOf(func(e *cachedAccelerator) bool { return e.partsAt.IsZero() && c.ownsParts(e.seen.Tags) }) {
		err := (reader{c}).refreshParts(ctx, arn, time.Time{})
		for range 2 {
			if sdk.IsGone(err) { // a listener or an endpoint group was deleted during the read, or the accelerator does not exist any more
				err = (reader{c}).refreshParts(ctx, arn, time.Time{})
			}
		}
		if err := sdk.IgnoreGone(err); err != nil {
			return err
		}
	}
	return nil
}
