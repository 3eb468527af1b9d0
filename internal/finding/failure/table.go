package failure

import (
	"errors"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Subject is the kind of object that a failed call tried to change.
type Subject int

// The values of Subject.
const (
	Step       Subject = iota // a step of a load balancer in AWS
	Kubernetes                // a write to the API server
	Targets                   // a target group and its targets
	ENIRules                  // rules of the security groups of nodes and pods
)

// meaningRow has the reason and the fix of findings about one class of failures.
type meaningRow struct {
	class  Class
	reason finding.Reason
	fix    string // "" for the result of PermissionFix, which names the missing permission
}

// meanings has the reason and the fix of findings about failures, by subject and class. A class without a row is treated as
// Unknown.
var meanings = map[Subject][]meaningRow{
	Step: {
		{Unknown, finding.CallFailed, "the step is retried; if it keeps failing, check what the message names"},
		{InUse, finding.CallFailed, "the step is retried; if it keeps failing, check what the message names"},
		{NotReady, finding.CallFailed, "the step is retried; if it keeps failing, check what the message names"},
		{Denied, finding.AccessDenied, ""},
		{Quota, finding.QuotaReached, "ask AWS for a higher quota, or remove what is not needed"},
		{Invalid, finding.RejectedByAWS, ChangeValueFix},
		{Gone, finding.RejectedByAWS, ChangeValueFix},
		{Conflict, finding.RejectedByAWS, ChangeValueFix},
		{Throttled, finding.RejectedByAWS, ChangeValueFix},
		{Fenced, finding.RejectedByAWS, ChangeValueFix},
	},
	Kubernetes: {
		{Unknown, finding.CallFailed, "the write is retried; if it keeps failing, correct what the API server reports"},
		{Denied, finding.AccessDenied, "grant the controller the permission, or change the admission policy that rejects the request"},
		{Gone, finding.CallFailed, "the write is retried; check that the custom resource definitions are installed and the namespace exists"},
	},
	Targets: {
		{Denied, finding.AccessDenied, ""},
		{Quota, finding.QuotaReached, "ask AWS for a higher quota"},
		{Invalid, finding.RejectedByAWS, "correct the value that the AWS error names"},
		{Gone, finding.TargetGroupNotFound, "create the target group, or delete the binding"},
	},
	ENIRules: {
		{Denied, finding.AccessDenied, ""},
		{Unknown, finding.CallFailed, "the call is repeated; if it keeps failing, check what the message names"},
		{Quota, finding.QuotaReached, "ask AWS for a higher quota of rules per security group, or use fewer ranges in the bindings"},
	},
}

// ChangeValueFix is the fix in a finding about a value that AWS refuses.
const ChangeValueFix = "change the value"

// Meaning has the reason and the fix of the finding about a failure.
type Meaning struct {
	Reason finding.Reason
	Fix    string
}

// MeaningOf returns the reason and the fix of the finding about a failed call. It returns false if there is no finding,
// because the failure may end without a change by users.
func MeaningOf(s Subject, c Class, err error) (Meaning, bool) {
	var unknown meaningRow
	for _, r := range meanings[s] {
		switch r.class {
		case c:
			m := Meaning{r.reason, r.fix}
			if m.Fix == "" {
				m.Fix = PermissionFix(err)
			}
			return m, true
		case Unknown:
			unknown = r
		}
	}
	return Meaning{unknown.reason, unknown.fix}, unknown.reason != ""
}

// ForAssumedRole returns the meaning for a call that was made with an assumed role. If the call was denied, the fix names
// the policy of that role.
func (m Meaning) ForAssumedRole() Meaning {
	if m.Reason == finding.AccessDenied {
		m.Fix = "let the controller assume the role, and " + strings.Replace(m.Fix, "the controller's IAM policy", "its policy", 1)
	}
	return m
}

// MeaningFromReason returns the meaning of an error that has a method Reason. The reason of such an error is more exact than
// its class. It returns false if the error has no reason.
func MeaningFromReason(err error) (Meaning, bool) {
	var known interface{ Reason() finding.Reason }
	if !errors.As(err, &known) || known.Reason() == "" {
		return Meaning{}, false
	}
	m := Meaning{Reason: known.Reason()}
	for _, e := range finding.Reasons {
		if e.Reason == m.Reason {
			m.Fix = strings.ToLower(e.Remedy[:1]) + strings.TrimSuffix(e.Remedy[1:], ".")
		}
	}
	return m, true
}
