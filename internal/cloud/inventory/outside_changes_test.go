package inventory

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// TestOutsideChangeHasTheTimeOfItsRecording checks that a change that a list shows has the time at which it is recorded, and
// not the time at which the listing began. A plan that is made while target groups are being listed does not contain the
// change, and the next plan reports it as drift. Otherwise the change would be reverted in spite of --drift=report.
func TestOutsideChangeHasTheTimeOfItsRecording(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	v := New("prod", "vpc-1", time.Hour, testclock.FromVariable(&now))
	id := model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}
	tags := map[string]string{naming.ClusterTag: "prod", naming.StackTag(id.Kind): naming.StackTagValue(id), naming.ResourceTag(id.Kind): "web"}
	v.TargetGroups.Put("group", &TargetGroup{Seen: observed.TargetGroup{ARN: "group", Tags: tags, Name: "before"}})
	started := now
	planned := started.Add(time.Second)
	now = planned.Add(time.Second)
	v.StoreTargetGroups(map[string]*TargetGroup{"group": {Seen: observed.TargetGroup{ARN: "group", Name: "after"}}}, maps.Keys(map[string]bool{}), started)
	if got := v.OutsideChanges.ChangesTo(id, now); len(got) != 1 || !got[0].ReadAt.After(planned) {
		t.Errorf("recorded %+v, want one change after the plan at %s", got, planned)
	}
}

// TestOldOutsideChangesAreRemoved checks that old outside changes are removed, such as those of deleted stacks.
func TestOldOutsideChangesAreRemoved(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	v := New("prod", "vpc-1", time.Hour, testclock.FromVariable(&now))
	for n := range 100 {
		id := model.StackID{Kind: model.Ingress, Namespace: "shop", Name: fmt.Sprintf("web-%d", n)}
		v.OutsideChanges.Record(map[string]string{naming.ClusterTag: "prod", naming.StackTag(id.Kind): naming.StackTagValue(id), naming.ResourceTag(id.Kind): "web"}, plan.LoadBalancer, "arn")
		now = now.Add(10 * time.Minute)
	}
	if n := len(v.OutsideChanges.byStack); n < 6 || n > 15 {
		t.Errorf("outside changes of %d stacks are kept, want those of the last hour and at most 15", n)
	}
}

// TestOutsideChangesAreRecorded checks that outside changes are recorded. State that AWS changes, changes by this process,
// and fields that were not read, are not recorded as outside changes.
func TestOutsideChangesAreRecorded(t *testing.T) {
	id := model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}
	tags := map[string]string{naming.ClusterTag: "prod", naming.StackTag(id.Kind): naming.StackTagValue(id), naming.ResourceTag(id.Kind): model.LoadBalancerID}
	at := time.Unix(1_000_000, 0)
	for name, c := range map[string]struct {
		// change modifies the cached load balancer, or the load balancer and listener that are read now.
		change func(known *LoadBalancer, lb *observed.LoadBalancer, l *Listener)
		noted  plan.ResourceKind // "" for none
	}{
		"nothing":              {func(*LoadBalancer, *observed.LoadBalancer, *Listener) {}, ""},
		"another address type": {func(_ *LoadBalancer, lb *observed.LoadBalancer, _ *Listener) { lb.AddressType = model.DualStack }, plan.LoadBalancer},
		"another state":        {func(_ *LoadBalancer, lb *observed.LoadBalancer, _ *Listener) { lb.State = "active_impaired" }, ""},
		"another address type, written here": {func(k *LoadBalancer, lb *observed.LoadBalancer, _ *Listener) {
			k.WrittenAt, lb.AddressType = at, model.DualStack
		}, ""},
		"a load balancer that was being provisioned": {func(k *LoadBalancer, lb *observed.LoadBalancer, _ *Listener) {
			k.Seen.State, lb.Subnets = observed.LoadBalancerProvisioning, []string{"subnet-1"}
		}, ""},
		"another policy":      {func(_ *LoadBalancer, _ *observed.LoadBalancer, l *Listener) { l.Seen.Policy = "other" }, plan.Listener},
		"another certificate": {func(_ *LoadBalancer, _ *observed.LoadBalancer, l *Listener) { l.Seen.Certificates = []string{"other"} }, plan.Listener},
		"certificates that are still to read": {func(_ *LoadBalancer, _ *observed.LoadBalancer, l *Listener) {
			l.CertificatesDue, l.Seen.Certificates = true, nil
		}, ""},
		"certificates that are read at last": {func(k *LoadBalancer, _ *observed.LoadBalancer, _ *Listener) {
			k.Listeners["l"].CertificatesDue, k.Listeners["l"].Seen.Certificates = true, nil
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			v := New("prod", "vpc-1", time.Hour, testclock.FromVariable(&at))
			seen := observed.LoadBalancer{ARN: "lb", Tags: tags, State: "active", AddressType: model.IPv4}
			of := func() *Listener {
				return &Listener{Seen: observed.Listener{ARN: "l", Port: 443, Policy: "p", Certificates: []string{"c"}}}
			}
			known := &LoadBalancer{Seen: seen, DetailAt: at.Add(-time.Hour), Listeners: map[string]*Listener{"l": of()}}
			now := of()
			c.change(known, &seen, now)
			v.OutsideChanges.compareLoadBalancer("lb", known, seen, at)
			v.OutsideChanges.CompareListeners(known, map[string]*Listener{"l": now}, at)
			noted := plan.ResourceKind("")
			for _, f := range v.OutsideChanges.ChangesTo(id, at) {
				noted += plan.ResourceKind(f.Kind)
			}
			if noted != c.noted {
				t.Errorf("noted %q, want %q", noted, c.noted)
			}
		})
	}
}

// TestListedLoadBalancerMayLackTags checks that the Resource Groups Tagging API is not believed about a new load balancer,
// also if this process created it.
func TestListedLoadBalancerMayLackTags(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	clock := testclock.FromVariable(&now)
	v := New("prod", "vpc-1", time.Hour, clock)
	v.LoadBalancers.Put("lb", &LoadBalancer{MadeAt: now, WrittenAt: now})
	created := now
	now = now.Add(2 * durations.SettleWindow)
	v.StoreLoadBalancers(map[string]*LoadBalancer{"lb": {Created: created}}, maps.Keys(map[string]bool{}), now)
	c := &sdk.Client{Config: sdk.Config{Clock: clock}}
	if e := v.LoadBalancers.Get("lb"); !e.MayLackTags(c) {
		t.Error("the tags of a load balancer that was created two minutes ago are expected to be listed")
	}
	if now = now.Add(durations.TagLag); v.LoadBalancers.Get("lb").MayLackTags(c) {
		t.Error("the tags of an old load balancer are not expected to be listed")
	}
}
