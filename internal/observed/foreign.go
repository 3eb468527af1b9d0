package observed

import "time"

// Foreign says that others have changed, added or deleted a resource of a stack.
type Foreign struct {
	Kind string // as in the address of a step of a plan
	ID   string // ARN, or id of a security group
	// At is when it was read.
	At time.Time
}
