package failure

import (
	"errors"
	"regexp"
	"strings"
)

// policyPrefixes are the prefixes of the names of permissions, by the service id of the SDK.
var policyPrefixes = map[string]string{
	"Elastic Load Balancing v2": "elasticloadbalancing", "EC2": "ec2", "ACM": "acm", "WAFV2": "wafv2", "WAF Regional": "waf-regional",
	"Shield": "shield", "Resource Groups Tagging API": "tag", "STS": "sts", "Route 53": "route53", "Global Accelerator": "globalaccelerator",
}

// deniedAction is how AWS names the permission that is missing. It may be another than that of the call:
// a resource that is made with tags needs the right to tag as well.
var deniedAction = regexp.MustCompile(`not authorized to perform: ([a-z0-9-]{2,40}:[A-Za-z0-9]{2,80})`)

// NoAnswer reports whether a call of AWS was made that got no answer, or only that AWS itself fails. A call for which no
// credentials were found was not made.
func NoAnswer(err error) bool {
	var answer Coded
	var of interface {
		Service() string
		Operation() string
	}
	if err == nil || !errors.As(err, &of) || Turn(err) > 0 || strings.Contains(err.Error(), "get credentials") {
		return false
	}
	var status interface{ HTTPStatusCode() int }
	return !errors.As(err, &answer) || errors.As(err, &status) && status.HTTPStatusCode() >= 500
}

// Permission returns the name by which a policy allows the call that failed, such as
// "elasticloadbalancing:CreateRule"; "" if the error is not one of a call.
func Permission(err error) string {
	if err == nil {
		return ""
	}
	if m := deniedAction.FindStringSubmatch(err.Error()); m != nil {
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

// AddPermission returns the fix for a call that is denied.
func AddPermission(err error) string {
	action := Permission(err)
	if action == "" {
		action = "the action"
	}
	return "add " + action + " to the controller's IAM policy"
}
