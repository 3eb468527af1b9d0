package observed

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// AddOn is what a load balancer is associated with in one other AWS service.
type AddOn struct {
	// ID is the ARN of a WAFv2 web ACL, the id of a classic one, or the id of a protection; empty
	// if there is none.
	ID string
	// Name of a protection.
	Name string
	// Fault is why it could not be read; nil if it was read.
	Fault *Fault
}

// WebACL is the result of a lookup by name.
type WebACL struct {
	ARN   string // empty if there is none of that name
	Fault *Fault
}

// Subscription is whether the account has subscribed to a service.
type Subscription struct {
	Active bool
	Fault  *Fault
}

// Fault is why a question has no answer. It takes the place of the answer, so that what does not
// depend on the answer can continue.
type Fault struct {
	// Reason is AccessDenied, ServiceUnavailable, RejectedByAWS, CallFailed, or empty for what may
	// be temporary.
	Reason finding.Reason
	// Message is what is wrong; it is empty if only the rate limiter delayed the call.
	Message string
	// Action is the permission that the question needs, such as "acm:ListCertificates".
	Action string
	// Again is the time after which the question is asked again.
	Again time.Duration
}
