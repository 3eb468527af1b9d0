package engine

import "time"

// repeats counts how often in a row a stack was given the very same changes with success. Once more
// may be the change of another; again and again means that AWS shows something else than what it was
// given, and it would be given for ever.
type repeats struct {
	what string
	row  int
}

// tooOften is how many times in a row the same changes are made at the usual pace.
const tooOften = 4

// count notes what a run has done, "" if nothing, and says how long to wait before the next run at
// least. A run that does nothing ends the row.
func (r *repeats) count(what string) (wait time.Duration) {
	switch {
	case what == "":
		*r = repeats{}
		return 0
	case r.what != what:
		*r = repeats{what: what}
	}
	r.row++
	if r.row < tooOften {
		return 0
	}
	return min(soon<<min(r.row-tooOften+1, 10), longestBackOff)
}
