package migrate

import (
	"cmp"
	"context"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan/handover"
)

// move is a load balancer of Ingresses or a Service, with the Gateway that requests it or has taken it over, if there is
// one.
type move struct {
	// fromStack is the stack that the load balancer was created for. It is zero if the annotation of the Gateway names no
	// stack.
	fromStack model.StackID
	// toStack is the stack of the Gateway, or zero if there is none.
	toStack model.StackID
	// gateway is the Gateway. It is zero if there is no Gateway or it no longer exists.
	gateway cluster.Ref
	// annotationErr is the reason why the annotation of the Gateway names no stack.
	annotationErr error
	// gatewayUnserved reports whether the class of the Gateway does not belong to the controller.
	gatewayUnserved bool
}

// moves returns the selected moves: the moves that annotations of Gateways request, the moves that tags in AWS show, and the
// load balancers of Ingresses that no Gateway requests.
func (s *statusCommand) moves(ctx context.Context) (out []move) {
	add := func(m move) {
		if !slices.ContainsFunc(out, func(o move) bool {
			return o.fromStack == m.fromStack && o.toStack == m.toStack && o.annotationErr == nil && m.annotationErr == nil
		}) {
			out = append(out, m)
		}
	}
	v := cluster.NewView(s.store)
	for _, gw := range s.store.All(cluster.KindGateway) {
		m := move{gateway: cluster.RefOf(gw), gatewayUnserved: true}
		for _, kind := range []model.Kind{model.NLBGateway, model.ALBGateway} {
			if f := s.frontends[kind]; f != nil {
				for _, id := range f.Stacks(v, gw) {
					m.toStack, m.gatewayUnserved = id, false
				}
			}
		}
		value, annotated := gw.GetAnnotations()[naming.AdoptAnnotation]
		if annotated {
			if m.fromStack, m.annotationErr = naming.ParseAdoptAnnotation(gw.GetNamespace(), value); m.toStack.Kind == "" {
				m.toStack = model.StackID{Kind: cmp.Or(m.fromStack.Kind.AdopterKind(), model.ALBGateway), Namespace: gw.GetNamespace(), Name: gw.GetName()}
			}
			if s.isSelectedMove(m) {
				add(m)
			}
		}
		if !m.gatewayUnserved && slices.Contains(gw.GetFinalizers(), naming.Finalizer(m.toStack)) {
			if from, ok := s.previousStackOf(ctx, m.toStack); ok {
				m.fromStack, m.annotationErr = from, nil
				if s.isSelectedMove(m) {
					add(m)
				}
			}
		}
	}
	for _, obj := range s.store.All(cluster.KindIngress) {
		for _, id := range s.frontends[model.Ingress].Stacks(v, obj) {
			m := move{fromStack: id}
			if !s.isSelectedMove(m) || id.Kind != model.Ingress || slices.ContainsFunc(out, func(o move) bool { return o.fromStack == id }) {
				continue
			}
			if a := s.draft(ctx, id).Have.Facts.Adopter; a != nil && !a.NotTagged {
				m.toStack = a.Stack
			}
			add(m)
		}
	}
	return out
}

// previousStackOf returns the stack from which the stack to has taken over its load balancer, according to the tags in AWS.
// It returns false if there is none.
func (s *statusCommand) previousStackOf(ctx context.Context, to model.StackID) (model.StackID, bool) {
	live := s.draft(ctx, to).Have.LiveLoadBalancer(model.LoadBalancerID)
	from, tagged := handover.PreviousStack(live)
	return from, tagged && handover.HasTagsOfStack(to, live)
}

// isSelectedMove reports whether the arguments and flags select a move.
func (s *statusCommand) isSelectedMove(m move) bool {
	chosen := input.SelectedStacks(&s.Source)
	switch {
	case s.AllNamespaces || s.Namespace == "" && len(s.Named) == 0:
		return true
	case slices.Contains(chosen, m.fromStack) || slices.Contains(chosen, m.toStack):
		return true
	case len(s.Named) > 0:
		return slices.Contains(s.Named, m.gateway)
	}
	return m.gateway.Namespace == s.Namespace
}
