package draft

import (
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// How a quota is shared between namespaces
//
// AWS limits the rules, listeners and certificates of a load balancer, and shows the limit only by refusing one. The places
// within the limit are shared between namespaces by two rules that do not need to know the limit:
//
//   - No live rule, listener or certificate is deleted for another namespace. A place that a namespace gives up is offered to
//     that namespace first.
//   - Free places go to the namespace that has the fewest.
//
// So no namespace below an equal share loses a place to a namespace above it, whatever the limit is, in whatever order the
// objects are created, and whatever was refused before.

// Share is how many live resources of a kind with a quota a namespace has: those that stay and those that are to be
// deleted.
type Share struct{ Staying, Leaving int }

// OrderClaims returns the indexes of claims in the order in which they are to be carried out. A claim is the name of
// the namespace that makes it. The claims of one namespace keep their order.
func OrderClaims(shares map[string]Share, claims []string) []int {
	level, made := make([]int, len(claims)), map[string]int{}
	order := make([]int, len(claims))
	for i, namespace := range claims {
		of, n := shares[namespace], made[namespace]
		made[namespace]++
		order[i] = i
		if n >= of.Leaving {
			level[i] = 1 + of.Staying + n
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return level[i] - level[j] })
	return order
}

// Namespaces returns the distinct namespaces of objects, sorted.
func Namespaces(refs []finding.Ref) []string {
	in := map[string]bool{}
	for _, r := range refs {
		in[r.Namespace] = true
	}
	return slices.Sorted(maps.Keys(in))
}

// namespacesOfClaims returns for each claim the namespace that it counts for. If several namespaces claim the same
// resource, it is the one with the fewest, so that no namespace waits longer because another one claims the resource
// as well.
func namespacesOfClaims(shares map[string]Share, claims [][]string) []string {
	out, made := make([]string, len(claims)), map[string]int{}
	for i, by := range claims {
		out[i] = slices.MinFunc(by, func(x, y string) int {
			return shares[x].Staying - shares[x].Leaving + made[x] - (shares[y].Staying - shares[y].Leaving + made[y])
		})
		made[out[i]]++
	}
	return out
}

// OrderStepsByShare sorts those of the steps from an index on that create a resource with a quota by the shares of
// namespaces. Dependencies stay before the steps that need them. claim returns the namespaces that claim the resource
// which a step creates, nil if the step creates none.
func (st *Steps) OrderStepsByShare(shares map[string]Share, from int, claim func(plan.Step) []string) {
	steps := st.Plan.Steps[from:]
	var creates []int
	var by [][]string
	for i, s := range steps {
		if namespaces := claim(s); len(namespaces) > 0 {
			creates, by = append(creates, i), append(by, namespaces)
		}
	}
	claims := namespacesOfClaims(shares, by)
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
	var first func(ids []plan.StepID) // places the steps that have to come before another
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
	for _, n := range OrderClaims(shares, claims) {
		place(creates[n])
	}
	for i := range steps {
		place(i)
	}
	copy(steps, out)
}
