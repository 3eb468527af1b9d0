package cloud

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/drift"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/services"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// What is read again from time to time to find what others have changed. Only what the inventory
// holds is read: of what this process has not compared yet nothing is known, and what is not known
// cannot have been changed. The comparison is in foreign.go.

// verifier reads what is due.
type verifier struct {
	*reader

	// tagged is the last resource whose tags were verified: they are read in turn, in full batches.
	cache.Guard
	tagged string
}

// ReadRate is how many reading calls per second the rate limiter admits now to the load balancing
// service.
func (c *Cloud) ReadRate() float64 {
	return cmp.Or(c.targets.limits.own.Limiter.Rate(services.ELB, "DescribeLoadBalancers"), 50) // as AWS documents
}

// Checks are what there is to read again now.
func (c *Cloud) Checks() []drift.Check {
	v, now := c.verifier, c.client.Config.Now()
	var out []drift.Check
	var resources int
	c.inv.read(func() {
		if c.inv.lbsAt.IsZero() || c.inv.groupsAt.IsZero() {
			return // nothing was compared yet
		}
		out = append(out, v.lists()...)
		for arn, e := range c.inv.lbs.all() {
			if tracked(c.client.Config.Cluster, e.lb.Tags) && cache.Settled(now, e.made, e.written) {
				out = append(out, v.ofLoadBalancer(arn, e)...)
			}
		}
		for arn, e := range c.inv.groups.all() {
			if tracked(c.client.Config.Cluster, e.g.Tags) && !e.attributesAt.IsZero() && cache.Settled(now, e.made, e.written, e.attributesAt) {
				out = append(out, v.attributes(plan.TargetGroup, arn, e.attributesAt))
			}
		}
		resources = len(v.taggable())
	})
	if resources > 0 {
		batches := (resources + tagBatch - 1) / tagBatch
		out = append(out, drift.Check{Key: "tags", Every: drift.Often / time.Duration(batches), Read: v.verifyTags})
	}
	return out
}

// lists are the checks of what there is. The lock is held.
func (v *verifier) lists() []drift.Check {
	return []drift.Check{
		{Key: "load balancers", Every: drift.Often, At: v.inv.lbsAt, Read: func(ctx context.Context) error {
			return v.Essential(verifying(ctx), "load balancers", func() error { return v.listLoadBalancers(verifying(ctx)) })
		}},
		{Key: "target groups", Every: drift.Often, At: v.inv.groupsAt, Read: func(ctx context.Context) error {
			return v.Essential(verifying(ctx), "target groups", func() error { return v.listTargetGroups(verifying(ctx)) })
		}},
		{Key: "security groups", Every: drift.Often, At: v.inv.sgsAt, Read: func(ctx context.Context) error {
			return v.Optional(verifying(ctx), model.AskSecurityGroups{}.Key(), func() error { return v.listSecurityGroups(verifying(ctx)) })
		}},
	}
}

// verifying names the caller of calls that look for drift, so that they count as those of one tenant.
func verifying(ctx context.Context) context.Context {
	return withCaller(ctx, "drift", "drift", forDrift)
}

// ofLoadBalancer are the checks of a load balancer. The lock is held.
func (v *verifier) ofLoadBalancer(arn string, e *lbEntry) []drift.Check {
	var out []drift.Check
	if !e.detailAt.IsZero() {
		out = append(out, drift.Check{Key: "listeners of " + arn, Every: drift.Seldom, At: e.detailAt, Read: func(ctx context.Context) error { return v.verifyDetail(ctx, arn) }})
	}
	now := v.Config.Now()
	if !e.attributesAt.IsZero() && cache.Settled(now, e.attributesAt) {
		out = append(out, v.attributes(plan.LoadBalancer, arn, e.attributesAt))
	}
	if c := e.lb.Capacity; c != nil && *c > 0 && e.lb.State != observed.Provisioning && cache.Settled(now, e.capacityAt) {
		out = append(out, drift.Check{Key: "capacity of " + arn, Every: drift.Seldom, At: e.capacityAt, Read: func(ctx context.Context) error {
			return v.readCapacity(verifying(ctx), arn, false)
		}})
	}
	for id, le := range e.listeners {
		if !le.attributesAt.IsZero() && cache.Settled(now, le.attributesAt) {
			out = append(out, v.attributes(plan.Listener, id, le.attributesAt))
		}
	}
	return out
}

// verifyDetail reads the listeners of a load balancer with their rules and certificates. Tags that are
// known stay as they are.
func (v *verifier) verifyDetail(ctx context.Context, arn string) error {
	ctx = verifying(ctx)
	err := v.Essential(ctx, "detail "+arn, func() error {
		known, at := v.lastRuleTags(arn)
		return v.readDetail(ctx, arn, time.Time{}, known, at)
	})
	if sdk.IsGone(err) { // the load balancer, or one of its listeners a moment ago
		err = v.readLoadBalancers(ctx, []string{arn})
	}
	if err != nil {
		return fmt.Errorf("read listeners of %s: %w", arn, err)
	}
	return nil
}

// attributes is the check of the attributes of a resource.
func (v *verifier) attributes(kind plan.ResourceKind, arn string, at time.Time) drift.Check {
	q := model.AskAttributes{Of: string(kind), ARN: arn}
	return drift.Check{Key: q.Key(), Every: drift.Seldom, At: at, Read: func(ctx context.Context) error {
		ctx = verifying(ctx)
		start := v.Config.Now()
		got, err := sdk.Brief(ctx, func(ctx context.Context) (map[string]string, error) { return v.describeAttributes(ctx, q) })
		if sdk.IsGone(err) {
			return v.verifyGone(ctx, kind, arn)
		}
		if err != nil {
			return fmt.Errorf("read %s: %w", q.Key(), err)
		}
		if v.inv.attributesAt(q).After(start) {
			return nil // changed from here meanwhile
		}
		noteAttributes(v.inv, q, got, start)
		v.inv.setAttributes(q, got, start)
		return nil
	}}
}

// verifyGone reads whether a resource is still there.
func (v *verifier) verifyGone(ctx context.Context, kind plan.ResourceKind, arn string) error {
	switch kind {
	case plan.LoadBalancer:
		return v.readLoadBalancers(ctx, []string{arn})
	case plan.TargetGroup:
		return v.readTargetGroups(ctx, []string{arn})
	}
	var lb string
	v.inv.read(func() {
		if lb = v.inv.parent[arn]; kind == plan.Rule {
			lb = v.inv.parent[lb]
		}
	})
	if lb == "" {
		return nil
	}
	return v.verifyDetail(ctx, lb)
}

// taggable are the resources whose tags are verified, in no order. The lock is held.
func (v *verifier) taggable() (out []string) {
	for arn, e := range v.inv.lbs.all() {
		if e.tagsAt.IsZero() || !tracked(v.Config.Cluster, e.lb.Tags) {
			continue
		}
		out = append(out, arn)
		if !v.Config.RuleTags || e.ruleTagsAt.IsZero() {
			continue
		}
		for id, le := range e.listeners {
			out = append(out, id)
			for id := range le.rules {
				out = append(out, id)
			}
		}
	}
	for arn, e := range v.inv.groups.all() {
		if !e.tagsAt.IsZero() && tracked(v.Config.Cluster, e.g.Tags) {
			out = append(out, arn)
		}
	}
	return out
}

// verifyTags reads the tags of the next batch of resources. AWS has none of what does not exist any more,
// so that deletions are found at a twentieth of a call each.
func (v *verifier) verifyTags(ctx context.Context) error {
	ctx = verifying(ctx)
	var all []string
	v.inv.read(func() { all = v.taggable() })
	slices.Sort(all)
	var batch []string
	v.With(func() {
		i, _ := slices.BinarySearch(all, v.tagged+"\x00")
		batch = slices.Concat(all[i:], all[:i])
		batch = batch[:min(tagBatch, len(batch))]
		if len(batch) > 0 {
			v.tagged = batch[len(batch)-1]
		}
	})
	start := v.Config.Now()
	got, err := describeTags(ctx, v.Client, batch)
	if err != nil {
		return err
	}
	v.enterTags(got, batch, start)
	for _, lb := range v.enterPartTags(got, batch, start) {
		if err := v.verifyDetail(ctx, lb); err != nil {
			return err
		}
	}
	return nil
}

// enterPartTags enters the tags of listeners and rules. It returns the load balancers of those that do
// not exist any more.
func (v *verifier) enterPartTags(got map[string]map[string]string, arns []string, start time.Time) (changed []string) {
	v.inv.write(func() {
		for _, arn := range arns {
			kind := plan.Listener
			e, le := v.inv.listener(arn)
			if strings.Contains(arn, ":listener-rule/") {
				kind = plan.Rule
				e, le = v.inv.rule(arn)
			}
			if le == nil || !cache.Settled(start, e.made, e.written) {
				continue
			}
			tags, there := got[arn]
			switch {
			case !there:
				changed = append(changed, e.lb.ARN)
			case kind == plan.Listener && !same(tags, le.l.Tags):
				le.l.Tags = tags
				v.inv.foreign.note(e.lb.Tags, kind, arn)
			case kind == plan.Rule && !same(tags, le.rules[arn].Tags):
				r := le.rules[arn]
				r.Tags = tags
				le.rules[arn] = r
				v.inv.foreign.note(e.lb.Tags, kind, arn)
			}
		}
	})
	return unique(changed)
}
