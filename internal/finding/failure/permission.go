package failure

import (
	"errors"
	"regexp"
	"strings"
)

// policyPrefixes has the prefixes of actions in IAM policies, by the service ID of the AWS SDK.
var policyPrefixes = map[string]string{
	"Elastic Load Balancing v2": "elasticloadbalancing", "EC2": "ec2", "ACM": "acm", "WAFV2": "wafv2", "WAF Regional": "waf-regional",
	"Shield": "shield", "Resource Groups Tagging API": "tag", "STS": "sts", "Route 53": "route53", "Global Accelerator": "globalaccelerator",
}

// deniedActionPattern matches the missing permission in an AWS error message. The missing permission may differ from the
// permission for the call itself. For example, a call that creates a resource with tags also requires the permission to tag
// the resource.
var deniedActionPattern = regexp.MustCompile(`not authorized to perform: ([a-z0-9-]{2,40}:[A-Za-z0-9]{2,80})`)

// IsUnanswered reports whether a call to AWS was not answered, or was answered with a server error (5xx). It returns false
// for a call that was not sent because it was postponed or had no credentials.
func IsUnanswered(err error) bool {
	var answer AWSError
	var of interface {
		Service() string
		Operation() string
	}
	if err == nil || !errors.As(err, &of) || PostponedFor(err) > 0 || strings.Contains(err.Error(), "get credentials") {
		return false
	}
	var status interface{ HTTPStatusCode() int }
	return !errors.As(err, &answer) || errors.As(err, &status) && status.HTTPStatusCode() >= 500
}

// IAMAction returns the IAM action that a failed AWS call requires, such as "elasticloadbalancing:CreateRule"; "" if err is
// not the error of an AWS call.
func IAMAction(err error) string {
	if err == nil {
		return ""
	}
	if m := deniedActionPattern.FindStringSubmatch(err.Error()); m != nil {
		return m[1]
	}
	var call interface {
		Service() string
		Operation() string
	}
	if !errors.As(err, &call) || policyPrefixes[call.Service()] == "" {
		return ""
	}
	return policyPrefixes[call.Service()] + ":" + call.Operation()
}

// PermissionFix returns the fix for a finding about an AWS call that was denied.
func PermissionFix(err error) string {
	action := IAMAction(err)
	if action == "" {
		action = "the action"
	}
	return "add " + action + " to the controller's IAM policy"
}
