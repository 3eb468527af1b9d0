package draft

import (
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// How namespaces share a quota
//
// AWS has quotas for the rules, listeners and certificates of a load balancer. The controller detects that a quota is
// reached only when AWS refuses a resource. Namespaces share a quota by two rules that do not depend on its value:
//
//   - No existing rule, listener or certificate is deleted for another namespace. If a namespace does not need a resource
//     any more, new resources of that namespace replace it first.
//   - The namespace with the fewest resources gets free capacity first.
//
// Therefore a namespace with less than an equal share never loses capacity to a namespace with more. This does not depend on
// the quota, on the order in which objects are created, or on earlier refusals.

// Share has the numbers of existing resources of one kind that a namespace has: those that are retained and those that will
// be deleted.
type Share struct{ Retained, ToBeDeleted int }

// Shares has, by namespace, the Share of each namespace in a quota.
type Shares map[string]Share

// AddRetained counts one retained resource for each of the namespaces.
func (s Shares) AddRetained(namespaces ...string) {
	for _, n := range namespaces {
		s[n] = Share{s[n].Retained + 1, s[n].ToBeDeleted}
	}
}

// AddToBeDeleted counts one resource that will be deleted for each of the namespaces.
func (s Shares) AddToBeDeleted(namespaces ...string) {
	for _, n := range namespaces {
		s[n] = Share{s[n].Retained, s[n].ToBeDeleted + 1}
	}
}

// OrderClaims returns the indexes of claims in the order in which they get capacity. Each claim is for one resource, and is
// given by the namespace that makes it. The claims of one namespace keep their order.
func OrderClaims(shares Shares, claims []string) []int {
	level, made := make([]int, len(claims)), map[string]int{}
	order := make([]int, len(claims))
	for i, namespace := range claims {
		of, n := shares[namespace], made[namespace]
		made[namespace]++
		order[i] = i
		if n >= of.ToBeDeleted {
			level[i] = 1 + of.Retained + n
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

// namespacesOfClaims returns, for each claim, the one namespace for which it counts. If several namespaces claim the same
// resource, it counts for the namespace with the fewest resources. Therefore the other namespaces do not delay the resource.
func namespacesOfClaims(shares Shares, claims [][]string) []string {
	out, made := make([]string, len(claims)), map[string]int{}
	for i, by := range claims {
		out[i] = slices.MinFunc(by, func(x, y string) int {
			return shares[x].Retained - shares[x].ToBeDeleted + made[x] - (shares[y].Retained - shares[y].ToBeDeleted + made[y])
		})
		made[out[i]]++
	}
	return out
}

// OrderStepsByShare sorts the steps that create resources with a quota by the shares of namespaces, beginning at the step
// with index from. Each step remains after its dependencies. claim returns the namespaces that claim the resource that a
// step creates; nil for other steps.
func (st *Steps) OrderStepsByShare(shares Shares, from int, claim func(plan.Step) []string) {
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
	var first func(ids []plan.StepID) // appends the steps with these ids, after their dependencies
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
