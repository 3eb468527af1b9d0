package inventory

import (
	"fmt"
	"maps"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// A plan that is made while target groups are being listed does not know what the list shows. The note is younger than
// the plan, so that the next one takes the change for one of others: it would be undone in spite of --drift=report.
func TestAChangeIsNotedWhenItIsEntered(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	v := New("prod", "vpc-1", time.Hour, testclock.Of(&now))
	id := model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}
	tags := map[string]string{naming.ClusterTag: "prod", naming.StackTag(id.Kind): naming.StackTagValue(id), naming.ResourceTag(id.Kind): "web"}
	v.TargetGroups.Put("group", &TargetGroup{Seen: observed.TargetGroup{ARN: "group", Tags: tags, Name: "before"}})
	started := now
	planned := started.Add(time.Second)
	now = planned.Add(time.Second)
	v.EnterTargetGroups(map[string]FoundTargetGroup{"group": {Seen: observed.TargetGroup{ARN: "group", Name: "after"}}}, maps.Keys(map[string]bool{}), started)
	if got := v.Foreign.To(id, now); len(got) != 1 || !got[0].At.After(planned) {
		t.Errorf("%+v, a plan was made at %s", got, planned)
	}
}

// Stacks come and go, and changes to them are noted also where nothing looks for drift.
func TestNotesOfStacksThatAreGoneAreForgotten(t *testing.T) {
	now := time.Unix(1_000_000, 0)
	v := New("prod", "vpc-1", time.Hour, testclock.Of(&now))
	for n := range 100 {
		id := model.StackID{Kind: model.Ingress, Namespace: "shop", Name: fmt.Sprintf("web-%d", n)}
		v.Foreign.Note(map[string]string{naming.ClusterTag: "prod", naming.StackTag(id.Kind): naming.StackTagValue(id), naming.ResourceTag(id.Kind): "web"}, plan.LoadBalancer, "arn")
		now = now.Add(10 * time.Minute)
	}
	if n := len(v.Foreign.of); n > 15 {
		t.Errorf("notes of %d stacks are kept, each younger than an hour", n)
	}
}
