package targetgroups

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// targetGroupIndexes has lookup tables of the target groups and bindings of a stack.
type targetGroupIndexes struct {
	BindingsOf  map[string][]*observed.Binding    // bindings by the ARN of their target group
	liveByID    map[string][]observed.TargetGroup // existing target groups by resource ID
	liveNames   map[string]bool                   // names of existing target groups
	heldMembers map[finding.Ref]bool              // members whose parts are all held

	// forwardedIDs are the IDs of target groups to which rules forward, and heldForwardedIDs those to which held rules would
	// forward. Both are nil before the rules are resolved.
	forwardedIDs, heldForwardedIDs map[string]bool
}

func newTargetGroupIndexes(d *draft.Draft) *targetGroupIndexes {
	out := &targetGroupIndexes{
		BindingsOf: map[string][]*observed.Binding{}, liveByID: map[string][]observed.TargetGroup{}, heldMembers: map[finding.Ref]bool{},
		liveNames: map[string]bool{},
	}
	for i := range d.Have.Bindings {
		h := &d.Have.Bindings[i]
		out.BindingsOf[h.ARN] = append(out.BindingsOf[h.ARN], h)
	}
	for _, g := range d.Have.TargetGroups {
		out.liveByID[g.ResourceID] = append(out.liveByID[g.ResourceID], g)
		out.liveNames[g.Name] = true
	}
	for _, m := range d.Want.Members {
		out.heldMembers[m.Ref] = out.heldMembers[m.Ref] || m.Blocked
	}
	return out
}

// recordForwards records the target groups to which the resolved rules and default actions of listeners forward.
func (k *targetGroupIndexes) recordForwards(listeners []resolved.Listener) {
	k.forwardedIDs, k.heldForwardedIDs = map[string]bool{}, map[string]bool{}
	note := func(to map[string]bool, actions []model.Action) {
		for _, g := range model.ForwardedTargetGroups(actions) {
			to[g.Group.ID] = true
		}
	}
	for _, l := range listeners {
		note(k.forwardedIDs, l.DefaultActions)
		if l.IsNetwork() && l.Desired.DefaultHeld != 0 {
			note(k.heldForwardedIDs, l.Desired.Default)
		}
		for _, r := range l.Rules {
			note(k.forwardedIDs, r.Desired.Actions)
			if r.IsHeld() {
				note(k.heldForwardedIDs, r.DesiredActions)
			}
		}
		for _, r := range l.OmittedRules {
			note(k.heldForwardedIDs, r.DesiredActions)
		}
	}
}
