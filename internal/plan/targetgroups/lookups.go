package targetgroups

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// lookups are indexes of target groups and bindings.
type lookups struct {
	BindingsOf     map[string][]*observed.Binding    // bindings by the ARN of their target group
	liveByID       map[string][]observed.TargetGroup // live target groups by resource id
	groupNames     map[string]bool                   // names of live target groups
	blockedMembers map[finding.Ref]bool

	// forwarded are the ids of target groups to which rules forward, and forwardedByHeld those to which held rules
	// would forward. Both are nil before the rules are resolved.
	forwarded, forwardedByHeld map[string]bool
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

// noteForwards records the target groups to which the resolved rules and default actions of listeners forward.
func (k *lookups) noteForwards(listeners []resolved.Listener) {
	k.forwarded, k.forwardedByHeld = map[string]bool{}, map[string]bool{}
	note := func(to map[string]bool, actions []model.Action) {
		for _, g := range model.ForwardedGroups(actions) {
			to[g.Group.ID] = true
		}
	}
	for _, l := range listeners {
		note(k.forwarded, l.DefaultActions)
		if l.IsNetwork() && l.Desired.DefaultHeld != 0 {
			note(k.forwardedByHeld, l.Desired.Default)
		}
		for _, r := range l.Rules {
			note(k.forwarded, r.Desired.Actions)
			if r.Held() {
				note(k.forwardedByHeld, r.DesiredActions)
			}
		}
		for _, r := range l.Omitted {
			note(k.forwardedByHeld, r.DesiredActions)
		}
	}
}
