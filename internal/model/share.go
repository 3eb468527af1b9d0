package model

// guaranteedPart is the part of a quota that is guaranteed to each sharer while there are at most guaranteedSharers of them.
// Unused guaranteed parts stay free for sharers that come later. Of a quota of 2,500, the guaranteed part is 10.
const (
	guaranteedPart    = 1.0 / 250
	guaranteedSharers = 50
)

// MayUseOneMore reports whether one of several sharers of a quota may use one more unit. all is the number of units that
// all sharers use together, have the number that this sharer uses, and others has the number that each other sharer uses.
//
// A sharer that stays within the guaranteed part of the quota may use another unit while the quota is not used up. Any other
// sharer must leave at least as many units free as it uses. It must also leave enough units free for an eighth of its own
// use, for the guaranteed parts of sharers that come later, and for each other sharer to reach the same number, up to half
// of an equal share. The more units a sharer uses, the more it must leave free. So units that become free go to sharers that
// use fewer.
func MayUseOneMore(quota, all, have float64, others []float64) bool {
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
