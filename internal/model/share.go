package model

// guaranteedPart is the part of a quota that is reserved for each of guaranteedSharers sharers, including those that come
// later: 10 of 2,500.
const (
	guaranteedPart    = 1.0 / 250
	guaranteedSharers = 50
)

// MayTakeOneMore reports whether one of several sharers of a quota may take one more. all is what all sharers have
// together, have what this one has, and others what each other one has. A sharer with few may take one as long as there is
// room. Any other must leave free at least as many as it has, and enough that each other sharer can reach the same number,
// up to half of an equal share and at least few. The more it has, the more it must leave, so that freed room goes to sharers
// with fewer.
func MayTakeOneMore(quota, all, have float64, others []float64) bool {
	n := len(others) + 1
	half := quota / 2 / float64(n+1)
	few := min(guaranteedPart*quota, half)
	leaves := 0.0
	if have+1 > max(few, 1) {
		lacking, floor := few*float64(max(guaranteedSharers-n, 0)), max(few, min(half, have))
		for _, other := range others {
			lacking += max(floor-other, 0)
		}
		leaves = max(have, lacking+have/8)
	}
	return all+1+leaves <= quota
}
