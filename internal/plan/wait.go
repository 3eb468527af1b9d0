package plan

import "time"

// Wait is the reason why a step is not carried out in this run. With the zero Wait the step is carried out.
type Wait struct {
	// For is a description for messages of the condition for which the step waits. It is empty in the zero Wait.
	For string
	// RetryAfter is the time until the condition is checked again; 0: the usual poll interval.
	RetryAfter time.Duration
	// Deadline is the longest time that the step waits, from the first plan in which it waits. After that the plan continues
	// as if the wait were over. 0: no deadline, because no other step depends on this one, or because the wait ends in
	// bounded time, regardless of other members.
	Deadline time.Duration
}

// Waits reports whether the step waits, so that this run does not carry it out.
func (s Step) Waits() bool { return s.Wait.For != "" }
