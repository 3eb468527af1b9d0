package observed

import "github.com/fulcrum-lb/fulcrum/internal/finding"

// AddOn is what a load balancer is tied to in one other service.
type AddOn struct {
	// ID is the ARN of a WAFv2 web ACL, the id of a classic one, or the id of a protection; empty
	// if there is none.
	ID string
	// Name of a protection.
	Name string
	// Fault says why it is not known; nil if it is.
	Fault *Fault
}

// WebACL is the answer to a name.
type WebACL struct {
	ARN   string // empty if there is none of that name
	Fault *Fault
}

// Subscription is whether the account has subscribed to a service.
type Subscription struct {
	Active bool
	Fault  *Fault
}

// Fault is why another service than the one for load balancers gave no answer. It stands in place
// of the answer, so that trouble there stops nothing else.
type Fault struct {
	// Reason is AccessDenied, ServiceUnavailable, or empty for what may pass by itself soon.
	Reason finding.Reason
	// Message is empty where there is nothing to tell, because only the pace of calls is kept.
	Message string
}
