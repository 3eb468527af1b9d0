package draft

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// How places of a quota are shared
//
// AWS takes so many rules on a load balancer, whoever asks for them, and does not say how many before it
// refuses one. The places are shared between namespaces by two rules that need no number:
//
//   - What is live is never taken away for another namespace. A place that a namespace gives up is its own
//     to fill first.
//   - Otherwise places that are free go to the namespace that has the fewest.
//
// So no namespace below an equal share loses a place to one above it, however many AWS takes, in
// whatever order the objects come, and whatever was refused before.

// Share is what a namespace has of something that AWS counts: live ones that stay, and live ones that go.
type Share struct{ Stays, Goes int }

// InTurn returns the numbers of claims in the order in which they are to be made: each is by the namespace that
// makes it. Those of one namespace keep their order.
func InTurn(shares map[string]Share, claims []string) []int {
	level, made := make([]int, len(claims)), map[string]int{}
	order := make([]int, len(claims))
	for i, namespace := range claims {
		of, n := shares[namespace], made[namespace]
		made[namespace]++
		order[i] = i
		if n >= of.Goes {
			level[i] = 1 + of.Stays + n
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return level[i] - level[j] })
	return order
}

// TakeTurns puts those of the steps from a number on that make rules into the order in which the
// namespaces come to their share.
func (st *Steps) TakeTurns(shares map[string]Share, from int) {
	steps := st.Plan.Steps[from:]
	var creates []int
	var claims []string
	for i, s := range steps {
		if do, ok := s.Do.(plan.CreateRule); ok {
			creates, claims = append(creates, i), append(claims, do.Rule.Member.Namespace)
		}
	}
	if len(slices.Compact(slices.Sorted(slices.Values(claims)))) < 2 {
		return
	}
	at := make(map[plan.StepID]int, len(steps))
	for i, s := range steps {
		at[s.ID] = i
	}
	out := make([]plan.Step, 0, len(steps))
	placed, seen := make([]bool, len(steps)), map[plan.StepID]bool{}
	var place func(i int)
	var first func(ids []plan.StepID) // what has to be done before
	first = func(ids []plan.StepID) {
		for _, id := range ids {
			if i, here := at[id]; here {
				place(i)
			} else if !seen[id] {
				seen[id] = true
				first(st.Plan.Joins[id])
			}
		}
	}
	place = func(i int) {
		if placed[i] {
			return
		}
		placed[i] = true
		first(steps[i].After)
		out = append(out, steps[i])
	}
	for i := range creates[0] {
		place(i)
	}
	for _, n := range InTurn(shares, claims) {
		place(creates[n])
	}
	for i := range steps {
		place(i)
	}
	copy(steps, out)
}
