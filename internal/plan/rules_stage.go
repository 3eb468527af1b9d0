package plan

import (
	"cmp"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// stagePriority is where rules wait for their targets, out of the way of all others.
const stagePriority = 40000

// stage decides which rules have to stay below until their targets are healthy: those that would
// take requests from rules that answer them now with healthy targets. A new rule whose requests
// the default action answers now begins with that answer.
func (b *builder) stage(l *listenerPlan, s *ruleSet) {
	if l.live == nil {
		return
	}
	for i := range s.wished {
		w := &s.wished[i]
		w.below = ""
		f := forwardOf(w.plan.wish.Actions)
		if f == nil || w.live != nil && w.live.Priority == w.priority {
			w.below = s.behind(i)
			continue
		}
		if w.live == nil && !w.plan.held && !w.plan.wish.InPlace {
			w.actions, w.wait = b.shift(w.plan.wish.Actions, l.live.Default)
			w.transforms = w.plan.wish.Transforms
			if w.wait != "" {
				w.transforms = nil // default actions have none
			}
		}
		old, masked := s.answering(i)
		if masked {
			// What it answers for now is not for requests that other rules answer.
			w.below = w.wait
		}
		if len(old) > 0 {
			for _, g := range f.Groups {
				if arn := b.arn(g.Group); weight(g.Weight) > 0 && !slices.Contains(old, arn) && !b.ready(arn) && b.serving(old) {
					w.below = "healthy targets in " + refText(g.Group)
				}
			}
		}
		w.below = cmp.Or(w.below, s.behind(i))
	}
}

// answering lists the target groups of live rules that stand before the i-th wished rule now, may
// match its requests, and will not stand before it any more. Masked says that there are such
// rules, whatever they do.
func (s *ruleSet) answering(i int) (out []string, masked bool) {
	me := &s.wished[i]
	note := func(o observed.Rule) {
		if me.live != nil && me.live.Priority < o.Priority {
			return
		}
		if !overlap(o.Conditions, me.plan.wish.Conditions) {
			return
		}
		masked = true
		if f := forwardOf(o.Actions); f != nil {
			for _, g := range f.Groups {
				out = append(out, g.Group.ARN)
			}
		}
	}
	for j := i + 1; j < len(s.wished); j++ {
		if s.wished[j].live != nil {
			note(*s.wished[j].live)
		}
	}
	for _, d := range s.deleted {
		note(d)
	}
	return out, masked
}

// behind is the reason for which a rule that moves or is new has to stay behind one of higher
// precedence that stays below.
func (s *ruleSet) behind(i int) string {
	me := &s.wished[i]
	for j := range i {
		o := &s.wished[j]
		if o.below == "" || !overlap(o.plan.wish.Conditions, me.plan.wish.Conditions) {
			continue
		}
		if me.live == nil || o.live != nil && me.live.Priority > o.live.Priority {
			return o.below
		}
	}
	return ""
}

// place chooses where new rules are created.
func (s *ruleSet) place(live []observed.Rule) {
	used := map[int32]bool{}
	bottom := int32(len(s.wished))
	for _, o := range live {
		used[o.Priority] = true
		bottom = max(bottom, o.Priority)
	}
	for i := range s.wished {
		n := &s.wished[i]
		if n.live != nil {
			continue
		}
		switch {
		case n.below != "":
			n.at = free(used, max(stagePriority, bottom+1))
			bottom = n.at
		case !used[n.priority] && s.fits(i):
			n.at = n.priority
		default:
			n.at = free(used, bottom+1)
			bottom = n.at
		}
		used[n.at] = true
	}
}

// free returns the first priority from the given one on that no rule has.
func free(used map[int32]bool, from int32) int32 {
	for used[from] {
		from++
	}
	return from
}

// fits says whether the i-th rule's own place is between its neighbours that stay.
func (s *ruleSet) fits(i int) bool {
	for j, o := range s.wished {
		if o.live != nil && (j < i) != (o.live.Priority < s.wished[i].priority) {
			return false
		}
		if o.live == nil && j < i && o.at > s.wished[i].priority {
			return false
		}
	}
	return true
}
