package targetgroups

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// lookups find by their names what the planning of target groups asks for again and again.
type lookups struct {
	BindingsOf     map[string][]*observed.Binding    // by the ARN of their target group
	liveByID       map[string][]observed.TargetGroup // by resource id
	groupNames     map[string]bool                   // of live target groups
	blockedMembers map[finding.Ref]bool

	// forwarded and heldOnly are the ids of target groups to which rules forward, and to which held
	// rules would; nil before the rules are resolved.
	forwarded, heldOnly map[string]bool
}

func newLookups(d *draft.Draft) *lookups {
	out := &lookups{
		BindingsOf: map[string][]*observed.Binding{}, liveByID: map[string][]observed.TargetGroup{}, blockedMembers: map[finding.Ref]bool{},
		groupNames: map[string]bool{},
	}
	for i := range d.Have.Bindings {
		h := &d.Have.Bindings[i]
		out.BindingsOf[h.ARN] = append(out.BindingsOf[h.ARN], h)
	}
	for _, g := range d.Have.TargetGroups {
		out.liveByID[g.ResourceID] = append(out.liveByID[g.ResourceID], g)
		out.groupNames[g.Name] = true
	}
	for _, m := range d.Want.Members {
		out.blockedMembers[m.Ref] = out.blockedMembers[m.Ref] || m.Blocked
	}
	return out
}

// noteForwards notes to which target groups the resolved rules and default actions of listeners forward.
func (k *lookups) noteForwards(listeners []resolved.Listener) {
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
		note(k.forwarded, l.DefaultActions)
		if l.IsNetwork() && l.Desired.DefaultHeld != 0 {
			note(k.heldOnly, l.Desired.Default)
		}
		for _, r := range l.Rules {
			note(k.forwarded, r.Desired.Actions)
			if r.Held() {
				note(k.heldOnly, r.Written)
			}
		}
		for _, r := range l.Omitted {
			note(k.heldOnly, r.Written)
		}
	}
}
