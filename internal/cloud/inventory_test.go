package cloud

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// changeGenerator makes random changes to an inventory. It uses the functions that reads from AWS and writes to AWS use.
type changeGenerator struct {
	*rand.Rand
	c   *Cloud
	now time.Time
}

// TestIndexesMatchAFullScan makes random sequences of changes to an inventory. After each change it compares the indexes of
// the inventory with a full scan.
func TestIndexesMatchAFullScan(t *testing.T) {
	for seed := range uint64(60) {
		x := &changeGenerator{Rand: rand.New(rand.NewPCG(seed, 1)), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
		cfg := sdk.Config{Cluster: "rig", Refresh: 10 * time.Minute, Clock: testclock.FromVariable(&x.now)}
		x.c = buildCloud(&sdk.Client{Config: cfg, VPC: "vpc-1"})
		for step := range 200 {
			what := x.applyRandomChange()
			if err := x.c.CheckIndexes(); err != nil {
				t.Fatalf("seed %d, step %d, %s: %v", seed, step, what, err)
			}
		}
	}
}

// applyRandomChange makes one random change and returns its description.
func (x *changeGenerator) applyRandomChange() string {
	v := x.c.inv
	lb, group, sg := x.id("lb", 5), x.id("tg", 6), x.id("sg", 4)
	listener := fmt.Sprintf("%s/%d", lb, x.IntN(2))
	e, le := v.Listener(listener)
	all := []struct {
		what string
		do   func()
	}{
		{"time passes", func() { x.now = x.now.Add(time.Duration(x.IntN(600)) * time.Second) }},
		{"load balancers are listed", func() { v.StoreLoadBalancers(x.loadBalancers(), v.LoadBalancers.IDs(), x.now); v.TagsDue = true }},
		{"target groups are listed", func() { v.StoreTargetGroups(x.targetGroups(), v.TargetGroups.IDs(), x.now); v.TagsDue = true }},
		{"security groups are listed", func() { v.StoreSecurityGroups(x.securityGroups(), v.SecurityGroups.IDs(), x.now) }},
		{"tags of a load balancer are read", func() {
			v.LoadBalancers.Edit(lb, func(e *inventory.LoadBalancer) { e.Seen.Tags, e.TagsAt = x.tags(), x.now })
		}},
		{"tags of a target group are read", func() {
			v.TargetGroups.Edit(group, func(e *inventory.TargetGroup) { e.Seen.Tags, e.TagsAt = x.tags(), x.now })
		}},
		{"old tags are read", func() {
			for _, arn := range x.c.reader.Tags.TagsToRead() {
				v.LoadBalancers.Edit(arn, func(e *inventory.LoadBalancer) { e.TagsAt = x.now })
				v.TargetGroups.Edit(arn, func(e *inventory.TargetGroup) { e.TagsAt = x.now })
			}
			v.TagsDue = false
		}},
		{"tags are put", func() {
			kind, id := x.resource(lb, group, sg)
			_ = x.c.writer.Tags.FinishTagChange(kind, id, "", nil, x.tags(), nil)
		}},
		{"tags are removed", func() {
			kind, id := x.resource(lb, group, sg)
			_ = x.c.writer.Tags.FinishTagChange(kind, id, "", nil, nil, []string{naming.StackTag(model.Ingress), naming.ClusterTag}[:1+x.IntN(2)])
		}},
		{"putting tags fails", func() {
			kind, id := x.resource(lb, group, sg)
			_ = x.c.writer.Tags.FinishTagChange(kind, id, "", sdk.NewError(failure.Gone, id, "it is gone"), x.tags(), nil)
		}},
		{"a load balancer is made", func() {
			v.DropLoadBalancer(lb)
			v.LoadBalancers.Put(lb, &inventory.LoadBalancer{Seen: x.loadBalancer(lb), TagsAt: x.now, MadeAt: x.now, WrittenAt: x.now})
		}},
		{"security groups are set", func() {
			v.LoadBalancers.Edit(lb, func(e *inventory.LoadBalancer) { e.Seen.SecurityGroups = []string{sg} })
		}},
		{"a load balancer is deleted", func() { v.DropLoadBalancer(lb); v.AddTombstone(lb, x.now) }},
		{"a target group is deleted", func() { v.TargetGroups.Drop(group); v.AddTombstone(group, x.now) }},
		{"a security group is deleted", func() { v.SecurityGroups.Drop(sg); v.AddTombstone(sg, x.now) }},
		{"listeners are read", func() {
			if e := v.LoadBalancers.Get(lb); e != nil {
				listeners := map[string]*inventory.Listener{}
				for range x.IntN(3) {
					le := x.listener(fmt.Sprintf("%s/%d", lb, x.IntN(2)))
					listeners[le.Seen.ARN] = le
				}
				v.SetListeners(e, listeners)
			}
		}},
		{"a listener is made", func() {
			if e := v.LoadBalancers.Get(lb); e != nil {
				v.PutListener(e, x.listener(listener))
			}
		}},
		{"a listener is changed", func() {
			if le != nil {
				v.ChangeListener(e, le, x.listener(listener).Seen)
			}
		}},
		{"a listener is deleted", func() {
			if le != nil {
				v.DropListener(e, le)
			}
		}},
		{"a rule is put", func() {
			if le != nil {
				v.PutRule(e, le, x.rule(listener))
			}
		}},
		{"a rule is deleted", func() {
			if le != nil {
				v.DropRule(e, le, x.rule(listener).ARN)
			}
		}},
		{"all is forgotten", func() {
			if x.IntN(10) == 0 {
				v.Reset()
			}
		}},
	}
	pick := all[x.IntN(len(all))]
	pick.do()
	return pick.what
}

func (x *changeGenerator) id(kind string, n int) string { return fmt.Sprintf("%s-%d", kind, x.IntN(n)) }

func (x *changeGenerator) resource(lb, group, sg string) (plan.ResourceKind, string) {
	switch x.IntN(3) {
	case 0:
		return plan.LoadBalancer, lb
	case 1:
		return plan.TargetGroup, group
	}
	return plan.SecurityGroup, sg
}

// tags returns the tags of a random resource. The resource belongs to one of a few stacks, mostly of this cluster, or has no
// tags. Some tags have the legacy form.
func (x *changeGenerator) tags() map[string]string {
	cluster := []string{"rig", "rig", "other"}[x.IntN(3)]
	id := model.StackID{Kind: []model.Kind{model.Ingress, model.Service}[x.IntN(2)], Name: x.id("stack", 3)}
	switch x.IntN(6) {
	case 0:
		return nil
	case 1:
		return naming.BackendSecurityGroupTags(cluster, nil)
	case 2:
		tags := naming.LegacyStackTags(cluster, id)
		tags[naming.ResourceTag(id.Kind)] = "x"
		return tags
	case 3:
		tags := naming.ResourceTags(cluster, id, "x", nil)
		maps.Copy(tags, naming.ResourceTags(cluster, model.StackID{Kind: model.Service, Name: "stack-1"}, "y", nil))
		return tags
	}
	return naming.ResourceTags(cluster, id, "x", nil)
}

func (x *changeGenerator) vpc() string {
	return []string{"vpc-1", "vpc-1", "vpc-1", "vpc-2"}[x.IntN(4)]
}

func (x *changeGenerator) loadBalancer(arn string) observed.LoadBalancer {
	return observed.LoadBalancer{ARN: arn, VPC: x.vpc(), Tags: x.tags(), SecurityGroups: []string{x.id("sg", 4)}}
}

func (x *changeGenerator) loadBalancers() map[string]*inventory.LoadBalancer {
	out := map[string]*inventory.LoadBalancer{}
	for range x.IntN(5) {
		lb := x.loadBalancer(x.id("lb", 5))
		lb.Tags = nil
		out[lb.ARN] = &inventory.LoadBalancer{Seen: lb}
	}
	return out
}

func (x *changeGenerator) targetGroups() map[string]*inventory.TargetGroup {
	out := map[string]*inventory.TargetGroup{}
	for range x.IntN(6) {
		g := observed.TargetGroup{ARN: x.id("tg", 6), LoadBalancers: []string{x.id("lb", 5)}}
		g.Name = "name of " + g.ARN
		out[g.ARN] = &inventory.TargetGroup{Seen: g, VPC: x.vpc()}
	}
	return out
}

func (x *changeGenerator) securityGroups() map[string]observed.SecurityGroup {
	out := map[string]observed.SecurityGroup{}
	for range x.IntN(4) {
		id := x.id("sg", 4)
		out[id] = observed.SecurityGroup{ID: id, Tags: x.tags()}
	}
	return out
}

func (x *changeGenerator) actions() []model.Action {
	if x.IntN(3) == 0 {
		return []model.Action{model.FixedResponse{}}
	}
	var f model.Forward
	for range 1 + x.IntN(2) {
		f.Groups = append(f.Groups, model.WeightedTargetGroup{Group: model.TargetGroupRef{ARN: x.id("tg", 6)}})
	}
	return []model.Action{f}
}

func (x *changeGenerator) rule(listener string) observed.Rule {
	return observed.Rule{ARN: fmt.Sprintf("%s/rule-%d", listener, x.IntN(3)), Actions: x.actions()}
}

func (x *changeGenerator) listener(arn string) *inventory.Listener {
	le := &inventory.Listener{Seen: observed.Listener{ARN: arn, Default: x.actions()}, Rules: map[string]observed.Rule{}}
	for range x.IntN(3) {
		r := x.rule(arn)
		le.Rules[r.ARN] = r
	}
	return le
}
