package plan

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// notFound answers what no rule of anybody matches.
var notFound = model.FixedResponse{Status: "404", ContentType: "text/plain"}

// unavailable stands in for a rule that cannot be built and is not live, so that requests meant
// for it do not fall through to a rule that was never meant for them.
var unavailable = model.FixedResponse{Status: "503", ContentType: "text/plain", Body: "Rule is held because its configuration is not valid"}

// hold keeps the live rule of the same place, or puts a 503 there.
func (p *rulePlan) hold(live *observed.Listener, taken map[string]bool) {
	if r := findPlace(live, p.wish.Hosts(), p.wish.Paths(), taken); r != nil {
		taken[r.ARN] = true
		p.kept = r
		p.wish.Conditions, p.wish.Transforms, p.wish.Actions = r.Conditions, r.Transforms, r.Actions
		return
	}
	p.wish.Actions, p.wish.Transforms = []model.Action{unavailable}, nil
	if p.wish.Instead != nil {
		p.wish.Conditions = p.wish.Instead
	}
	if len(p.wish.Conditions) == 0 {
		p.wish.Conditions = []model.Condition{model.PathPattern{Values: []string{"/*"}}}
	}
}

func findPlace(live *observed.Listener, hosts, paths []string, taken map[string]bool) *observed.Rule {
	if live == nil {
		return nil
	}
	for i := range live.Rules {
		r := &live.Rules[i]
		m := model.Rule{Conditions: r.Conditions}
		if !taken[r.ARN] && samePlace(hosts, paths, m.Hosts(), m.Paths()) {
			return r
		}
	}
	return nil
}

// insertHeld keeps a live rule whose member could not say where it belongs, at the place that it
// has among the others now.
func (b *builder) insertHeld(l *listenerPlan, h model.HeldRule, taken map[string]bool) {
	r := findPlace(l.live, h.Hosts, h.Paths, taken)
	if r == nil {
		return
	}
	taken[r.ARN] = true
	at := 0
	for i, p := range l.rules {
		for _, o := range l.live.Rules {
			if o.Priority < r.Priority && sameConditions(o.Conditions, p.wish.Conditions) {
				at = i + 1
			}
		}
	}
	l.rules = slices.Insert(l.rules, at, rulePlan{held: true, kept: r, wish: model.Rule{
		Conditions: r.Conditions, Transforms: r.Transforms, Actions: r.Actions, Member: h.Member, Held: true,
		Tags: userTags(b, r.Tags),
	}})
}

// userTags are the live tags of a kept rule without the tracking tags.
func userTags(b *builder, tags map[string]string) map[string]string {
	out := map[string]string{}
	for k, v := range tags {
		if !naming.ReservedTag(k) {
			out[k] = v
		}
	}
	return out
}

// keep notes the target groups that live actions forward to.
func (b *builder) keep(actions []model.Action) {
	for _, a := range actions {
		if f, ok := a.(model.Forward); ok {
			for _, g := range f.Groups {
				if g.Group.ARN != "" {
					b.kept[g.Group.ARN] = true
				}
			}
		}
	}
}

// keepHeldElsewhere keeps whole listeners that nobody wishes for but that carry a held rule.
func (b *builder) keepHeldElsewhere() {
	if b.live == nil {
		return
	}
	for i := range b.live.Listeners {
		l := &b.live.Listeners[i]
		if b.wishes(l.Port) {
			continue
		}
		if slices.ContainsFunc(b.want.Held, func(h model.HeldRule) bool { return findPlace(l, h.Hosts, h.Paths, nil) != nil }) {
			b.listeners = append(b.listeners, listenerPlan{wish: model.Listener{Port: l.Port}, live: l})
			b.plan.Ports = append(b.plan.Ports, l.Port)
			slices.Sort(b.plan.Ports)
		}
	}
	for _, l := range b.listeners {
		if !l.make && l.live != nil {
			b.keep(l.live.Default)
			for _, r := range l.live.Rules {
				b.keep(r.Actions)
			}
		}
	}
}
