package planner

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/listeners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/rules"
)

// refuseHostnames plans, while the whole stack is held, rules that answer 404 to requests for hostnames that the member of
// an existing rule may not use. The existing rule is retained, because its member may use the other hostnames of the rule.
func (d *stepPlanner) refuseHostnames() {
	before := listeners.ForeignHostnames(d.Have.Facts.Withdrawn)
	for i := range d.Have.LoadBalancers {
		d.refuseOnLoadBalancer(&d.Have.LoadBalancers[i], before)
	}
}

func (d *stepPlanner) refuseOnLoadBalancer(lb *observed.LoadBalancer, before map[string][]model.ForeignHostname) {
	for i := range lb.Listeners {
		d.refuseOnListener(&lb.Listeners[i], before)
	}
}

// refuseOnHeldListeners plans rules that answer 404 for hostnames that the member of a rule may not use. It plans them for
// listeners that are not changed, including listeners of previous load balancers. The desired rules of all other listeners
// already include them.
func (d *stepPlanner) refuseOnHeldListeners() {
	before := listeners.ForeignHostnames(d.Have.Facts.Withdrawn)
	for _, old := range d.lb.Previous {
		d.refuseOnLoadBalancer(old, before)
	}
	for i := range d.lb.Listeners {
		if l := &d.lb.Listeners[i]; !l.Planned && l.Live != nil {
			d.refuseOnListener(l.Live, before)
		}
	}
}

// refuseOnListener plans rules that answer 404 on one listener. before has, by the ARN of an existing rule, the hostnames
// that a rule with higher precedence must refuse. If no priority is free before a rule, this rule and the rules after it get
// larger priority numbers, in one call. If these numbers could exceed the maximum of AWS, for example because an interrupted
// run has left rules at the last priorities, all rules are numbered from 1.
func (d *stepPlanner) refuseOnListener(l *observed.Listener, before map[string][]model.ForeignHostname) {
	a := plan.Address{Kind: plan.Listener, ID: l.ARN}
	moved := map[plan.Address]int32{}
	order := plan.Step{ID: plan.NewStepID("revoke-order", a), Address: a, Verb: plan.Update, Impact: plan.BriefImpact, IsRevocation: true}
	var made []plan.Step
	last, answered := int32(0), listeners.AnsweredHostnames{}
	needed := 0 // the highest priority that may be needed
	for _, r := range l.Rules {
		needed = max(needed, int(r.Priority))
	}
	for _, r := range l.Rules {
		needed += len(before[r.ARN])
	}
	for _, r := range slices.SortedFunc(slices.Values(l.Rules), func(x, y observed.Rule) int { return cmp.Compare(x.Priority, y.Priority) }) {
		for _, h := range before[r.ARN] {
			if answered.Has(h) {
				continue
			}
			answered.Add([]model.Condition{h.Host})
			last++
			made = append(made, d.refusalStep(l, last, h))
			order.Why, order.RequestedBy = h.Message, append(order.RequestedBy, h.Object)
		}
		answered.Add(r.Conditions)
		if r.Priority > last && needed <= rules.MaxPriority {
			last = r.Priority
			continue
		}
		if last++; r.Priority == last {
			continue
		}
		moved[plan.RuleAddress(r.ARN)] = last
		order.Changes = append(order.Changes, plan.Change{Path: "priority of " + r.ARN, From: fmt.Sprint(r.Priority), To: fmt.Sprint(last)})
	}
	if len(made) == 0 { // rules for all hostnames exist
		return
	}
	if len(moved) > 0 {
		order.Do = plan.SetPriorities{Priorities: moved}
		d.Add(order)
	}
	for _, s := range made {
		if len(moved) > 0 {
			s.After = []plan.StepID{order.ID}
		}
		d.Add(s)
	}
}

// refusalStep returns the step that creates the rule that answers 404 for one hostname. at is the priority of the rule.
func (d *stepPlanner) refusalStep(l *observed.Listener, at int32, h model.ForeignHostname) plan.Step {
	a, listener := plan.Address{Kind: plan.Rule, ID: naming.RuleID(l.Port, at)}, plan.Address{Kind: plan.Listener, ID: l.ARN}
	rule, found := listeners.NotFoundRule(h)
	d.Findings.Add(found)
	return plan.Step{
		ID: plan.NewStepID("revoke-hostname", listener, a.ID), Address: a, Verb: plan.Create, Why: h.Message, Impact: plan.BriefImpact, IsRevocation: true,
		Do:          plan.CreateRule{Listener: listener, Priority: at, Rule: rule, Tags: d.RuleTags(d.Tags(a.ID, nil))},
		RequestedBy: []finding.Ref{h.Object},
	}
}
