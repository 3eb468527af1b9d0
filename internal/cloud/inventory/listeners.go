package inventory

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// loadBalancing has the load balancers with their listeners and rules, and the target groups. It also records which load
// balancers use which target groups. The caller of each method holds the lock of the inventory.
type loadBalancing struct {
	LoadBalancers *Table[LoadBalancer] // all of the region, by ARN
	TargetGroups  *Table[TargetGroup]  // all of the region, by ARN
	// Parent maps the ARN of a rule to the ARN of its listener, and the ARN of a listener to the ARN of its load balancer.
	Parent map[string]string
}

// DropLoadBalancer removes a load balancer with its listeners and rules.
func (v *loadBalancing) DropLoadBalancer(arn string) {
	e := v.LoadBalancers.Get(arn)
	if e == nil {
		return
	}
	for l, le := range e.Listeners {
		v.removeParent(l, le)
	}
	v.LoadBalancers.Drop(arn)
	v.linkTargetGroups(arn, nil)
}

// removeParent removes a listener and its rules from Parent.
func (v *loadBalancing) removeParent(arn string, le *Listener) {
	delete(v.Parent, arn)
	for r := range le.Rules {
		delete(v.Parent, r)
	}
}

// setParent adds a listener and its rules to Parent.
func (v *loadBalancing) setParent(e *LoadBalancer, le *Listener) {
	v.Parent[le.Seen.ARN] = e.Seen.ARN
	for r := range le.Rules {
		v.Parent[r] = le.Seen.ARN
	}
}

// SetListeners replaces all listeners of a load balancer.
func (v *loadBalancing) SetListeners(e *LoadBalancer, listeners map[string]*Listener) {
	for l, le := range e.Listeners {
		v.removeParent(l, le)
	}
	e.Listeners, e.TargetGroupUses = listeners, nil
	for _, le := range listeners {
		v.setParent(e, le)
		e.AddListenerUses(le, 1)
	}
	v.updateTargetGroupLinks(e)
}

// PutListener adds a listener to a load balancer, or replaces it.
func (v *loadBalancing) PutListener(e *LoadBalancer, le *Listener) {
	if e.Listeners == nil {
		e.Listeners = map[string]*Listener{}
	}
	if old := e.Listeners[le.Seen.ARN]; old != nil {
		v.removeParent(le.Seen.ARN, old)
		e.AddListenerUses(old, -1)
	}
	e.Listeners[le.Seen.ARN] = le
	v.setParent(e, le)
	e.AddListenerUses(le, 1)
	v.updateTargetGroupLinks(e)
}

// ChangeListener replaces the settings of a listener and keeps its rules.
func (v *loadBalancing) ChangeListener(e *LoadBalancer, le *Listener, l observed.Listener) {
	e.addUses(le.Seen.Default, -1)
	le.Seen = l
	e.addUses(le.Seen.Default, 1)
	v.updateTargetGroupLinks(e)
}

// DropListener removes a listener with its rules.
func (v *loadBalancing) DropListener(e *LoadBalancer, le *Listener) {
	v.removeParent(le.Seen.ARN, le)
	delete(e.Listeners, le.Seen.ARN)
	e.AddListenerUses(le, -1)
	v.updateTargetGroupLinks(e)
}

// PutRule adds or replaces a rule of a listener.
func (v *loadBalancing) PutRule(e *LoadBalancer, le *Listener, r observed.Rule) {
	if le.Rules == nil {
		le.Rules = map[string]observed.Rule{}
	}
	e.addUses(le.Rules[r.ARN].Actions, -1)
	le.Rules[r.ARN] = r
	e.addUses(r.Actions, 1)
	v.Parent[r.ARN] = le.Seen.ARN
	v.updateTargetGroupLinks(e)
}

// DropRule removes a rule of a listener.
func (v *loadBalancing) DropRule(e *LoadBalancer, le *Listener, arn string) {
	e.addUses(le.Rules[arn].Actions, -1)
	delete(le.Rules, arn)
	delete(v.Parent, arn)
	v.updateTargetGroupLinks(e)
}

// Listener returns a listener and its load balancer. The listener is nil if the inventory does not contain it.
func (v *loadBalancing) Listener(arn string) (*LoadBalancer, *Listener) {
	e := v.LoadBalancers.Get(v.Parent[arn])
	if e == nil {
		return nil, nil
	}
	return e, e.Listeners[arn]
}

// ListenerOfRule returns the load balancer and the listener of a rule. The listener is nil if the inventory does not contain
// the rule.
func (v *loadBalancing) ListenerOfRule(arn string) (*LoadBalancer, *Listener) {
	return v.Listener(v.Parent[arn])
}

// AddListenerUses adds n to TargetGroupUses for each action of a listener and its rules that forwards to a target group.
func (e *LoadBalancer) AddListenerUses(le *Listener, n int) {
	e.addUses(le.Seen.Default, n)
	for _, r := range le.Rules {
		e.addUses(r.Actions, n)
	}
}

// addUses adds n to TargetGroupUses for each target group in the forward actions.
func (e *LoadBalancer) addUses(as []model.Action, n int) {
	if e.TargetGroupUses == nil {
		e.TargetGroupUses = map[string]int{}
	}
	for _, a := range as {
		f, ok := a.(model.Forward)
		if !ok {
			continue
		}
		for _, g := range f.Groups {
			if e.TargetGroupUses[g.Group.ARN] += n; e.TargetGroupUses[g.Group.ARN] == 0 {
				delete(e.TargetGroupUses, g.Group.ARN)
			}
		}
	}
}

// updateTargetGroupLinks adds load balancer e to the load balancers of each target group that e forwards to, and removes e
// from all other target groups.
func (v *loadBalancing) updateTargetGroupLinks(e *LoadBalancer) {
	v.linkTargetGroups(e.Seen.ARN, e.TargetGroupUses)
}

// linkTargetGroups adds a load balancer to the target groups in uses, and removes it from all other target groups.
func (v *loadBalancing) linkTargetGroups(lb string, uses map[string]int) {
	var unused []string
	for arn := range v.TargetGroups.EntriesWithKey(byLoadBalancer, lb) {
		if uses[arn] == 0 {
			unused = append(unused, arn)
		}
	}
	for _, arn := range unused {
		v.TargetGroups.Edit(arn, func(g *TargetGroup) {
			g.Seen.LoadBalancers = slices.DeleteFunc(slices.Clone(g.Seen.LoadBalancers), func(s string) bool { return s == lb })
		})
	}
	for arn := range uses {
		if g := v.TargetGroups.Get(arn); g != nil && !slices.Contains(g.Seen.LoadBalancers, lb) {
			v.TargetGroups.Edit(arn, func(g *TargetGroup) {
				g.Seen.LoadBalancers = append(slices.Clone(g.Seen.LoadBalancers), lb)
				slices.Sort(g.Seen.LoadBalancers)
			})
		}
	}
}
