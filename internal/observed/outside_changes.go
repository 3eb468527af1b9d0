package observed

import "time"

// OutsideChange is a change that the controller did not make: a resource of a stack was changed, added or deleted.
type OutsideChange struct {
	Kind string // kind of the resource as in plan.Address
	ID   string // ARN, or id of a security group
	// DeletedResource identifies a deleted resource, so that the step that creates it again can be recognized. It is the
	// result of plan.RuleText for a listener rule, and for other resources the id in the address of that step. It is empty if
	// the resource was not deleted.
	DeletedResource string
	// WasAdded is set if the resource was added.
	WasAdded bool
	// ReadAt is the time at which the change was read.
	ReadAt time.Time
}
