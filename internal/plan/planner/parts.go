package planner

import (
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/certificates"
	"github.com/fulcrum-lb/fulcrum/internal/plan/listeners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
	"github.com/fulcrum-lb/fulcrum/internal/plan/rules"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targetgroups"
)

func (b *builder) listenerPlanner(l *resolved.Listener, groups map[string][]plan.StepID) *listeners.Planner {
	return listeners.NewPlanner(b.Traffic, b.Usage, b.Finalizers, b.Keys, b.securityGroups.Opened, groups, l)
}

func (b *builder) listenerResolver() *listeners.Resolver {
	return listeners.NewResolver(b.TargetGroups, b.Usage, certificates.NewChoice(b.Draft, b.managed, b.held), b.held, b.Keys)
}

func (b *builder) release() *release {
	return &release{b.TargetGroups, b.Usage, b.Finalizers, b.Listeners}
}

func (b *builder) rulePlaces(lb *resolved.LoadBalancer) *rules.Places {
	return rules.NewPlaces(b.TargetGroups, b.Finalizers, b.Keys, lb)
}

func (b *builder) removeSurplusGroups() {
	targetgroups.NewRemoval(b.TargetGroups, b.Usage, b.Attachments, b.BindingsOf).All()
}
