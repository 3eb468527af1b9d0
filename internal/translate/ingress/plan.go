package ingress

import (
	"encoding/json"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/report"
)

// planPatches returns patches that write the plan of the stack into an annotation of its first member, if DescribePlan is
// set, and remove the annotation from other members. If there is no plan, because the stack is held, the annotations are not
// changed.
func (f *Frontend) planPatches(v *cluster.View, o engine.Outcome) []cluster.Patch {
	text := ""
	if f.opt.DescribePlan {
		if o.Document == nil {
			return nil
		}
		text = o.Document.JSON()
	}
	var out []cluster.Patch
	for i, m := range o.Stack.Members {
		want := ""
		if i == 0 {
			want = text
		}
		if planFromAnnotation(v, m.Ref) != want {
			out = append(out, cluster.Annotation{Ref: m.Ref, Key: cluster.IngressPlanAnnotation, Value: want, TooLarge: report.PlanTooLargeEvent(m.Ref, cluster.IngressPlanAnnotation, len(want), "read it with fulcrum plan -o json, or split the IngressGroup")})
		}
	}
	for _, m := range o.Stack.Leaving {
		// An Ingress that has joined another IngressGroup may already have the plan of that IngressGroup.
		if old := planFromAnnotation(v, m.Ref); !m.Deleting && describesStack(old, o.ID) {
			out = append(out, cluster.Annotation{Ref: m.Ref, Key: cluster.IngressPlanAnnotation, OldValue: old})
		}
	}
	return out
}

// planFromAnnotation returns the plan in the annotation of an Ingress; "" if there is none.
func planFromAnnotation(v *cluster.View, ref finding.Ref) string {
	ing, ok := cluster.Get[*networkingv1.Ingress](v, cluster.KindIngress, ref.Namespace, ref.Name)
	if !ok {
		return ""
	}
	return ing.Annotations[cluster.IngressPlanAnnotation]
}

// describesStack reports whether a plan in JSON is that of the stack.
func describesStack(plan string, id model.StackID) bool {
	var doc struct{ ID string }
	return json.Unmarshal([]byte(plan), &doc) == nil && doc.ID == id.String()
}
