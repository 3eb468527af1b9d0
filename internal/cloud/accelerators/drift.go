package accelerators

import (
	"context"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/drift"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
)

// Checks returns one drift check for each accelerator that the cluster owns or in which it owns endpoint groups, and one for
// the list of all accelerators. It leaves out accelerators that are within the settle window, and those whose listeners were
// never read. It returns nil if the accelerators were never listed.
func (c *Accelerators) Checks() []drift.Check {
	var out []drift.Check
	now := c.Config.Clock.Now()
	c.WithLock(func() {
		if c.listedAt.IsZero() {
			return
		}
		own := 0
		for arn, e := range c.entries {
			if !c.ownsParts(e.seen.Tags) {
				continue
			}
			own++
			if e.partsAt.IsZero() || !cache.IsSettled(now, e.createdAt, e.changedAt) {
				continue
			}
			out = append(out, drift.Check{Key: "accelerator " + arn, Period: durations.RareDriftPeriod, LastReadAt: e.partsAt, Read: func(ctx context.Context) error { return c.readTagsAndParts(ctx, arn) }})
		}
		if own > 0 {
			out = append(out, drift.Check{Key: "accelerators", Period: durations.FrequentDriftPeriod, LastReadAt: c.listedAt, Read: func(ctx context.Context) error {
				return c.ReadEssential(ctx, "accelerators", func() error { return reader{c}.readList(ctx) })
			}})
		}
	})
	return out
}

// readTagsAndParts reads the tags of an accelerator, and its listeners with their endpoint groups.
func (c *Accelerators) readTagsAndParts(ctx context.Context, arn string) error {
	return c.ReadEssential(ctx, "parts of "+arn, func() error {
		if err := (reader{c}).readTags(ctx, arn); err != nil {
			return err
		}
		return reader{c}.readParts(ctx, arn)
	})
}
