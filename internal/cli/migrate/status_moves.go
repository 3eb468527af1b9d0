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

// move is a load balancer, and a Gateway that asks for it or has it.
type move struct {
	// from is the stack that the load balancer was made for, and by that of the Gateway; zero where there is none.
	from, by model.StackID
	// at is the Gateway; zero where there is none or it is not there any more.
	at cluster.Ref
	// fault is why the annotation of the Gateway names nothing.
	fault error
	// unserved: no class of the controller is that of the Gateway.
	unserved bool
}

// moves returns the moves that the command is about: what annotations of Gateways ask for, what tags in AWS show, and
// the load balancers of Ingresses for which no Gateway asks.
func (s *statusCommand) moves(ctx context.Context) (out []move) {
	add := func(m move) {
		if !slices.ContainsFunc(out, func(o move) bool { return o.from == m.from && o.by == m.by && o.fault == nil && m.fault == nil }) {
			out = append(out, m)
		}
	}
	v := cluster.NewView(s.store)
	for _, gw := range s.store.All(cluster.KindGateway) {
		m := move{at: cluster.RefOf(gw), unserved: true}
		for _, kind := range []model.Kind{model.NLBGateway, model.ALBGateway} {
			if f := s.frontends[kind]; f != nil {
				for _, id := range f.Stacks(v, gw) {
					m.by, m.unserved = id, false
				}
			}
		}
		value, asks := gw.GetAnnotations()[naming.AdoptAnnotation]
		if asks {
			if m.from, m.fault = naming.ParseAdopt(gw.GetNamespace(), value); m.by.Kind == "" {
				m.by = model.StackID{Kind: cmp.Or(m.from.Kind.Adopter(), model.ALBGateway), Namespace: gw.GetNamespace(), Name: gw.GetName()}
			}
			if s.concernsMove(m) {
				add(m)
			}
		}
		if !m.unserved && slices.Contains(gw.GetFinalizers(), naming.Finalizer(m.by)) {
			if from, ok := s.takenOverBy(ctx, m.by); ok {
				m.from, m.fault = from, nil
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
			if a := s.draft(ctx, id).Have.Facts.Adopter; a != nil && !a.Unmarked {
				m.by = a.Stack
			}
			add(m)
		}
	}
	return out
}

// takenOverBy returns the stack whose load balancer a Gateway has taken over, by the tags in AWS.
func (s *statusCommand) takenOverBy(ctx context.Context, by model.StackID) (model.StackID, bool) {
	live := s.draft(ctx, by).Have.Live(model.LoadBalancerID)
	from, tagged := handover.PreviousStack(live)
	return from, tagged && handover.Claimed(by, live)
}

// concernsMove reports whether the command is about a move.
func (s *statusCommand) concernsMove(m move) bool {
	chosen := input.SelectedStacks(&s.Source)
	switch {
	case s.All || s.Namespace == "" && len(s.Named) == 0:
		return true
	case slices.Contains(chosen, m.from) || slices.Contains(chosen, m.by):
		return true
	case len(s.Named) > 0:
		return slices.Contains(s.Named, m.at)
	}
	return m.at.Namespace == s.Namespace
}
