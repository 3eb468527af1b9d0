package cloud

import (
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Listeners and rules, and which target groups they forward to. All of it is called under the lock.

// dropLoadBalancer forgets a load balancer and what hangs on it.
func (v *inventory) dropLoadBalancer(arn string) {
	e := v.lbs.get(arn)
	if e == nil {
		return
	}
	for l, le := range e.listeners {
		v.unlink(l, le)
	}
	v.lbs.drop(arn)
	v.link(arn, nil)
}

// unlink forgets whose a listener and its rules are.
func (v *inventory) unlink(arn string, le *listenerEntry) {
	delete(v.parent, arn)
	for r := range le.rules {
		delete(v.parent, r)
	}
}

// own notes whose a listener and its rules are.
func (v *inventory) own(e *lbEntry, le *listenerEntry) {
	v.parent[le.l.ARN] = e.lb.ARN
	for r := range le.rules {
		v.parent[r] = le.l.ARN
	}
}

// setListeners replaces a load balancer's listeners.
func (v *inventory) setListeners(e *lbEntry, listeners map[string]*listenerEntry) {
	for l, le := range e.listeners {
		v.unlink(l, le)
	}
	e.listeners, e.uses = listeners, nil
	for _, le := range listeners {
		v.own(e, le)
		e.countListener(le, 1)
	}
	v.relink(e)
}

// putListener adds or replaces a listener.
func (v *inventory) putListener(e *lbEntry, le *listenerEntry) {
	if e.listeners == nil {
		e.listeners = map[string]*listenerEntry{}
	}
	if old := e.listeners[le.l.ARN]; old != nil {
		v.unlink(le.l.ARN, old)
		e.countListener(old, -1)
	}
	e.listeners[le.l.ARN] = le
	v.own(e, le)
	e.countListener(le, 1)
	v.relink(e)
}

// changeListener gives a listener new settings; its rules stay.
func (v *inventory) changeListener(e *lbEntry, le *listenerEntry, l observed.Listener) {
	e.count(le.l.Default, -1)
	le.l = l
	e.count(le.l.Default, 1)
	v.relink(e)
}

// dropListener forgets a listener with its rules.
func (v *inventory) dropListener(e *lbEntry, le *listenerEntry) {
	v.unlink(le.l.ARN, le)
	delete(e.listeners, le.l.ARN)
	e.countListener(le, -1)
	v.relink(e)
}

// putRule adds or replaces a rule of a listener.
func (v *inventory) putRule(e *lbEntry, le *listenerEntry, r observed.Rule) {
	if le.rules == nil {
		le.rules = map[string]observed.Rule{}
	}
	e.count(le.rules[r.ARN].Actions, -1)
	le.rules[r.ARN] = r
	e.count(r.Actions, 1)
	v.parent[r.ARN] = le.l.ARN
	v.relink(e)
}

// dropRule forgets a rule.
func (v *inventory) dropRule(e *lbEntry, le *listenerEntry, arn string) {
	e.count(le.rules[arn].Actions, -1)
	delete(le.rules, arn)
	delete(v.parent, arn)
	v.relink(e)
}

// listener finds a listener and its load balancer, nil if they are not known.
func (v *inventory) listener(arn string) (*lbEntry, *listenerEntry) {
	e := v.lbs.get(v.parent[arn])
	if e == nil {
		return nil, nil
	}
	return e, e.listeners[arn]
}

// rule finds the listener and load balancer of a rule.
func (v *inventory) rule(arn string) (*lbEntry, *listenerEntry) { return v.listener(v.parent[arn]) }

// countListener adds to the uses of target groups those of a listener and its rules, n times.
func (e *lbEntry) countListener(le *listenerEntry, n int) {
	e.count(le.l.Default, n)
	for _, r := range le.rules {
		e.count(r.Actions, n)
	}
}

// count adds to the uses of target groups those of actions, n times.
func (e *lbEntry) count(as []model.Action, n int) {
	if e.uses == nil {
		e.uses = map[string]int{}
	}
	for _, a := range as {
		f, ok := a.(model.Forward)
		if !ok {
			continue
		}
		for _, g := range f.Groups {
			if e.uses[g.Group.ARN] += n; e.uses[g.Group.ARN] == 0 {
				delete(e.uses, g.Group.ARN)
			}
		}
	}
}

// relink brings the target groups' lists of load balancers in line with an entry's actions.
func (v *inventory) relink(e *lbEntry) { v.link(e.lb.ARN, e.uses) }

// link makes a load balancer one of those of the target groups that it uses, and of no others.
func (v *inventory) link(lb string, uses map[string]int) {
	var left []string
	for arn := range v.groups.having(byLoadBalancer, lb) {
		if uses[arn] == 0 {
			left = append(left, arn)
		}
	}
	for _, arn := range left {
		v.groups.edit(arn, func(g *groupEntry) {
			g.g.LoadBalancers = slices.DeleteFunc(slices.Clone(g.g.LoadBalancers), func(s string) bool { return s == lb })
		})
	}
	for arn := range maps.Keys(uses) {
		if g := v.groups.get(arn); g != nil && !slices.Contains(g.g.LoadBalancers, lb) {
			v.groups.edit(arn, func(g *groupEntry) {
				g.g.LoadBalancers = append(slices.Clone(g.g.LoadBalancers), lb)
				slices.Sort(g.g.LoadBalancers)
			})
		}
	}
}
