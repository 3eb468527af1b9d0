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

// move is the move of a load balancer to a Gateway that requests it or has it, if there is one.
type move struct {
	// from is the stack that the load balancer was made for, zero if there is none.
	from model.StackID
	// to is the stack of the Gateway, or zero if there is none.
	to model.StackID
	// gateway is the Gateway; zero if there is none or it no longer exists.
	gateway cluster.Ref
	// annotationErr is the reason why the annotation of the Gateway names no stack.
	annotationErr error
	// gatewayUnserved reports whether the class of the Gateway does not belong to the controller.
	gatewayUnserved bool
}

// moves returns the selected moves: those that annotations of Gateways ask for, those that tags in AWS show, and the
// load balancers of Ingresses for which no Gateway asks.
func (s *statusCommand) moves(ctx context.Context) (out []move) {
	add := func(m move) {
		if !slices.ContainsFunc(out, func(o move) bool {
			return o.from == m.from && o.to == m.to && o.annotationErr == nil && m.annotationErr == nil
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
					m.to, m.gatewayUnserved = id, false
				}
			}
		}
		value, asks := gw.GetAnnotations()[naming.AdoptAnnotation]
		if asks {
			if m.from, m.annotationErr = naming.ParseAdopt(gw.GetNamespace(), value); m.to.Kind == "" {
				m.to = model.StackID{Kind: cmp.Or(m.from.Kind.Adopter(), model.ALBGateway), Namespace: gw.GetNamespace(), Name: gw.GetName()}
			}
			if s.concernsMove(m) {
				add(m)
			}
		}
		if !m.gatewayUnserved && slices.Contains(gw.GetFinalizers(), naming.Finalizer(m.to)) {
			if from, ok := s.previousStackOf(ctx, m.to); ok {
				m.from, m.annotationErr = from, nil
				if s.concernsMove(m) {
					add(m)
				}
			}
		}
	}
	for _, obj := range s.store.All(cluster.KindIngress) {
		for _, id := range s.frontends[model.Ingress].Stacks(v, obj) {
			m := move{from: id}
			if !s.concernsMove(m) || id.Kind != model.Ingress || slices.ContainsFunc(out, func(o move) bool { return o.from == id }) {
				continue
			}
			if a := s.draft(ctx, id).Have.Facts.Adopter; a != nil && !a.NotTagged {
				m.to = a.Stack
			}
			add(m)
		}
	}
	return out
}

// previousStackOf returns the stack whose load balancer the stack to has taken over, according to the tags in AWS.
func (s *statusCommand) previousStackOf(ctx context.Context, to model.StackID) (model.StackID, bool) {
	live := s.draft(ctx, to).Have.Live(model.LoadBalancerID)
	from, tagged := handover.PreviousStack(live)
	return from, tagged && handover.Claimed(to, live)
}

// concernsMove reports whether the arguments and flags select a move.
func (s *statusCommand) concernsMove(m move) bool {
	chosen := input.SelectedStacks(&s.Source)
	switch {
	case s.All || s.Namespace == "" && len(s.Named) == 0:
		return true
	case slices.Contains(chosen, m.from) || slices.Contains(chosen, m.to):
		return true
	case len(s.Named) > 0:
		return slices.Contains(s.Named, m.gateway)
	}
	return m.gateway.Namespace == s.Namespace
}
