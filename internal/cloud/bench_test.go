package cloud

import (
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/inventory"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// BenchmarkObserve measures the observation of a stack, on all processors, in accounts with different numbers of load
// balancers. The inventory is complete, so no call to AWS is made.
func BenchmarkObserve(b *testing.B) {
	for _, n := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("%d load balancers", n), func(b *testing.B) {
			c, ids := newCloudWithFullInventory(n)
			var next atomic.Int64
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					id := ids[int(next.Add(1))%n]
					have, err := c.Observe(b.Context(), id, []model.Question{model.AskBackendSecurityGroup{}})
					if err != nil || len(have.LoadBalancers) != 1 || len(have.TargetGroups) != 2 || have.Facts.BackendSecurityGroupUsers != n-1 {
						b.Error(have, err)
						return
					}
				}
			})
		})
	}
}

// newCloudWithFullInventory returns a Cloud whose inventory has n load balancers, each with two target groups, a security
// group and two rules. It also returns the stacks of the load balancers.
func newCloudWithFullInventory(n int) (*Cloud, []model.StackID) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	cfg := sdk.Config{Cluster: "rig", Refresh: 10 * time.Minute, Clock: testclock.FromVariable(&now), RuleTags: true}
	c := buildCloud(&sdk.Client{Config: cfg, VPC: "vpc"})
	v := c.inv
	for _, l := range v.Lists {
		l.ReadAt = now
	}
	v.SecurityGroups.Put("sg-backend", &inventory.SecurityGroup{Seen: observed.SecurityGroup{ID: "sg-backend", Tags: naming.BackendSecurityGroupTags("rig", nil)}, ReadAt: now})
	var ids []model.StackID
	for i := range n {
		id := model.StackID{Kind: model.Ingress, Namespace: "shop", Name: fmt.Sprint(i)}
		ids = append(ids, id)
		tags := naming.ResourceTags("rig", id, model.LoadBalancerID, nil)
		sg, lb, listener := fmt.Sprintf("sg-%d", i), fmt.Sprintf("lb-%d", i), fmt.Sprintf("lb-%d/l", i)
		v.SecurityGroups.Put(sg, &inventory.SecurityGroup{Seen: observed.SecurityGroup{ID: sg, Tags: tags}, ReadAt: now})
		le := &inventory.Listener{Seen: observed.Listener{ARN: listener}, Rules: map[string]observed.Rule{}}
		for j := range 2 {
			group, rule := fmt.Sprintf("tg-%d-%d", i, j), fmt.Sprintf("lb-%d/l/%d", i, j)
			v.TargetGroups.Put(group, &inventory.TargetGroup{Seen: observed.TargetGroup{ARN: group, Tags: tags}, VPC: "vpc", ReadAt: now, TagsAt: now})
			le.Rules[rule] = observed.Rule{ARN: rule, Actions: []model.Action{
				model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ARN: group}}}},
			}}
		}
		e := &inventory.LoadBalancer{Seen: observed.LoadBalancer{ARN: lb, VPC: "vpc", Tags: tags, SecurityGroups: []string{sg, "sg-backend"}},
			ReadAt: now, TagsAt: now, DetailAt: now, RuleTagsAt: now}
		v.LoadBalancers.Put(lb, e)
		v.SetListeners(e, map[string]*inventory.Listener{listener: le})
	}
	return c, ids
}
