package harness

// maxIdleRuns is how often an item may run in a row without any call to AWS. Waits have a back-off, so that hours
// have some dozens of runs. More runs would waste CPU.
const maxIdleRuns = 100

// idleRuns counts the runs of each item since the last call to AWS.
type idleRuns struct {
	runs  map[key]int
	calls int
}

func (i *idleRuns) recordRun(r *Harness, k key) {
	r.T.Helper()
	if n := r.Emulator.Calls().Total(); i.runs == nil || n != i.calls {
		i.runs, i.calls = map[key]int{}, n
	}
	if i.runs[k]++; i.runs[k] == maxIdleRuns && !k.drift {
		r.T.Errorf("%s was run %d times in a row, and nothing was asked of AWS", k, maxIdleRuns)
	}
}
