package handover

import (
	"maps"
	"slices"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

var (
	ingressGroup = model.StackID{Kind: model.Ingress, Name: "edge"}
	gateway      = model.StackID{Kind: model.ALBGateway, Namespace: "shop", Name: "edge"}
)

// stackOf returns a stack with a load balancer and one member. The member has a finalizer if claimed is set.
func stackOf(id model.StackID, claimed bool) model.Stack {
	return model.Stack{ID: id, LoadBalancer: &model.LoadBalancer{}, Attached: []string{"shop"}, Members: []model.Member{{Ref: finding.Ref{Kind: "X", Namespace: "shop", Name: "x"}, Claimed: claimed}}}
}

// adoptingGateway returns the Gateway "edge" with the annotation that adopts the load balancer of the IngressGroup "edge".
func adoptingGateway(dryRun, claimed bool) model.Stack {
	s := stackOf(gateway, claimed)
	s.DryRun, s.Adopts = dryRun, &model.Adoption{From: ingressGroup}
	return s
}

// loadBalancerOf returns an observed state with a load balancer that has the tags of the given stacks. If adopted is set, it
// also has the tags that record an adoption from the IngressGroup "edge".
func loadBalancerOf(adopted bool, of ...model.StackID) observed.Stack {
	tags := map[string]string{}
	for _, id := range of {
		for k, v := range naming.ResourceTags("c", id, model.LoadBalancerID, nil) {
			tags[k] = v
		}
	}
	if adopted {
		maps.Copy(tags, naming.AdoptedTags(ingressGroup, []string{"shop"}))
	}
	return observed.Stack{LoadBalancers: []observed.LoadBalancer{{ARN: "lb", ResourceID: model.LoadBalancerID, Tags: tags}}}
}

// withAdopter returns a copy of the observed state in which the stack with this id has taken over the load balancer.
func withAdopter(id model.StackID, have observed.Stack) observed.Stack {
	have.Facts.Adopter = &observed.Adopter{Stack: id, LoadBalancer: loadBalancerOf(true, id).LoadBalancers[0]}
	return have
}

// withMembersInNewNamespace returns a stack whose only member is in a namespace that had no members when the load balancer
// was taken over.
func withMembersInNewNamespace(s model.Stack) model.Stack {
	s.Members[0].Ref.Namespace = "evil"
	return s
}

func TestRelate(t *testing.T) {
	gone, held := model.Stack{}, model.Stack{ID: gateway, Held: model.HeldParts{AllResources: true}}
	for name, c := range map[string]struct {
		stack model.Stack
		have  observed.Stack
		other model.Stack
		off   bool
		want  RelationKind
	}{
		"a Gateway asks for nothing":               {stack: stackOf(gateway, true), have: loadBalancerOf(false, gateway), want: Unrelated},
		"a group that no Gateway asks for":         {stack: stackOf(ingressGroup, true), have: loadBalancerOf(false, ingressGroup), want: Unrelated},
		"the shadow is planned with what is there": {stack: adoptingGateway(true, false), other: stackOf(ingressGroup, true), want: TakesOver},
		"a Gateway takes over":                     {stack: adoptingGateway(false, false), other: stackOf(ingressGroup, true), want: TakesOver},
		"it has begun":                             {stack: adoptingGateway(false, true), have: loadBalancerOf(true, gateway, ingressGroup), other: stackOf(ingressGroup, true), want: TakesOver},
		"it has taken over":                        {stack: adoptingGateway(false, true), have: loadBalancerOf(true, gateway), other: stackOf(ingressGroup, true), want: TakesOver},
		"it has released":                          {stack: adoptingGateway(false, true), have: loadBalancerOf(true, gateway), other: gone, want: TakesOver},
		"it has one of its own":                    {stack: adoptingGateway(false, true), have: loadBalancerOf(false, gateway), other: stackOf(ingressGroup, true), want: HasOwnLoadBalancer},
		"what it had is gone from AWS":             {stack: adoptingGateway(false, true), other: gone, want: TakeOverNotAllowed},
		"what it names never was":                  {stack: adoptingGateway(false, false), other: gone, want: TakeOverNotAllowed},

		"it is to be given back":                         {stack: adoptingGateway(true, true), have: loadBalancerOf(true, gateway), other: stackOf(ingressGroup, true), want: GivesBack},
		"the annotation is removed":                      {stack: stackOf(gateway, true), have: loadBalancerOf(true, gateway), other: stackOf(ingressGroup, true), want: GivesBack},
		"the Gateway is deleted":                         {stack: model.Stack{ID: gateway, Leaving: stackOf(gateway, true).Members}, have: loadBalancerOf(true, gateway), other: stackOf(ingressGroup, true), want: GivesBack},
		"whose objects cannot be built":                  {stack: stackOf(gateway, true), have: loadBalancerOf(true, gateway), other: held, want: GivesBack},
		"the group has no members to take it back":       {stack: adoptingGateway(true, true), have: loadBalancerOf(true, gateway), other: gone, want: Unrelated},
		"the group has no members, and it has begun":     {stack: stackOf(gateway, true), have: loadBalancerOf(true, gateway, ingressGroup), other: gone, want: TakesOver},
		"the group is switched off":                      {stack: stackOf(gateway, true), have: loadBalancerOf(true, gateway), off: true, want: Unrelated},
		"who may take it back is of a foreign namespace": {stack: stackOf(gateway, true), have: loadBalancerOf(true, gateway), other: withMembersInNewNamespace(stackOf(ingressGroup, true)), want: Unrelated},
		"and it has begun":                               {stack: stackOf(gateway, true), have: loadBalancerOf(true, gateway, ingressGroup), other: withMembersInNewNamespace(stackOf(ingressGroup, true)), want: TakesOver},
		"one of a foreign namespace waits":               {stack: withMembersInNewNamespace(stackOf(ingressGroup, true)), have: withAdopter(gateway, observed.Stack{}), other: stackOf(gateway, true), want: Withheld},
		"nor does a deleted Gateway give it to that":     {stack: model.Stack{ID: gateway, Leaving: stackOf(gateway, true).Members}, have: loadBalancerOf(true, gateway), other: withMembersInNewNamespace(stackOf(ingressGroup, true)), want: Unrelated},
		"which waits until the Gateway is gone":          {stack: withMembersInNewNamespace(stackOf(ingressGroup, true)), have: withAdopter(gateway, observed.Stack{}), other: gone, want: Withheld},
		"it was given back":                              {stack: adoptingGateway(true, true), other: stackOf(ingressGroup, true), want: Returned},
		"the class is missing, no withdrawal":            {stack: held, have: loadBalancerOf(true, gateway), other: stackOf(ingressGroup, true), want: Unrelated},
		"the group of a Gateway that has it":             {stack: stackOf(ingressGroup, true), have: withAdopter(gateway, observed.Stack{}), other: adoptingGateway(false, true), want: HandedOver},
		"of one that has begun":                          {stack: stackOf(ingressGroup, true), have: withAdopter(gateway, loadBalancerOf(true, ingressGroup, gateway)), other: adoptingGateway(false, true), want: HandedOver},
		"of one whose class is missing":                  {stack: stackOf(ingressGroup, true), have: withAdopter(gateway, observed.Stack{}), other: held, want: HandedOver},
		"of one whose kind is off":                       {stack: stackOf(ingressGroup, true), have: withAdopter(gateway, observed.Stack{}), off: true, want: HandedOver},
		"of one that asks no more":                       {stack: stackOf(ingressGroup, true), have: withAdopter(gateway, observed.Stack{}), other: stackOf(gateway, true), want: TakesOver},
		"of one that is in dry run":                      {stack: stackOf(ingressGroup, true), have: withAdopter(gateway, observed.Stack{}), other: adoptingGateway(true, true), want: TakesOver},
		"of one that is gone":                            {stack: stackOf(ingressGroup, true), have: withAdopter(gateway, observed.Stack{}), other: gone, want: TakesOver},
		"all of the group leave, nothing is taken":       {stack: model.Stack{ID: ingressGroup}, have: withAdopter(gateway, observed.Stack{}), other: stackOf(gateway, true), want: HandedOver},
	} {
		got, err := Relate(c.stack, c.have, func(model.StackID) (model.Stack, bool, error) { return c.other, !c.off, nil }, func(finding.Ref) string { return "" })
		if err != nil || got.Kind != c.want {
			t.Errorf("%s: %+v, %v; want %d", name, got, err, c.want)
		}
	}
}

// TestStackDoesNotChangeResourcesThatItHandedOver checks that a stack is held if it has handed over its load balancer. It is
// not held if it has no members and all of its resources were taken over. It then removes its finalizers.
func TestStackDoesNotChangeResourcesThatItHandedOver(t *testing.T) {
	rel := Relation{Kind: HandedOver, Other: gateway}
	left := observed.Stack{TargetGroups: []observed.TargetGroup{{ARN: "old"}}}
	for name, c := range map[string]struct {
		stack model.Stack
		have  observed.Stack
		held  bool
	}{
		"with members":                   {stackOf(ingressGroup, true), observed.Stack{}, true},
		"without, and nothing is left":   {model.Stack{ID: ingressGroup}, observed.Stack{}, false},
		"without, and some is not taken": {model.Stack{ID: ingressGroup}, left, true},
	} {
		if got, _ := rel.AdjustDesired(c.stack, c.have); got.Held.AllResources != c.held {
			t.Errorf("%s: held %t", name, got.Held.AllResources)
		}
	}
}

// TestAdoptionNamespacesAreRecordedOnce checks that the namespaces whose Ingresses may take back a load balancer are
// recorded when it is taken over, and do not change later.
func TestAdoptionNamespacesAreRecordedOnce(t *testing.T) {
	t.Parallel()
	other := model.StackID{Kind: model.Ingress, Name: "victim"}
	asksFor := func(id model.StackID) model.Stack {
		s := adoptingGateway(false, true)
		s.Adopts = &model.Adoption{From: id}
		return s
	}
	for name, c := range map[string]struct {
		stack model.Stack
		of    model.Stack
		have  observed.Stack
		want  []string // nil: the load balancer cannot be returned
	}{
		"it begins":                   {asksFor(ingressGroup), stackOf(ingressGroup, true), loadBalancerOf(false, ingressGroup), []string{"shop"}},
		"it has it":                   {asksFor(ingressGroup), model.Stack{}, loadBalancerOf(true, gateway), []string{"shop"}},
		"another namespace joins":     {asksFor(ingressGroup), withMembersInNewNamespace(stackOf(ingressGroup, true)), loadBalancerOf(true, gateway, ingressGroup), []string{"shop"}},
		"it asks for another one now": {asksFor(other), model.Stack{}, loadBalancerOf(true, gateway, ingressGroup), nil},
		"it asks for none now":        {stackOf(gateway, true), model.Stack{}, loadBalancerOf(true, gateway, ingressGroup), nil},
	} {
		got, _ := Relation{Kind: TakesOver, Other: ingressGroup, OtherStack: c.of}.AdjustDesired(c.stack, c.have)
		switch {
		case (got.Adopts == nil) != (c.want == nil):
			t.Errorf("%s: %+v", name, got.Adopts)
		case got.Adopts != nil && !slices.Equal(got.Adopts.Namespaces, c.want):
			t.Errorf("%s: %v, want %v", name, got.Adopts.Namespaces, c.want)
		}
	}
}
