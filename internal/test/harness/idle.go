package harness

// mostIdleRuns is how often in a row anything is run while nothing asks AWS. Waits have a back-off, so hours have some
// dozens of runs. An item that is due again each second or two would cost CPU for nothing, as long as its wait lasts.
const mostIdleRuns = 100

// idleRuns counts the runs of each item since AWS was called last.
type idleRuns struct {
	runs  map[key]int
	calls int
}

func (i *idleRuns) ran(r *Harness, k key) {
	r.T.Helper()
	if n := r.Emulator.Calls().Total(); i.runs == nil || n != i.calls {
		i.runs, i.calls = map[key]int{}, n
	}
	if i.runs[k]++; i.runs[k] == mostIdleRuns && !k.drift {
		r.T.Errorf("%s was run %d times in a row, and nothing was asked of AWS", k, mostIdleRuns)
	}
}
