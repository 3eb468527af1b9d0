package observe

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/drift"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// NewVerifier returns a Verifier of the resources in the inventory of a Reader.
func NewVerifier(r *Reader) *Verifier { return &Verifier{Reader: r} }

// Verifier reads resources again from time to time, to find outside changes. It reads only resources in the inventory,
// because an outside change is found by comparison with the result of the previous read.
type Verifier struct {
	*Reader

	// Guard guards lastVerified, the last resource whose tags were verified. Tags are verified in full batches, in the order
	// of the ARNs.
	cache.Guard
	lastVerified string
}

// Checks returns the drift checks of the lists, and of all resources of stacks that were read and are not within the settle
// window.
func (v *Verifier) Checks() []drift.Check {
	now := v.Config.Clock.Now()
	var out []drift.Check
	var resources int
	v.Inv.WithReadLock(func() {
		if v.Inv.Lists[inventory.LoadBalancerList].ReadAt.IsZero() || v.Inv.Lists[inventory.TargetGroupList].ReadAt.IsZero() {
			return // the lists were not read yet
		}
		for _, l := range v.listings() {
			if l.key == inventory.TaggedList {
				continue // no check, because the Resource Groups Tagging API shows changes late
			}
			out = append(out, drift.Check{Key: l.key, Period: durations.FrequentDriftPeriod, LastReadAt: v.Inv.Lists[l.key].ReadAt, Read: func(ctx context.Context) error {
				return l.once(ctx, l.key, func() error { return l.read(ctx, time.Time{}) })
			}})
		}
		for arn, e := range v.Inv.LoadBalancers.All() {
			if inventory.IsTracked(v.Config.Cluster, e.Seen.Tags) && cache.IsSettled(now, e.MadeAt, e.WrittenAt) {
				out = append(out, v.loadBalancerChecks(arn, e)...)
			}
		}
		for arn, e := range v.Inv.TargetGroups.All() {
			if inventory.IsTracked(v.Config.Cluster, e.Seen.Tags) && !e.AttributesAt.IsZero() && cache.IsSettled(now, e.MadeAt, e.WrittenAt, e.AttributesAt) {
				out = append(out, v.attributesCheck(plan.TargetGroup, arn, e.AttributesAt))
			}
		}
		resources = len(v.resourcesWithTagChecks())
	})
	if resources > 0 {
		batches := (resources + maxTagBatch - 1) / maxTagBatch
		out = append(out, drift.Check{Key: "tags", Period: durations.FrequentDriftPeriod / time.Duration(batches), Read: v.verifyTags})
	}
	return out
}

// loadBalancerChecks returns the drift checks of a load balancer. The caller holds the lock of the inventory.
func (v *Verifier) loadBalancerChecks(arn string, e *inventory.LoadBalancer) []drift.Check {
	var out []drift.Check
	if !e.DetailAt.IsZero() {
		out = append(out, drift.Check{Key: "listeners of " + arn, Period: durations.RareDriftPeriod, LastReadAt: e.DetailAt, Read: func(ctx context.Context) error { return v.verifyDetail(ctx, arn) }})
	}
	now := v.Config.Clock.Now()
	if !e.AttributesAt.IsZero() && cache.IsSettled(now, e.AttributesAt) {
		out = append(out, v.attributesCheck(plan.LoadBalancer, arn, e.AttributesAt))
	}
	if c := e.Seen.Capacity; c != nil && *c > 0 && e.Seen.State != observed.LoadBalancerProvisioning && cache.IsSettled(now, e.CapacityAt) {
		out = append(out, drift.Check{Key: "capacity of " + arn, Period: durations.RareDriftPeriod, LastReadAt: e.CapacityAt, Read: func(ctx context.Context) error {
			return v.attributes.readCapacity(ctx, arn, false)
		}})
	}
	for id, le := range e.Listeners {
		if !le.AttributesAt.IsZero() && cache.IsSettled(now, le.AttributesAt) {
			out = append(out, v.attributesCheck(plan.Listener, id, le.AttributesAt))
		}
	}
	return out
}

// verifyDetail reads the listeners of a load balancer again, with their rules and certificates. It does not read tags that
// are in the inventory.
func (v *Verifier) verifyDetail(ctx context.Context, arn string) error {
	err := v.ReadEssential(ctx, "detail "+arn, func() error {
		known, at := v.listeners.lastRuleTags(arn)
		return v.listeners.readDetail(ctx, arn, time.Time{}, known, at)
	})
	if sdk.IsGone(err) { // the load balancer does not exist, or a listener was deleted during the read
		err = v.readLoadBalancers(ctx, []string{arn})
	}
	if err != nil {
		return fmt.Errorf("read listeners of %s: %w", arn, err)
	}
	return nil
}

// attributesCheck returns the drift check of the attributes of a resource. at is when they were last read.
func (v *Verifier) attributesCheck(kind plan.ResourceKind, arn string, at time.Time) drift.Check {
	q := model.AskAttributes{Of: string(kind), ARN: arn}
	return drift.Check{Key: q.Key(), Period: durations.RareDriftPeriod, LastReadAt: at, Read: func(ctx context.Context) error {
		err := v.attributes.readAttributes(ctx, q)
		if sdk.IsGone(err) {
			return v.verifyExists(ctx, kind, arn)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", q.Key(), err)
		}
		return nil
	}}
}

// verifyExists reads a resource again: a listener together with all listeners of its load balancer, and any other resource
// by its ARN. A resource that does not exist any more is removed from the inventory.
func (v *Verifier) verifyExists(ctx context.Context, kind plan.ResourceKind, arn string) error {
	switch kind {
	case plan.LoadBalancer:
		return v.readLoadBalancers(ctx, []string{arn})
	case plan.TargetGroup:
		return v.readTargetGroups(ctx, []string{arn})
	}
	var lb string
	v.Inv.WithReadLock(func() { lb = v.Inv.Parent[arn] })
	if lb == "" {
		return nil
	}
	return v.verifyDetail(ctx, lb)
}

// resourcesWithTagChecks returns the ARNs of the resources whose tags are verified, in no particular order: resources of
// stacks whose tags were read before, and that are not within the settle window. The caller holds the lock of the inventory.
func (v *Verifier) resourcesWithTagChecks() (out []string) {
	now := v.Config.Clock.Now()
	for arn, e := range v.Inv.LoadBalancers.All() {
		if e.TagsAt.IsZero() || !cache.IsSettled(now, e.MadeAt, e.WrittenAt) || !inventory.IsTracked(v.Config.Cluster, e.Seen.Tags) {
			continue
		}
		out = append(out, arn)
		if !v.Config.RuleTags || e.RuleTagsAt.IsZero() {
			continue
		}
		for id, le := range e.Listeners {
			out = append(out, id)
			for id := range le.Rules {
				out = append(out, id)
			}
		}
	}
	for arn, e := range v.Inv.TargetGroups.All() {
		if !e.TagsAt.IsZero() && cache.IsSettled(now, e.MadeAt, e.WrittenAt) && inventory.IsTracked(v.Config.Cluster, e.Seen.Tags) {
			out = append(out, arn)
		}
	}
	return out
}

// verifyTags reads the tags of the next batch of resources again. AWS returns no tags for a resource that does not exist any
// more, so one call also finds deletions.
func (v *Verifier) verifyTags(ctx context.Context) error {
	var all []string
	v.Inv.WithReadLock(func() { all = v.resourcesWithTagChecks() })
	slices.Sort(all)
	var batch []string
	v.WithLock(func() {
		i, _ := slices.BinarySearch(all, v.lastVerified+"\x00")
		batch = slices.Concat(all[i:], all[:i])
		batch = batch[:min(maxTagBatch, len(batch))]
		if len(batch) > 0 {
			v.lastVerified = batch[len(batch)-1]
		}
	})
	start := v.Config.Clock.Now()
	got, err := DescribeTags(ctx, v.Client, batch)
	if err != nil {
		return err
	}
	v.Tags.storeTags(got, batch, start)
	for _, lb := range v.storeListenerAndRuleTags(got, batch, start) {
		if err := v.verifyDetail(ctx, lb); err != nil {
			return err
		}
	}
	return nil
}

// storeListenerAndRuleTags stores the tags of listeners and rules, by ARN, and records outside changes. It returns the ARNs
// of load balancers with listeners or rules that do not exist any more.
func (v *Verifier) storeListenerAndRuleTags(read map[string]map[string]string, arns []string, start time.Time) (changed []string) {
	v.Inv.WithWriteLock(func() {
		for _, arn := range arns {
			kind := plan.Listener
			e, le := v.Inv.Listener(arn)
			if strings.Contains(arn, ":listener-rule/") {
				kind = plan.Rule
				e, le = v.Inv.ListenerOfRule(arn)
			}
			if le == nil || !cache.IsSettled(start, e.MadeAt, e.WrittenAt) {
				continue
			}
			tags, exists := read[arn]
			switch {
			case !exists:
				changed = append(changed, e.Seen.ARN)
			case kind == plan.Listener && !maps.Equal(tags, le.Seen.Tags):
				le.Seen.Tags = tags
				v.Inv.OutsideChanges.Record(e.Seen.Tags, kind, arn)
			case kind == plan.Rule && !maps.Equal(tags, le.Rules[arn].Tags):
				r := le.Rules[arn]
				r.Tags = tags
				le.Rules[arn] = r
				v.Inv.OutsideChanges.Record(e.Seen.Tags, kind, arn)
			}
		}
	})
	return sdk.SortedUnique(changed)
}
