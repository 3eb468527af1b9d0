package engine

import (
	"errors"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/engine/checkpoint"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// TestOnlyConvergedStacksAreDeferredAfterARestart checks that after a restart the first comparison is deferred only for
// stacks whose desired state was carried out completely.
func TestOnlyConvergedStacksAreDeferredAfterARestart(t *testing.T) {
	id := model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}
	fault := finding.Finding{Object: finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "web"}, Reason: finding.AnnotationInvalid, Severity: finding.Error}
	for name, c := range map[string]struct {
		edit  func(*Outcome)
		found finding.List // findings of the translation
		late  bool
	}{
		"run is done":                   {edit: func(*Outcome) {}, late: true},
		"a step waits":                  {edit: func(o *Outcome) { o.Done = false }},
		"a run that failed":             {edit: func(o *Outcome) { o.Err = errors.New("no answer") }},
		"load balancer is shared":       {edit: func(o *Outcome) { o.sharesLoadBalancer = true }},
		"a part is held":                {edit: func(o *Outcome) { o.Plan.HasRetainedParts = true }},
		"AWS refused a step":            {edit: func(o *Outcome) { o.Findings = finding.List{fault} }},
		"the translation finds a fault": {edit: func(o *Outcome) { o.Findings = finding.List{fault} }, found: finding.List{fault}, late: true},
		"no load balancer in AWS":       {edit: func(o *Outcome) { o.LiveLoadBalancers = nil }},
		"stack is empty":                {edit: func(o *Outcome) { o.Stack = model.Stack{ID: id} }},
	} {
		t.Run(name, func(t *testing.T) {
			registry := checkpoint.New()
			registry.Load("")
			e := &Engine{Checkpoints: registry}
			out := Outcome{ID: id, Stack: model.Stack{ID: id, LoadBalancer: &model.LoadBalancer{}, Members: []model.Member{{Ref: fault.Object}}}, Done: true, LiveLoadBalancers: map[string]LiveLoadBalancer{"lb": {}}}
			c.edit(&out)
			e.recordConverged(out, true, c.found, "digest")
			if late := registry.IsUnchanged(id, "digest"); late != c.late {
				t.Errorf("comparison is deferred: %t, want %t", late, c.late)
			}
		})
	}
}

// TestCheckpointsAreForgottenBeforeAChange checks that forgetCheckpoints removes the checkpoints of the changed stack, and
// of a stack whose load balancer it takes over.
func TestCheckpointsAreForgottenBeforeAChange(t *testing.T) {
	own := model.StackID{Kind: model.ALBGateway, Namespace: "shop", Name: "edge"}
	other := model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}
	for name, c := range map[string]struct {
		reserved    []model.StackID
		otherStands bool
		forgotten   int
	}{
		"only the changed stack": {reserved: []model.StackID{own}, otherStands: true, forgotten: 1},
		"another is taken over":  {reserved: []model.StackID{own, other}, forgotten: 2},
	} {
		t.Run(name, func(t *testing.T) {
			registry := checkpoint.New()
			registry.Load("ALBGateway shop/edge one\nIngress shop/web other\n")
			r := &execution{observation: observation{e: &Engine{Config: Config{Checkpoints: registry}}, out: &Outcome{ID: own}, reservedStacks: &c.reserved}}
			r.forgetCheckpoints()
			r.forgetCheckpoints()
			if registry.IsUnchanged(own, "one") {
				t.Error("the checkpoint of the changed stack still exists")
			}
			if got := registry.IsUnchanged(other, "other"); got != c.otherStands {
				t.Errorf("the checkpoint of the other stack exists: %t, want %t", got, c.otherStands)
			}
			if len(r.forgottenStacks) != c.forgotten {
				t.Errorf("removed %d checkpoints, want %d", len(r.forgottenStacks), c.forgotten)
			}
		})
	}
}
