package plan

import "time"

// Wait is the reason why a step is not carried out in this run. A step with the zero Wait is carried out.
type Wait struct {
	// For describes, for messages, the condition that the step waits for. It is empty in the zero Wait.
	For string
	// RetryAfter is the time until the condition is checked again; 0: the usual poll interval.
	RetryAfter time.Duration
	// Deadline is the longest time that the step waits, beginning with the first plan in which it waits. After the deadline,
	// the plan continues as if the condition were met. 0 means no deadline. In this case, no other step depends on the step,
	// or the wait always ends in bounded time, regardless of other members.
	Deadline time.Duration
}

// Waits reports whether the step waits, so that this run does not carry it out.
func (s Step) Waits() bool { return s.Wait.For != "" }
