package assemble

import (
	"cmp"
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// GroupKey names a target group of a stack without ambiguity: by the object whose rules use it, and the port of
// a Service.
type GroupKey struct {
	Owner   finding.Ref
	Service string
	Port    intstr.IntOrString
	// Variant distinguishes target groups of one backend that listeners need with different protocols; usually empty.
	Variant string
}

// parts distinguish a target group from another one that spells the same id.
func (k GroupKey) parts() []string {
	out := []string{k.Owner.String(), k.Service, k.Port.String()}
	if k.Variant != "" {
		out = append(out, k.Variant)
	}
	return out
}

func (k GroupKey) compare(o GroupKey) int {
	return cmp.Or(k.Owner.Compare(o.Owner), cmp.Compare(k.Service, o.Service), cmp.Compare(k.Port.String(), o.Port.String()), cmp.Compare(k.Port.Type, o.Port.Type), cmp.Compare(k.Variant, o.Variant))
}

// Groups are the target groups that the rules of a stack ask for. The zero value has none.
type Groups struct{ of map[GroupKey]*askedGroup }

// askedGroup is a target group that rules asked for; group is nil if it could not be built.
type askedGroup struct {
	key GroupKey
	// handle stands for the id in actions until Finish chooses the ids.
	handle string
	group  *model.TargetGroup
}

// Ask returns what stands for the id of a target group in actions until Finish. It is built once per stack. build
// returns nil, and reports why, for one that is at fault; the fault is one of each rule that asks for it.
func (g *Groups) Ask(key GroupKey, build func() *model.TargetGroup) (handle string, ok bool) {
	if have, known := g.of[key]; known {
		if have.group == nil {
			build()
		}
		return have.handle, have.group != nil
	}
	if g.of == nil {
		g.of = map[GroupKey]*askedGroup{}
	}
	asked := &askedGroup{key: key, handle: strconv.Itoa(len(g.of)), group: build()}
	g.of[key] = asked
	return asked.handle, asked.group != nil
}

// Finish adds the target groups to the stack and puts their ids into the actions of its load balancer. Two groups
// whose parts are divided differently can spell the same id ("a"+"b-c", "a-b"+"c"), and so do variants: the first in
// order keeps it and the others get one of their own.
func (g *Groups) Finish(stack *model.Stack) {
	var all []*askedGroup
	for _, asked := range g.of {
		if asked.group != nil {
			all = append(all, asked)
		}
	}
	slices.SortFunc(all, func(a, b *askedGroup) int { return a.key.compare(b.key) })
	taken := map[string]bool{}
	ids := map[string]string{}
	for _, asked := range all {
		if taken[asked.group.ID] {
			asked.group.ID = naming.DistinctID(asked.group.ID, asked.key.parts()...)
		}
		taken[asked.group.ID] = true
		ids[asked.handle] = asked.group.ID
		stack.TargetGroups = append(stack.TargetGroups, *asked.group)
	}
	slices.SortFunc(stack.TargetGroups, func(a, b model.TargetGroup) int { return cmp.Compare(a.ID, b.ID) })
	for i := range stack.LoadBalancer.Listeners {
		l := &stack.LoadBalancer.Listeners[i]
		setIDs(l.Default, ids)
		rules := l.Rules
		if l.Covered != nil {
			rules = l.Covered // which have the actions of l.Rules among theirs
		}
		for j := range rules {
			setIDs(rules[j].Actions, ids)
		}
	}
}

// setIDs puts the ids of target groups in place of their handles.
func setIDs(actions []model.Action, ids map[string]string) {
	for _, a := range actions {
		f, ok := a.(model.Forward)
		if !ok {
			continue
		}
		for i := range f.Groups {
			if id := f.Groups[i].Group.ID; id != "" {
				f.Groups[i].Group.ID = ids[id]
			}
		}
	}
}
