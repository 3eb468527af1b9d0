package observed

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

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

// Fault is why AWS gave no answer to a question. It stands in place of the answer, so that what does
// not depend on the answer goes on.
type Fault struct {
	// Reason is AccessDenied, ServiceUnavailable, RejectedByAWS, CallFailed, or empty for what may
	// pass soon.
	Reason finding.Reason
	// Message says what is wrong; it is empty where only the pace of calls is kept.
	Message string
	// Action is the permission that the question needs, such as "acm:ListCertificates".
	Action string
	// Again is after how long the question is asked again.
	Again time.Duration
}
