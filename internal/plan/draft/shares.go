package draft

import (
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Namespaces returns the distinct namespaces of objects, sorted.
func Namespaces(refs []finding.Ref) []string {
	in := map[string]bool{}
	for _, r := range refs {
		in[r.Namespace] = true
	}
	return slices.Sorted(maps.Keys(in))
}

// OrderStepsByShare sorts the steps that create resources with a quota by the shares of namespaces, beginning at the step
// with index from. Each step remains after its dependencies. claim returns the namespaces that claim the resource that a
// step creates; nil for other steps.
func (st *Steps) OrderStepsByShare(shares plan.Shares, from int, claim func(plan.Step) []string) {
	steps := st.Plan.Steps[from:]
	var creates []int
	var by [][]string
	for i, s := range steps {
		if namespaces := claim(s); len(namespaces) > 0 {
			creates, by = append(creates, i), append(by, namespaces)
		}
	}
	claims := plan.NamespacesOfClaims(shares, by)
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
	for _, n := range plan.OrderClaims(shares, claims) {
		place(creates[n])
	}
	for i := range steps {
		place(i)
	}
	copy(steps, out)
}
