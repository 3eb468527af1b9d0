package gateway

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
)

// setAdoption sets Stack.Adopts to the load balancer that the Gateway takes over, which its adopt annotation names. If the
// annotation is not valid, the Gateway is held, so that a typing mistake does not create a second load balancer.
func (t *translation) setAdoption() {
	value, asked := t.gw.Annotations[naming.AdoptAnnotation]
	if !asked {
		return
	}
	at := finding.Origin{Object: t.ref, Field: naming.AdoptAnnotation}
	from, err := naming.ParseAdoptAnnotation(t.gw.Namespace, value)
	if err != nil {
		t.Found.Add(finding.Finding{
			Object: t.ref, Field: at.Field, Reason: finding.AnnotationInvalid, Severity: finding.Error, Blocks: finding.BlocksMember,
			Message: fmt.Sprintf("%q is not a load balancer that can be taken over: %v", finding.TruncateValue(value), err), Fix: "correct the annotation, or remove it to create a new load balancer",
		})
		t.member.Blocked = true
		return
	}
	t.Stack.Adopts = &model.Adoption{From: from, At: at}
}

// setAttachedNamespaces adds the namespaces of attached routes to Stack.Attached. The Gateway may take over load balancers
// of objects in these namespaces, and return them to these objects.
func (t *translation) setAttachedNamespaces() {
	for _, r := range t.attached.Routes {
		if slices.ContainsFunc(r.Parents, func(p attach.RouteParent) bool { return len(p.Attachments) > 0 }) {
			t.Stack.Attached = append(t.Stack.Attached, r.Object.GetNamespace())
		}
	}
	slices.Sort(t.Stack.Attached)
	t.Stack.Attached = slices.Compact(t.Stack.Attached)
}
