package plan

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// lookups find by their names what a plan asks for again and again.
type lookups struct {
	bindingsOf     map[string][]*observed.Binding    // by the ARN of their target group
	liveByID       map[string][]observed.TargetGroup // by resource id
	idOf           map[string]string                 // of live target groups, by ARN
	desired        map[string]*model.TargetGroup     // by id
	blockedMembers map[finding.Ref]bool
	asked          map[string]bool // keys of questions
	stepIDs        map[StepID]bool
	claimOf        map[finding.Ref]StepID
	keys           map[string]string // of the conditions of live rules, by ARN

	// forwarded and heldOnly are the ids of target groups to which rules forward, and to which held
	// rules would; nil before the rules are resolved.
	forwarded, heldOnly map[string]bool
}

func (b *builder) makeLookups() {
	b.bindingsOf = map[string][]*observed.Binding{}
	for i := range b.have.Bindings {
		h := &b.have.Bindings[i]
		b.bindingsOf[h.ARN] = append(b.bindingsOf[h.ARN], h)
	}
	b.liveByID, b.idOf = map[string][]observed.TargetGroup{}, map[string]string{}
	for _, g := range b.have.TargetGroups {
		b.liveByID[g.ResourceID] = append(b.liveByID[g.ResourceID], g)
		b.idOf[g.ARN] = g.ResourceID
	}
	b.desired = map[string]*model.TargetGroup{}
	for i := range b.want.TargetGroups {
		b.desired[b.want.TargetGroups[i].ID] = &b.want.TargetGroups[i]
	}
	b.blockedMembers = map[finding.Ref]bool{}
	for _, m := range b.want.Members {
		b.blockedMembers[m.Ref] = b.blockedMembers[m.Ref] || m.Blocked
	}
	b.asked, b.stepIDs, b.claimOf = map[string]bool{}, map[StepID]bool{}, map[finding.Ref]StepID{}
	b.keys = map[string]string{}
}

// noteForwards notes to which target groups the resolved rules and default actions forward.
func (b *builder) noteForwards() {
	b.forwarded, b.heldOnly = map[string]bool{}, map[string]bool{}
	note := func(to map[string]bool, actions []model.Action) {
		for _, a := range actions {
			if f, ok := a.(model.Forward); ok {
				for _, g := range f.Groups {
					to[g.Group.ID] = true
				}
			}
		}
	}
	for _, l := range b.listeners {
		note(b.forwarded, l.defaults)
		for _, r := range l.rules {
			note(b.forwarded, r.wish.Actions)
			if r.held() {
				note(b.heldOnly, r.wished)
			}
		}
		for _, r := range l.leftOut {
			note(b.heldOnly, r.wished)
		}
	}
}

// keyOf identifies the conditions of a live rule.
func (b *builder) keyOf(r *observed.Rule) string {
	key, known := b.keys[r.ARN]
	if !known {
		key = conditionsKey(r.Conditions)
		b.keys[r.ARN] = key
	}
	return key
}

// ownerIDs are the resource ids of the target groups to which actions forward, as ownersOf has them.
func (b *builder) ownerIDs(actions []model.Action) []string {
	var out []string
	for _, a := range actions {
		if f, ok := a.(model.Forward); ok {
			for _, g := range f.Groups {
				out = append(out, b.idOf[g.Group.ARN])
			}
		}
	}
	return out
}
