package plan

import (
	"maps"
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

// holdRules finds for each held rule the live one that it keeps, and returns what is spoken for.
// Rules of several members may have the same hosts and paths, and nothing live says whose it is. A
// live rule that is just what another member wishes is that member's. Where there are as many live
// rules at a place as wished ones, they are taken for each other in order.
func (b *builder) holdRules(l *listenerPlan) map[string]bool {
	taken := map[string]bool{}
	if l.live == nil {
		for i := range l.rules {
			if l.rules[i].held {
				l.rules[i].hold(nil)
			}
		}
		return taken
	}
	own := b.ownRules(l)
	wishes := slices.Clone(l.rules)
	for i := range l.rules {
		p := &l.rules[i]
		if !p.held {
			continue
		}
		c := b.claimants(l.live, wishes, own, i)
		if c.keeps != nil && !taken[c.keeps.ARN] {
			taken[c.keeps.ARN] = true
			p.hold(c.keeps)
			continue
		}
		free := slices.IndexFunc(c.free, func(r *observed.Rule) bool { return !taken[r.ARN] })
		if free >= 0 {
			taken[c.free[free].ARN] = true
			p.hold(c.free[free])
			continue
		}
		p.hold(nil)
		// Who comes first must not take away what others serve there now.
		for _, r := range c.there {
			if at, others := own[r.ARN]; others && at > i && sameConditions(p.wish.Conditions, r.Conditions) {
				p.wish.Actions, p.wish.Transforms = r.Actions, r.Transforms
				break
			}
		}
	}
	for arn := range own {
		taken[arn] = true
	}
	return taken
}

// claim is what a held rule may keep.
type claim struct {
	there []*observed.Rule // live rules of its place
	free  []*observed.Rule // those that nobody wishes for just so
	keeps *observed.Rule   // the one that is its own by order; nil if that does not tell
}

// claimants compares the wished rules of the place of the i-th one with the live ones there.
func (b *builder) claimants(live *observed.Listener, wishes []rulePlan, own map[string]int, i int) (c claim) {
	hosts, paths := wishes[i].wish.Hosts(), wishes[i].wish.Paths()
	matched := slices.Collect(maps.Values(own))
	var all, open []int // wishes of the place, and those without a live rule that is just so
	for j, o := range wishes {
		if !samePlace(hosts, paths, o.wish.Hosts(), o.wish.Paths()) {
			continue
		}
		all = append(all, j)
		if !slices.Contains(matched, j) {
			open = append(open, j)
		}
	}
	for j := range live.Rules {
		r := &live.Rules[j]
		if m := (model.Rule{Conditions: r.Conditions}); samePlace(hosts, paths, m.Hosts(), m.Paths()) {
			c.there = append(c.there, r)
			if _, others := own[r.ARN]; !others {
				c.free = append(c.free, r)
			}
		}
	}
	inOrder := len(all) == len(c.there)
	for k, j := range all {
		if inOrder && !wishes[j].held && slices.Contains(matched, j) {
			at, others := own[c.there[k].ARN]
			inOrder = others && at == j || b.isJust(wishes[j], *c.there[k])
		}
	}
	switch {
	case inOrder:
		c.keeps = c.there[slices.Index(all, i)]
	case len(open) == len(c.free):
		c.keeps = c.free[slices.Index(open, i)]
	}
	return c
}

// isJust says that a live rule does exactly what a wished one is to do.
func (b *builder) isJust(p rulePlan, o observed.Rule) bool {
	return sameConditions(p.wish.Conditions, o.Conditions) && sameActions(p.wish.Actions, o.Actions, b.arn) && sameTransforms(p.wish.Transforms, o.Transforms)
}

// onItsWay says that a live rule has been made for a wished one: it forwards to the same groups and
// to others, as rules do until new targets are healthy.
func (b *builder) onItsWay(p rulePlan, o observed.Rule) bool {
	w, h := forwardOf(p.wish.Actions), forwardOf(o.Actions)
	if w == nil || h == nil || len(h.Groups) <= len(w.Groups) || !sameConditions(p.wish.Conditions, o.Conditions) {
		return false
	}
	return !slices.ContainsFunc(w.Groups, func(g model.WeightedGroup) bool {
		return !slices.ContainsFunc(h.Groups, func(x model.WeightedGroup) bool { return x.Group.ARN == b.arn(g.Group) })
	})
}

// ownRules are the live rules that rules which are not held wish for just so, or that are on their
// way there, with the places of these among the wished ones.
func (b *builder) ownRules(l *listenerPlan) map[string]int {
	out := map[string]int{}
	for i, p := range l.rules {
		if p.held {
			continue
		}
		just := false
		for _, o := range l.live.Rules {
			if _, gone := out[o.ARN]; gone {
				continue
			}
			switch {
			case !just && b.isJust(p, o):
				just = true
			case !b.onItsWay(p, o):
				continue
			}
			out[o.ARN] = i
		}
	}
	return out
}

// hold keeps a live rule, or without one puts a 503 in its place.
func (p *rulePlan) hold(live *observed.Rule) {
	if live != nil {
		p.kept = live
		p.wish.Conditions, p.wish.Transforms, p.wish.Actions = live.Conditions, live.Transforms, live.Actions
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
	used := map[string]bool{r.ARN: true}
	for i, p := range l.rules {
		for _, o := range l.live.Rules {
			if p.kept != nil && p.kept.ARN != o.ARN || used[o.ARN] || !sameConditions(o.Conditions, p.wish.Conditions) {
				continue
			}
			used[o.ARN] = true
			if o.Priority < r.Priority {
				at = i + 1
			}
			break
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

// keepHeldElsewhere keeps whole listeners that nobody wishes for but that carry a held rule, or may
// be those of a member that cannot be read.
func (b *builder) keepHeldElsewhere() {
	if b.live == nil {
		return
	}
	for i := range b.live.Listeners {
		l := &b.live.Listeners[i]
		if b.wishes(l.Port) {
			continue
		}
		if b.want.Partial.Ports || slices.ContainsFunc(b.want.Held, func(h model.HeldRule) bool { return findPlace(l, h.Hosts, h.Paths, nil) != nil }) {
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
