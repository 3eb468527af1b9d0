package accelerators

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// pageSize is the number of results per page. It is the maximum that AWS accepts.
const pageSize = 100

// reader reads accelerators from AWS into the cache.
type reader struct{ *Accelerators }

// refreshList reads the list of all accelerators of the account, unless the cached list is fresh and was not read before the
// time since.
func (c reader) refreshList(ctx context.Context, since time.Time) error {
	known := func() (ok bool) {
		c.WithLock(func() { ok = c.IsCurrent(c.listedAt, since, "accelerators") })
		return ok
	}
	err := sdk.ReadOnce(ctx, c.ReadEssential, "accelerators", known, func() error { return c.readList(ctx) })
	if err != nil {
		return fmt.Errorf("list accelerators: %w", err)
	}
	return nil
}

func (c reader) readList(ctx context.Context) error {
	start := c.Config.Clock.Now()
	seen := map[string]observed.Accelerator{}
	for page, err := range sdk.Pages(ctx, ga.NewListAcceleratorsPaginator(c.API.Accelerators, &ga.ListAcceleratorsInput{MaxResults: aws.Int32(pageSize)})) {
		if err != nil {
			return err
		}
		for _, a := range page.Accelerators {
			x := acceleratorFromAWS(a)
			seen[x.ARN] = x
		}
	}
	var changed, gone []observed.Accelerator
	c.WithLock(func() {
		for arn, x := range seen {
			e := c.entries[arn]
			switch {
			case c.wasRecentlyDeleted(arn, start):
			case e == nil:
				c.entries[arn] = &cachedAccelerator{seen: x, readAt: start, groupsAt: map[string]time.Time{}}
			case !e.changedAt.After(start):
				previous := e.seen
				if cache.IsSettled(start, e.createdAt, e.changedAt) && (previous.Name != x.Name || previous.Enabled != x.Enabled || previous.AddressType != x.AddressType) {
					changed = append(changed, previous)
				}
				x.Tags, x.Listeners = previous.Tags, previous.Listeners
				e.seen, e.readAt = x, start
			}
		}
		for arn, e := range c.entries {
			if _, ok := seen[arn]; !ok && start.Sub(e.createdAt) > durations.SettleWindow {
				gone = append(gone, e.seen)
				delete(c.entries, arn)
			}
		}
		c.listedAt = start
	})
	for _, a := range slices.Concat(changed, gone) {
		c.recordOutsideChange(a.Tags, plan.Accelerator, a.ARN)
	}
	return nil
}

// wasRecentlyDeleted reports whether this process deleted an accelerator at most one settle window before now. The caller
// holds the lock.
func (c reader) wasRecentlyDeleted(arn string, now time.Time) bool {
	at, ok := c.tombstones[arn]
	return ok && now.Sub(at) <= durations.SettleWindow
}

// refreshTags reads the tags of an accelerator, unless they were read at or after the time since. The tags of an accelerator
// that the cluster does not own are also read again after durations.CacheRetention.
func (c reader) refreshTags(ctx context.Context, arn string, since time.Time) error {
	known := func() (ok bool) {
		c.WithLock(func() {
			e := c.entries[arn]
			ok = e == nil || !e.tagsAt.IsZero() && !e.tagsAt.Before(since) && (c.owns(e.seen.Tags) || c.IsYounger(e.tagsAt, durations.CacheRetention))
		})
		return ok
	}
	err := sdk.ReadOnce(ctx, c.ReadEssential, "tags of "+arn, known, func() error { return c.readTags(ctx, arn) })
	if err != nil {
		return fmt.Errorf("read the tags of an accelerator: %w", err)
	}
	return nil
}

func (c reader) readTags(ctx context.Context, arn string) error {
	start := c.Config.Clock.Now()
	out, err := c.API.Accelerators.ListTagsForResource(ctx, &ga.ListTagsForResourceInput{ResourceArn: aws.String(arn)})
	if sdk.IsGone(err) {
		c.forgetAccelerator(arn)
		return nil
	}
	if err != nil {
		return err
	}
	tags := map[string]string{}
	for _, t := range out.Tags {
		tags[aws.ToString(t.Key)] = aws.ToString(t.Value)
	}
	var previous map[string]string
	c.WithLock(func() {
		e := c.entries[arn]
		if e == nil || e.changedAt.After(start) {
			return
		}
		if !e.tagsAt.IsZero() && cache.IsSettled(start, e.createdAt, e.changedAt) && !maps.Equal(tags, e.seen.Tags) {
			previous = e.seen.Tags
		}
		e.seen.Tags, e.tagsAt = tags, start
	})
	if previous != nil {
		c.recordOutsideChange(previous, plan.Accelerator, arn)
	}
	return nil
}

// forgetAccelerator removes an accelerator from the cache after AWS has reported that it does not exist, and records an
// outside change. It does nothing if this process created the accelerator within the settle window.
func (c reader) forgetAccelerator(arn string) {
	var tags map[string]string
	c.WithLock(func() {
		if e := c.entries[arn]; e != nil && cache.IsSettled(c.Config.Clock.Now(), e.createdAt) {
			tags = e.seen.Tags
			delete(c.entries, arn)
		}
	})
	if tags != nil {
		c.recordOutsideChange(tags, plan.Accelerator, arn)
	}
}

// refreshParts reads the listeners of an accelerator with their endpoint groups, unless they were read, or changed by this
// process, at or after the time since.
func (c reader) refreshParts(ctx context.Context, arn string, since time.Time) error {
	known := func() (ok bool) {
		c.WithLock(func() {
			e := c.entries[arn]
			ok = e == nil || !e.partsAt.IsZero() && (!e.partsAt.Before(since) || !e.changedAt.Before(since))
		})
		return ok
	}
	err := sdk.ReadOnce(ctx, c.ReadEssential, "parts of "+arn, known, func() error { return c.readParts(ctx, arn) })
	if err != nil {
		return fmt.Errorf("read the listeners of an accelerator: %w", err)
	}
	return nil
}

func (c reader) readParts(ctx context.Context, arn string) error {
	start := c.Config.Clock.Now()
	var list []observed.AcceleratorListener
	for page, err := range sdk.Pages(ctx, ga.NewListListenersPaginator(c.API.Accelerators, &ga.ListListenersInput{AcceleratorArn: aws.String(arn), MaxResults: aws.Int32(pageSize)})) {
		if sdk.IsGone(err) {
			c.forgetAccelerator(arn)
			return nil
		}
		if err != nil {
			return err
		}
		for _, l := range page.Listeners {
			list = append(list, listenerFromAWS(l))
		}
	}
	slices.SortFunc(list, func(a, b observed.AcceleratorListener) int { return strings.Compare(a.ARN, b.ARN) })
	for i := range list {
		groups, err := c.describeEndpointGroups(ctx, list[i].ARN)
		if err != nil {
			return err
		}
		list[i].Groups = groups
	}
	var previous []observed.AcceleratorListener
	var tags map[string]string
	comparable := false
	c.WithLock(func() {
		e := c.entries[arn]
		if e == nil || e.changedAt.After(start) {
			return
		}
		if tags = e.seen.Tags; !e.partsAt.IsZero() && cache.IsSettled(start, e.createdAt, e.changedAt) {
			previous, comparable = e.seen.Listeners, true
		}
		e.seen.Listeners, e.partsAt = list, start
		for _, l := range list {
			e.groupsAt[l.ARN] = start
		}
	})
	if !comparable {
		return nil
	}
	guests := naming.GuestsInTags(tags)
	for _, k := range changedKinds(previous, list, func(region string) bool { return guests[region] == "" }) {
		c.recordChangeForOwner(tags, k, arn)
	}
	for _, k := range changedKinds(previous, list, func(region string) bool { return region == c.Config.Region }) {
		c.recordChangeForGuest(tags, k, arn)
	}
	return nil
}

// changedKinds compares two readings of the listeners of an accelerator, and returns the kinds of resources that differ. It
// considers only the endpoint groups in regions for which includes returns true, and ignores the health of endpoints.
func changedKinds(previous, current []observed.AcceleratorListener, includes func(region string) bool) (out []plan.ResourceKind) {
	type parts struct {
		listeners []observed.AcceleratorListener
		groups    []observed.EndpointGroup
	}
	split := func(list []observed.AcceleratorListener) (out parts) {
		for _, l := range list {
			for _, g := range l.Groups {
				if !includes(g.Region) {
					continue
				}
				g.Endpoints = slices.Clone(g.Endpoints)
				for i := range g.Endpoints {
					g.Endpoints[i].Health = ""
				}
				out.groups = append(out.groups, g)
			}
			l.Groups = nil
			out.listeners = append(out.listeners, l)
		}
		return out
	}
	a, b := split(previous), split(current)
	if !equality.Semantic.DeepEqual(a.listeners, b.listeners) {
		out = append(out, plan.AcceleratorListener)
	}
	if !equality.Semantic.DeepEqual(a.groups, b.groups) {
		out = append(out, plan.EndpointGroup)
	}
	return out
}

func (c reader) describeEndpointGroups(ctx context.Context, listener string) ([]observed.EndpointGroup, error) {
	var out []observed.EndpointGroup
	for page, err := range sdk.Pages(ctx, ga.NewListEndpointGroupsPaginator(c.API.Accelerators, &ga.ListEndpointGroupsInput{ListenerArn: aws.String(listener), MaxResults: aws.Int32(pageSize)})) {
		if err != nil {
			return nil, err
		}
		for _, g := range page.EndpointGroups {
			out = append(out, endpointGroupFromAWS(g))
		}
	}
	slices.SortFunc(out, func(a, b observed.EndpointGroup) int { return strings.Compare(a.Region, b.Region) })
	return out, nil
}

// refreshHealth reads the endpoint groups of listener q.ARN with the health of their endpoints, unless they were read within
// durations.Recent, or within durations.Moment if q.Now is set.
func (c reader) refreshHealth(ctx context.Context, q model.AskAcceleratorState) error {
	listener, age := q.ARN, durations.Recent
	if q.Now {
		age = durations.Moment
	}
	known := func() (ok bool) {
		c.WithLock(func() {
			e := c.entries[acceleratorARN(listener)]
			ok = e == nil || c.IsYounger(e.groupsAt[listener], age)
		})
		return ok
	}
	return sdk.ReadOnce(ctx, c.ReadEssential, "endpoint groups of "+listener, known, func() error {
		start := c.Config.Clock.Now()
		groups, err := c.describeEndpointGroups(ctx, listener)
		if err != nil {
			return err
		}
		c.WithLock(func() {
			e := c.entries[acceleratorARN(listener)]
			if e == nil || e.changedAt.After(start) {
				return
			}
			e.groupsAt[listener] = start
			c.editCached(e.seen.ARN, func(a *observed.Accelerator) {
				for i := range a.Listeners {
					if a.Listeners[i].ARN == listener {
						a.Listeners[i].Groups = groups
					}
				}
			})
		})
		return nil
	})
}
