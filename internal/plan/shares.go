package plan

import "slices"

// How namespaces share a quota
//
// AWS has quotas for the rules, listeners and certificates of a load balancer, and for the rules of a security group. The
// controller detects that a quota is reached only when AWS refuses a resource. Namespaces share a quota by two rules that do
// not depend on its value:
//
//   - No existing rule, listener or certificate is deleted for another namespace. If a namespace does not need a resource
//     any more, new resources of that namespace replace it first.
//   - The namespace with the fewest resources gets free capacity first.
//
// Therefore a namespace that has less than an equal share of the quota never loses capacity to a namespace that has more.
// This does not depend on the quota, on the order in which objects are created, or on earlier refusals.

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

// OrderClaims returns the indexes of claims in the order in which they get capacity. A claim is for one resource; claims has
// the namespace of each claim. Claims for which the namespace has a resource that will be deleted (Share.ToBeDeleted) come
// first. All other claims are ordered by the number of resources that their namespace retains or has claimed before. The
// claims of one namespace keep their order.
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

// NamespacesOfClaims returns, for each claim, the one namespace for which the claim counts. If several namespaces claim the
// same resource, the claim counts for the namespace with the fewest resources. Therefore the other namespaces do not delay
// the resource.
func NamespacesOfClaims(shares Shares, claims [][]string) []string {
	out, made := make([]string, len(claims)), map[string]int{}
	for i, by := range claims {
		out[i] = slices.MinFunc(by, func(x, y string) int {
			return shares[x].Retained - shares[x].ToBeDeleted + made[x] - (shares[y].Retained - shares[y].ToBeDeleted + made[y])
		})
		made[out[i]]++
	}
	return out
}
