package draft

import (
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// How places of a quota are shared
//
// AWS takes so many rules, listeners and certificates on a load balancer, whoever asks for them, and does not say how many
// before it refuses one. The places are shared between namespaces by two rules that need no number:
//
//   - What is live is never taken away for another namespace. A place that a namespace gives up is its own
//     to fill first.
//   - Otherwise places that are free go to the namespace that has the fewest.
//
// So no namespace below an equal share loses a place to one above it, however many AWS takes, in
// whatever order the objects come, and whatever was refused before.

// Share is what a namespace has of something that AWS counts: live ones that stay, and live ones that go.
type Share struct{ Stays, Goes int }

// OrderByShare returns the numbers of claims in the order in which they are to be made: each is by the namespace that
// makes it. Those of one namespace keep their order.
func OrderByShare(shares map[string]Share, claims []string) []int {
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

// Namespaces returns the namespaces that objects are in, sorted.
func Namespaces(refs []finding.Ref) []string {
	in := map[string]bool{}
	for _, r := range refs {
		in[r.Namespace] = true
	}
	return slices.Sorted(maps.Keys(in))
}

// claimants returns for each claim the namespace that makes it: of those that ask for the same the one that has the fewest,
// so that no namespace waits longer because others ask for it as well.
func claimants(shares map[string]Share, claims [][]string) []string {
	out, made := make([]string, len(claims)), map[string]int{}
	for i, by := range claims {
		out[i] = slices.MinFunc(by, func(x, y string) int {
			return shares[x].Stays - shares[x].Goes + made[x] - (shares[y].Stays - shares[y].Goes + made[y])
		})
		made[out[i]]++
	}
	return out
}

// TakeTurns puts those of the steps from a number on that make something into the order in which the namespaces come to
// their share. claim returns the namespaces that ask for what a step makes, nil if it does not count.
func (st *Steps) TakeTurns(shares map[string]Share, from int, claim func(plan.Step) []string) {
	steps := st.Plan.Steps[from:]
	var creates []int
	var by [][]string
	for i, s := range steps {
		if namespaces := claim(s); len(namespaces) > 0 {
			creates, by = append(creates, i), append(by, namespaces)
		}
	}
	claims := claimants(shares, by)
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
	for _, n := range OrderByShare(shares, claims) {
		place(creates[n])
	}
	for i := range steps {
		place(i)
	}
	copy(steps, out)
}
