package plan

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// makeRoom moves rules up that stand at the very end of what AWS takes, in their order, so that
// others have room below them. A run that was interrupted may have left them there on their way out.
// What follows is planned for the rules as they stand then.
func (ro *ruleRollout) makeRoom(after []StepID) []StepID {
	if ro.l.live == nil || len(ro.l.live.Rules) == 0 || ro.l.desired.OrderHeld != 0 {
		return nil
	}
	rules := slices.Clone(ro.l.live.Rules)
	if int(rules[len(rules)-1].Priority)+len(ro.l.rules) <= topPriority-len(rules) {
		return nil
	}
	to := map[Address]int32{}
	next := int32(stagePriority)
	for i := range rules {
		if r := &rules[i]; r.Priority >= next {
			if r.Priority != next {
				r.Priority = next
				to[ruleAddress(r.ARN)] = next
			}
			next++
		}
	}
	if len(to) == 0 {
		return nil
	}
	ro.l.live = withRules(ro.l.live, rules)
	a := ro.l.address()
	return []StepID{ro.add(Step{
		ID: stepID("room", a), Address: a, Verb: Update, Do: SetPriorities{Priorities: to},
		Changes: []Change{{Path: "priorities", To: fmt.Sprintf("%d and below", stagePriority)}},
		Why:     "there is no room below the last rule", After: slices.Clone(after), Blames: ro.l.desired.Members,
	})}
}

func withRules(l *observed.Listener, rules []observed.Rule) *observed.Listener {
	next := *l
	next.Rules = rules
	return &next
}
