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
	group   = model.StackID{Kind: model.Ingress, Name: "edge"}
	gateway = model.StackID{Kind: model.ALBGateway, Namespace: "shop", Name: "edge"}
)

// stackOf has a load balancer and a member, which carries a finalizer if it is claimed.
func stackOf(id model.StackID, claimed bool) model.Stack {
	return model.Stack{ID: id, LoadBalancer: &model.LoadBalancer{}, Attached: []string{"shop"}, Members: []model.Member{{Ref: finding.Ref{Kind: "X", Namespace: "shop", Name: "x"}, Claimed: claimed}}}
}

// asking is the Gateway with the annotation.
func asking(dryRun, claimed bool) model.Stack {
	s := stackOf(gateway, claimed)
	s.DryRun, s.Adopts = dryRun, &model.Adoption{From: group}
	return s
}

// live is a load balancer with the tags of stacks, and the one of the group that it was made for if adopted.
func live(adopted bool, of ...model.StackID) observed.Stack {
	tags := map[string]string{}
	for _, id := range of {
		for k, v := range naming.ResourceTags("c", id, model.LoadBalancerID, nil) {
			tags[k] = v
		}
	}
	if adopted {
		maps.Copy(tags, naming.AdoptedTags(group, []string{"shop"}))
	}
	return observed.Stack{LoadBalancers: []observed.LoadBalancer{{ARN: "lb", ResourceID: model.LoadBalancerID, Tags: tags}}}
}

// adoptedBy is what a stack sees whose load balancer another one has.
func adoptedBy(id model.StackID, have observed.Stack) observed.Stack {
	have.Facts.Adopter = &observed.Adopter{Stack: id, LoadBalancer: live(true, id).LoadBalancers[0]}
	return have
}

// foreign has members of a namespace that had none when the load balancer was taken over.
func foreign(s model.Stack) model.Stack {
	s.Members[0].Ref.Namespace = "evil"
	return s
}

func TestRelate(t *testing.T) {
	gone, held := model.Stack{}, model.Stack{ID: gateway, Held: model.HeldParts{Everything: true}}
	for name, c := range map[string]struct {
		stack model.Stack
		have  observed.Stack
		other model.Stack
		off   bool
		want  Standing
	}{
		"a Gateway asks for nothing":               {stack: stackOf(gateway, true), have: live(false, gateway), want: Alone},
		"a group that no Gateway asks for":         {stack: stackOf(group, true), have: live(false, group), want: Alone},
		"the shadow is planned with what is there": {stack: asking(true, false), other: stackOf(group, true), want: Takes},
		"a Gateway takes over":                     {stack: asking(false, false), other: stackOf(group, true), want: Takes},
		"it has begun":                             {stack: asking(false, true), have: live(true, gateway, group), other: stackOf(group, true), want: Takes},
		"it has taken over":                        {stack: asking(false, true), have: live(true, gateway), other: stackOf(group, true), want: Takes},
		"it has released":                          {stack: asking(false, true), have: live(true, gateway), other: gone, want: Takes},
		"it has one of its own":                    {stack: asking(false, true), have: live(false, gateway), other: stackOf(group, true), want: HasOwn},
		"what it had is gone from AWS":             {stack: asking(false, true), other: gone, want: NotAllowed},
		"what it names never was":                  {stack: asking(false, false), other: gone, want: NotAllowed},

		"it is to be given back":                         {stack: asking(true, true), have: live(true, gateway), other: stackOf(group, true), want: Gives},
		"the annotation is removed":                      {stack: stackOf(gateway, true), have: live(true, gateway), other: stackOf(group, true), want: Gives},
		"the Gateway is deleted":                         {stack: model.Stack{ID: gateway, Leaving: stackOf(gateway, true).Members}, have: live(true, gateway), other: stackOf(group, true), want: Gives},
		"whose objects cannot be built":                  {stack: stackOf(gateway, true), have: live(true, gateway), other: held, want: Gives},
		"the group has no members to take it back":       {stack: asking(true, true), have: live(true, gateway), other: gone, want: Alone},
		"the group has no members, and it has begun":     {stack: stackOf(gateway, true), have: live(true, gateway, group), other: gone, want: Takes},
		"the group is switched off":                      {stack: stackOf(gateway, true), have: live(true, gateway), off: true, want: Alone},
		"who may take it back is of a foreign namespace": {stack: stackOf(gateway, true), have: live(true, gateway), other: foreign(stackOf(group, true)), want: Alone},
		"and it has begun":                               {stack: stackOf(gateway, true), have: live(true, gateway, group), other: foreign(stackOf(group, true)), want: Takes},
		"one of a foreign namespace waits":               {stack: foreign(stackOf(group, true)), have: adoptedBy(gateway, observed.Stack{}), other: stackOf(gateway, true), want: Withheld},
		"nor does a deleted Gateway give it to that":     {stack: model.Stack{ID: gateway, Leaving: stackOf(gateway, true).Members}, have: live(true, gateway), other: foreign(stackOf(group, true)), want: Alone},
		"which waits until the Gateway is gone":          {stack: foreign(stackOf(group, true)), have: adoptedBy(gateway, observed.Stack{}), other: gone, want: Withheld},
		"it was given back":                              {stack: asking(true, true), other: stackOf(group, true), want: Returned},
		"the class is missing, no withdrawal":            {stack: held, have: live(true, gateway), other: stackOf(group, true), want: Alone},
		"the group of a Gateway that has it":             {stack: stackOf(group, true), have: adoptedBy(gateway, observed.Stack{}), other: asking(false, true), want: Handed},
		"of one that has begun":                          {stack: stackOf(group, true), have: adoptedBy(gateway, live(true, group, gateway)), other: asking(false, true), want: Handed},
		"of one whose class is missing":                  {stack: stackOf(group, true), have: adoptedBy(gateway, observed.Stack{}), other: held, want: Handed},
		"of one whose kind is off":                       {stack: stackOf(group, true), have: adoptedBy(gateway, observed.Stack{}), off: true, want: Handed},
		"of one that asks no more":                       {stack: stackOf(group, true), have: adoptedBy(gateway, observed.Stack{}), other: stackOf(gateway, true), want: Takes},
		"of one that is in dry run":                      {stack: stackOf(group, true), have: adoptedBy(gateway, observed.Stack{}), other: asking(true, true), want: Takes},
		"of one that is gone":                            {stack: stackOf(group, true), have: adoptedBy(gateway, observed.Stack{}), other: gone, want: Takes},
		"all of the group leave, nothing is taken":       {stack: model.Stack{ID: group}, have: adoptedBy(gateway, observed.Stack{}), other: stackOf(gateway, true), want: Handed},
	} {
		got, err := Relate(c.stack, c.have, func(model.StackID) (model.Stack, bool, error) { return c.other, !c.off, nil }, func(finding.Ref) string { return "" })
		if err != nil || got.Standing != c.want {
			t.Errorf("%s: %+v, %v; want %d", name, got, err, c.want)
		}
	}
}

// What is handed over is not touched by the stack that had it, and its objects are released when nothing is left.
func TestAStackThatHandedOverHolds(t *testing.T) {
	rel := Relation{Standing: Handed, Other: gateway}
	left := observed.Stack{TargetGroups: []observed.TargetGroup{{ARN: "old"}}}
	for name, c := range map[string]struct {
		stack model.Stack
		have  observed.Stack
		held  bool
	}{
		"with members":                   {stackOf(group, true), observed.Stack{}, true},
		"without, and nothing is left":   {model.Stack{ID: group}, observed.Stack{}, false},
		"without, and some is not taken": {model.Stack{ID: group}, left, true},
	} {
		if got, _ := rel.Apply(c.stack, c.have); got.Held.Everything != c.held {
			t.Errorf("%s: held %t", name, got.Held.Everything)
		}
	}
}

// Who may have a load balancer back is decided when it is taken over, and what a Gateway asks for later changes nothing of it.
func TestWhoMayHaveItBackIsRecordedOnce(t *testing.T) {
	t.Parallel()
	other := model.StackID{Kind: model.Ingress, Name: "victim"}
	asksFor := func(id model.StackID) model.Stack {
		s := asking(false, true)
		s.Adopts = &model.Adoption{From: id}
		return s
	}
	for name, c := range map[string]struct {
		stack model.Stack
		of    model.Stack
		have  observed.Stack
		want  []string // nil: it cannot be given back
	}{
		"it begins":                   {asksFor(group), stackOf(group, true), live(false, group), []string{"shop"}},
		"it has it":                   {asksFor(group), model.Stack{}, live(true, gateway), []string{"shop"}},
		"another namespace joins":     {asksFor(group), foreign(stackOf(group, true)), live(true, gateway, group), []string{"shop"}},
		"it asks for another one now": {asksFor(other), model.Stack{}, live(true, gateway, group), nil},
		"it asks for none now":        {stackOf(gateway, true), model.Stack{}, live(true, gateway, group), nil},
	} {
		got, _ := Relation{Standing: Takes, Other: group, OtherStack: c.of}.Apply(c.stack, c.have)
		switch {
		case (got.Adopts == nil) != (c.want == nil):
			t.Errorf("%s: %+v", name, got.Adopts)
		case got.Adopts != nil && !slices.Equal(got.Adopts.Namespaces, c.want):
			t.Errorf("%s: %v, want %v", name, got.Adopts.Namespaces, c.want)
		}
	}
}
