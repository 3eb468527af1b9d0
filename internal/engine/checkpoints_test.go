package engine

import (
	"errors"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/engine/checkpoint"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// A restart looks late at a stack of which everything is known to be carried out, and at no other one.
func TestWhatIsLeftIsLookedAtFirst(t *testing.T) {
	id := model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}
	fault := finding.Finding{Object: finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "web"}, Reason: finding.AnnotationInvalid, Severity: finding.Error}
	for name, c := range map[string]struct {
		edit  func(*Outcome)
		found finding.List // by the translation
		late  bool
	}{
		"all is done":                   {edit: func(*Outcome) {}, late: true},
		"something waits":               {edit: func(o *Outcome) { o.Done = false }},
		"a run that failed":             {edit: func(o *Outcome) { o.Err = errors.New("no answer") }},
		"another stack decides":         {edit: func(o *Outcome) { o.sharesLoadBalancer = true }},
		"something is held":             {edit: func(o *Outcome) { o.Plan.Retains = true }},
		"AWS refused something":         {edit: func(o *Outcome) { o.Findings = finding.List{fault} }},
		"the translation finds a fault": {edit: func(o *Outcome) { o.Findings = finding.List{fault} }, found: finding.List{fault}, late: true},
		"nothing is asked for":          {edit: func(o *Outcome) { o.Stack = model.Stack{ID: id} }},
	} {
		t.Run(name, func(t *testing.T) {
			book := checkpoint.New()
			book.Begin("")
			e := &Engine{Checkpoints: book}
			out := Outcome{ID: id, Stack: model.Stack{ID: id, LoadBalancer: &model.LoadBalancer{}, Members: []model.Member{{Ref: fault.Object}}}, Done: true}
			c.edit(&out)
			e.noteConverged(out, true, c.found, "digest")
			if late := book.Unchanged(id, "digest"); late != c.late {
				t.Errorf("looked at late: %t, want %t", late, c.late)
			}
		})
	}
}
