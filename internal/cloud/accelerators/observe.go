package accelerators

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/observe"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Observe adds the accelerators of a stack to what is observed of it. The one that a status names is looked at first: with
// it, the tags of no other have to be read.
func (c *Accelerators) Observe(ctx context.Context, id model.StackID, questions []model.Question, out *observed.Stack) error {
	bound := observe.BoundIn(questions)
	recorded, since, shared := "", observe.Since(questions), ""
	for _, q := range questions {
		switch q := q.(type) {
		case model.AskAccelerator:
			recorded = cmp.Or(recorded, q.Recorded)
		case model.AskSharedAccelerator:
			shared = q.ARN
		case model.AskAcceleratorState:
			if acceleratorOf(q.ARN) == q.ARN && c.Config.Clock.Now().Add(-durations.Pending).After(since) {
				since = c.Config.Clock.Now().Add(-durations.Pending)
			}
		}
	}
	if c.hasAccelerator(id) && bound.Since.After(since) {
		since = bound.Since
	}
	if err := (reading{c}).list(ctx, since); err != nil {
		return err
	}
	of, err := c.find(ctx, id, recorded, bound.TagsSince)
	if err != nil {
		return err
	}
	for _, arn := range of {
		if err := (reading{c}).listenersAndGroups(ctx, arn, bound.Since); err != nil {
			return err
		}
	}
	for _, q := range questions {
		if q, ok := q.(model.AskAcceleratorState); ok && acceleratorOf(q.ARN) != q.ARN {
			if err := (reading{c}).health(ctx, q); err != nil {
				return err
			}
		}
	}
	if shared != "" {
		if err := (reading{c}).shared(ctx, id, shared, out); err != nil {
			return err
		}
	}
	c.With(func() {
		for _, arn := range of {
			if e := c.all[arn]; e != nil && c.belongsToStack(id, e.seen.Tags) {
				out.Accelerators = append(out.Accelerators, e.seen)
			}
		}
		switch e := c.all[recorded]; {
		case recorded == "":
		case e == nil:
			out.Facts.Recorded = observed.RecordedGone
		case c.belongsToStack(id, e.seen.Tags):
			out.Facts.Recorded = observed.RecordedOwn
		default:
			out.Facts.Recorded = observed.RecordedForeign
		}
	})
	return nil
}

// hasAccelerator reports whether a stack has an accelerator, as far as is known.
func (c *Accelerators) hasAccelerator(id model.StackID) (ok bool) {
	c.With(func() {
		for _, e := range c.all {
			ok = ok || c.belongsToStack(id, e.seen.Tags) && c.Config.Clock.Now().Sub(e.written) > 0
		}
	})
	return ok
}

// find returns the accelerators of a stack by their tags.
func (c *Accelerators) find(ctx context.Context, id model.StackID, recorded string, tagsSince time.Time) ([]string, error) {
	own := func(arn string) (is bool) {
		c.With(func() { e := c.all[arn]; is = e != nil && c.belongsToStack(id, e.seen.Tags) })
		return is
	}
	if recorded != "" {
		if err := (reading{c}).tags(ctx, recorded, tagsSince); err != nil {
			return nil, err
		}
		if own(recorded) {
			return []string{recorded}, nil
		}
	}
	var arns, out []string
	c.With(func() {
		for arn := range c.all {
			arns = append(arns, arn)
		}
	})
	slices.Sort(arns)
	for _, arn := range arns {
		since := time.Time{}
		if own(arn) {
			since = tagsSince
		}
		if err := (reading{c}).tags(ctx, arn, since); err != nil {
			return nil, err
		}
		if own(arn) {
			out = append(out, arn)
		}
	}
	return out, nil
}

// Distrust makes all of a stack's accelerators be read again, after AWS has reported that something of them does not
// exist. It reports whether one was made a moment ago.
func (c *Accelerators) Distrust(id model.StackID) (young bool) {
	c.With(func() {
		c.listedAt = time.Time{}
		for _, e := range c.all {
			if c.belongsToStack(id, e.seen.Tags) || c.admitsGuest(id, e.seen.Tags) {
				young = young || c.Younger(e.made, durations.Settle)
				e.partsAt, e.written = time.Time{}, time.Time{}
			}
		}
	})
	return young
}

// Owned returns the accelerators of the cluster by the stacks that their tags name. Tags that were never read are read.
func (c *Accelerators) Owned(ctx context.Context) (map[model.StackID][]string, error) {
	if err := (reading{c}).list(ctx, time.Time{}); err != nil {
		return nil, err
	}
	var arns []string
	c.With(func() {
		for arn := range c.all {
			arns = append(arns, arn)
		}
	})
	slices.Sort(arns)
	out := map[model.StackID][]string{}
	for _, arn := range arns {
		if err := (reading{c}).tags(ctx, arn, time.Time{}); err != nil {
			return nil, err
		}
		c.With(func() {
			if e := c.all[arn]; e != nil && c.owns(e.seen.Tags) {
				if id, ok := stackOf(e.seen.Tags); ok {
					out[id] = append(out[id], arn)
				}
			}
		})
	}
	return out, nil
}

// WithEndpoint returns the accelerators of the cluster, and those that it has endpoint groups of, that have an endpoint.
func (c *Accelerators) WithEndpoint(endpoint string) (out []string) {
	c.With(func() {
		for arn, e := range c.all {
			if !c.owns(e.seen.Tags) && !c.admitsAnyGuest(e.seen.Tags) {
				continue
			}
			has := slices.ContainsFunc(e.seen.Listeners, func(l observed.AcceleratorListener) bool {
				return slices.ContainsFunc(l.Groups, func(g observed.EndpointGroup) bool { return g.Endpoint(endpoint) != nil })
			})
			if has {
				out = append(out, arn)
			}
		}
	})
	slices.SortFunc(out, strings.Compare)
	return out
}
