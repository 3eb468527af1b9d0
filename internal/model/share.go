package model

// Of a quota a part is kept for each of so many that share it, also for those that come later: few of 2,500 are 10.
const (
	fewOf       = 1.0 / 250
	keptForMany = 50
)

// MayTakeOneMore reports whether one of those that share a quota may have one more of what it counts. all is what all of
// them have together, have what this one has, and others what each of the others has. One with few may have more as long as
// there is any. Another leaves as many as it has, and for each of the others what that lacks of the same, up to a half of
// an equal share, and of few at least. The more it has, the more it leaves, so that what comes free goes to who has fewer.
func MayTakeOneMore(quota, all, have float64, others []float64) bool {
	n := len(others) + 1
	half := quota / 2 / float64(n+1)
	few := min(fewOf*quota, half)
	leaves := 0.0
	if have+1 > max(few, 1) {
		lacking, floor := few*float64(max(keptForMany-n, 0)), max(few, min(half, have))
		for _, other := range others {
			lacking += max(floor-other, 0)
		}
		leaves = max(have, lacking+have/8)
	}
	return all+1+leaves <= quota
}
