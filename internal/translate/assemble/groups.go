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

// TargetGroupKey identifies a target group of a stack by the object whose rules use it, and by the port of a Service.
type TargetGroupKey struct {
	Owner   finding.Ref
	Service string
	Port    intstr.IntOrString
	// Variant distinguishes target groups of one backend for listeners with different protocols. It is usually empty.
	Variant string
}

// idParts returns the fields of the key as texts. naming.DistinctID makes a unique resource ID from them.
func (k TargetGroupKey) idParts() []string {
	out := []string{k.Owner.String(), k.Service, k.Port.String()}
	if k.Variant != "" {
		out = append(out, k.Variant)
	}
	return out
}

func (k TargetGroupKey) compare(o TargetGroupKey) int {
	return cmp.Or(k.Owner.Compare(o.Owner), cmp.Compare(k.Service, o.Service), cmp.Compare(k.Port.String(), o.Port.String()), cmp.Compare(k.Port.Type, o.Port.Type), cmp.Compare(k.Variant, o.Variant))
}

// TargetGroups collects the target groups that the rules of a stack use. The zero value is empty.
type TargetGroups struct {
	byKey map[TargetGroupKey]*requestedTargetGroup
}

// requestedTargetGroup is a target group that a rule uses. targetGroup is nil if it could not be built.
type requestedTargetGroup struct {
	key TargetGroupKey
	// handle is a placeholder for the resource ID in actions. AddToStack replaces it.
	handle      string
	targetGroup *model.TargetGroup
}

// Request returns a handle of a target group: a placeholder for the resource ID in actions, which AddToStack replaces.
// The first call with a key calls build. If the target group is invalid, build reports the reason and returns nil. Then
// Request returns false, and each further call with the key also calls build, because each rule needs its finding.
func (g *TargetGroups) Request(key TargetGroupKey, build func() *model.TargetGroup) (handle string, ok bool) {
	if have, known := g.byKey[key]; known {
		if have.targetGroup == nil {
			build()
		}
		return have.handle, have.targetGroup != nil
	}
	if g.byKey == nil {
		g.byKey = map[TargetGroupKey]*requestedTargetGroup{}
	}
	asked := &requestedTargetGroup{key: key, handle: strconv.Itoa(len(g.byKey)), targetGroup: build()}
	g.byKey[key] = asked
	return asked.handle, asked.targetGroup != nil
}

// AddToStack adds the target groups to the stack, and replaces their handles in the actions of the load balancer by
// resource IDs. Target groups with different keys can have the same resource ID: if the joined fields are equal
// ("a"+"b-c", "a-b"+"c"), or if only Variant differs. Then the first one in the order of keys has this ID, and the
// others get an ID with a hash.
func (g *TargetGroups) AddToStack(stack *model.Stack) {
	var all []*requestedTargetGroup
	for _, asked := range g.byKey {
		if asked.targetGroup != nil {
			all = append(all, asked)
		}
	}
	slices.SortFunc(all, func(a, b *requestedTargetGroup) int { return a.key.compare(b.key) })
	taken := map[string]bool{}
	ids := map[string]string{}
	for _, asked := range all {
		if taken[asked.targetGroup.ID] {
			asked.targetGroup.ID = naming.DistinctID(asked.targetGroup.ID, asked.key.idParts()...)
		}
		taken[asked.targetGroup.ID] = true
		ids[asked.handle] = asked.targetGroup.ID
		stack.TargetGroups = append(stack.TargetGroups, *asked.targetGroup)
	}
	slices.SortFunc(stack.TargetGroups, func(a, b model.TargetGroup) int { return cmp.Compare(a.ID, b.ID) })
	for i := range stack.LoadBalancer.Listeners {
		l := &stack.LoadBalancer.Listeners[i]
		setIDs(l.Default, ids)
		rules := l.Rules
		if l.AllRules != nil {
			rules = l.AllRules // all rules, which share their actions with l.Rules
		}
		for j := range rules {
			setIDs(rules[j].Actions, ids)
		}
	}
}

// setIDs replaces the handles of target groups in actions by their resource IDs. ids has the resource IDs by handle.
func setIDs(actions []model.Action, ids map[string]string) {
	groups := model.ForwardedTargetGroups(actions)
	for i := range groups {
		if id := groups[i].Group.ID; id != "" {
			groups[i].Group.ID = ids[id]
		}
	}
}

// MaxNamedTargetGroups is the maximum number of target groups that the members of a namespace may reference by name or ARN.
// Each reference costs an AWS call. AWS permits this number of target groups on an Application Load Balancer by default.
const MaxNamedTargetGroups = 100

// NamedTargetGroups has the names and ARNs by which the members of each namespace reference target groups.
type NamedTargetGroups map[string]map[string]bool

// Add adds ref, the name or ARN of a target group, to those of a namespace. It returns false if ref is new and the namespace
// already references MaxNamedTargetGroups target groups.
func (n NamedTargetGroups) Add(namespace, ref string) bool {
	of := n[namespace]
	if of == nil {
		of = map[string]bool{}
		n[namespace] = of
	}
	if len(of) < MaxNamedTargetGroups {
		of[ref] = true
	}
	return of[ref]
}
