package gateway

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
)

// noteAdoption notes whose load balancer the Gateway takes over. One that is mistyped must not cost a second load
// balancer.
func (t *translation) noteAdoption() {
	value, asked := t.gw.Annotations[naming.AdoptAnnotation]
	if !asked {
		return
	}
	at := finding.Origin{Object: t.ref, Field: naming.AdoptAnnotation}
	from, err := naming.ParseAdopt(t.gw.Namespace, value)
	if err != nil {
		t.Found.Add(finding.Finding{
			Object: t.ref, Field: at.Field, Reason: finding.AnnotationInvalid, Severity: finding.Error, Blocks: finding.BlocksMember,
			Message: fmt.Sprintf("%q names nothing to take over: %v", finding.Cut(value), err), Fix: "correct the annotation, or remove it for a load balancer of its own",
		})
		t.member.Blocked = true
		return
	}
	t.Stack.Adopts = &model.Adoption{From: from, At: at}
}

// noteAttached notes the namespaces that have to do with the Gateway: objects of those may have their load balancer taken over
// by it, and back.
func (t *translation) noteAttached() {
	for _, r := range t.attached.Routes {
		if slices.ContainsFunc(r.Parents, func(p attach.Parent) bool { return len(p.Attachments) > 0 }) {
			t.Stack.Attached = append(t.Stack.Attached, r.Object.GetNamespace())
		}
	}
	slices.Sort(t.Stack.Attached)
	t.Stack.Attached = slices.Compact(t.Stack.Attached)
}
