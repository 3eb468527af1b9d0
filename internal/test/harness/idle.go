package harness

// maxIdleRuns is the maximum number of runs of an item in a row without a call to AWS. Because waits have a back-off,
// an item has some dozens of runs in several hours. More runs would waste CPU time.
const maxIdleRuns = 100

// idleRuns counts the runs of each item since the last call to AWS.
type idleRuns struct {
	runs  map[itemKey]int
	calls int
}

// recordRun counts a run of item k. It fails the test when an item reaches maxIdleRuns, except the detection of drift.
func (i *idleRuns) recordRun(r *Harness, k itemKey) {
	r.T.Helper()
	if n := r.Emulator.Calls().Total(); i.runs == nil || n != i.calls {
		i.runs, i.calls = map[itemKey]int{}, n
	}
	if i.runs[k]++; i.runs[k] == maxIdleRuns && !k.drift {
		r.T.Errorf("%s was run %d times in a row without a call to AWS", k, maxIdleRuns)
	}
}
