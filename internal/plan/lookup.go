package plan

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// lookups find by their names what the planning of target groups asks for again and again.
type lookups struct {
	bindingsOf     map[string][]*observed.Binding    // by the ARN of their target group
	liveByID       map[string][]observed.TargetGroup // by resource id
	groupNames     map[string]bool                   // of live target groups
	blockedMembers map[finding.Ref]bool

	// forwarded and heldOnly are the ids of target groups to which rules forward, and to which held
	// rules would; nil before the rules are resolved.
	forwarded, heldOnly map[string]bool
}

func newLookups(d *draft) *lookups {
	out := &lookups{
		bindingsOf: map[string][]*observed.Binding{}, liveByID: map[string][]observed.TargetGroup{}, blockedMembers: map[finding.Ref]bool{},
		groupNames: map[string]bool{},
	}
	for i := range d.have.Bindings {
		h := &d.have.Bindings[i]
		out.bindingsOf[h.ARN] = append(out.bindingsOf[h.ARN], h)
	}
	for _, g := range d.have.TargetGroups {
		out.liveByID[g.ResourceID] = append(out.liveByID[g.ResourceID], g)
		out.groupNames[g.Name] = true
	}
	for _, m := range d.want.Members {
		out.blockedMembers[m.Ref] = out.blockedMembers[m.Ref] || m.Blocked
	}
	return out
}

// noteForwards notes to which target groups the resolved rules and default actions of listeners forward.
func (k *lookups) noteForwards(listeners []listenerPlan) {
	k.forwarded, k.heldOnly = map[string]bool{}, map[string]bool{}
	note := func(to map[string]bool, actions []model.Action) {
		for _, a := range actions {
			if f, ok := a.(model.Forward); ok {
				for _, g := range f.Groups {
					to[g.Group.ID] = true
				}
			}
		}
	}
	for _, l := range listeners {
		note(k.forwarded, l.defaults)
		if l.network() && l.desired.DefaultHeld != 0 {
			note(k.heldOnly, l.desired.Default)
		}
		for _, r := range l.rules {
			note(k.forwarded, r.desired.Actions)
			if r.held() {
				note(k.heldOnly, r.written)
			}
		}
		for _, r := range l.leftOut {
			note(k.heldOnly, r.written)
		}
	}
}

// liveKeys remembers the keys of the conditions of live rules, by ARN.
type liveKeys map[string]string

// of identifies the conditions of a live rule.
func (k liveKeys) of(r *observed.Rule) string {
	key, known := k[r.ARN]
	if !known {
		key = conditionsKey(r.Conditions)
		k[r.ARN] = key
	}
	return key
}
