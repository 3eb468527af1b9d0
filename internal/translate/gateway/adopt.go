package gateway

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
)

// adopt notes whose load balancer the Gateway takes over. One that is mistyped must not cost a second load balancer.
func (t *translation) adopt() {
	value, asked := t.gw.Annotations[cluster.AdoptAnnotation]
	if !asked {
		return
	}
	at := finding.Origin{Object: t.ref, Field: cluster.AdoptAnnotation}
	from, err := naming.ParseAdopt(t.gw.Namespace, value)
	if err != nil {
		t.Found.Add(finding.Finding{
			Object: t.ref, Field: at.Field, Reason: finding.AnnotationInvalid, Severity: finding.Error, Blocks: finding.BlocksMember,
			Message: fmt.Sprintf("%q names nothing to take over: %v", finding.Cut(value), err), Fix: "correct the annotation, or take it off for a load balancer of its own",
		})
		t.member.Blocked = true
		return
	}
	t.Stack.Adopts = &model.Adoption{From: from, At: at, Routes: []string{t.gw.Namespace}}
}

// consent adds the namespaces of routes that are attached to the Gateway.
func (t *translation) consent() {
	if t.Stack.Adopts == nil {
		return
	}
	for _, r := range t.attached.Routes {
		if slices.ContainsFunc(r.Parents, func(p attach.Parent) bool { return len(p.Attachments) > 0 }) {
			t.Stack.Adopts.Routes = append(t.Stack.Adopts.Routes, r.Object.GetNamespace())
		}
	}
	slices.Sort(t.Stack.Adopts.Routes)
	t.Stack.Adopts.Routes = slices.Compact(t.Stack.Adopts.Routes)
}
