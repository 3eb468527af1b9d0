package observed

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// AddOn is the resource of another AWS service, such as WAFv2 or Shield, that is associated with a load balancer.
type AddOn struct {
	// ID is the ARN of a WAFv2 web ACL, the id of a WAF Classic web ACL, or the id of a Shield protection; empty if no
	// resource is associated.
	ID string
	// Name is the name of a Shield protection; empty for other resources.
	Name string
	// Fault is the reason why the association could not be read; nil if it was read.
	Fault *Fault
}

// WebACL is the result of a search for a web ACL by name.
type WebACL struct {
	ARN   string // empty if no web ACL has the name
	Fault *Fault
}

// Subscription is the answer to the question whether the account has subscribed to an AWS service.
type Subscription struct {
	Active bool
	Fault  *Fault
}

// Fault is the reason why a question to AWS has no answer. It takes the place of the answer, so that everything that does
// not depend on the answer can still be planned.
type Fault struct {
	// Reason is AccessDenied, ServiceUnavailable, RejectedByAWS or CallFailed; empty for an error that may be temporary.
	Reason finding.Reason
	// Message describes the error; empty if the rate limiter delayed the call.
	Message string
	// Action is the IAM action that the question needs, such as "acm:ListCertificates".
	Action string
	// RetryAfter is the time after which the question is asked again.
	RetryAfter time.Duration
}
