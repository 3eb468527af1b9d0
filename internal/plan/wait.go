package plan

import "time"

// Wait is what a step waits for. The step is not carried out in this run. The zero Wait waits for
// nothing.
type Wait struct {
	// For describes it in readable form.
	For string
	// Again is when another look is worth it; 0: as soon as is usual.
	Again time.Duration
	// Deadline is for how long the step waits at most, from the first plan in which it does. Then the
	// plan goes on without it. 0: nothing depends on the step, or what it waits for ends in time
	// whatever others do.
	Deadline time.Duration
}

// Waits reports whether the step has to wait.
func (s Step) Waits() bool { return s.Wait.For != "" }
