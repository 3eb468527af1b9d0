// Package authz determines which permissions a call needs, and whether its caller has them: for the action
// itself on each of its resources, for the tags of created resources, and for actions that a service takes with
// the caller's permissions.
package authz

import (
	"maps"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/iam"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// Used is a permission that allowed a call.
type Used struct {
	// Sid is the id of the policy statement, and Action the allowed action.
	Sid, Action string
}

// Verdict is the result of Decide: whether a call is allowed, and why.
type Verdict struct {
	// Used has the permissions that allowed the call. It is empty for a caller without policies.
	Used []Used
	// Denied is the error for a caller who lacks a permission, nil if the call is allowed.
	Denied *store.Error
	// Gone is set if the denial may be due to a missing resource, which has no tags. AWS does not document whether
	// it reports a missing resource before it evaluates policies; denying is stricter.
	Gone bool
}

// Decide determines whether a call is allowed. The caller holds the lock of the store.
func Decide(c *store.Call, in any) Verdict {
	if c.Caller.Policies == nil || unrestricted[c.Service+":"+c.Operation] {
		return Verdict{}
	}
	var v Verdict
	for i, r := range Requests(c, in) {
		d := iam.Decide(c.Caller.Policies, r)
		if !d.Allowed {
			return Verdict{Denied: Denied(c, r, d.Explicit, i > 0), Gone: isMissing(c.Partition, r.Resource)}
		}
		for _, sid := range d.Sids {
			v.Used = append(v.Used, Used{sid, r.Action})
		}
	}
	return v
}

// unrestricted has the operations that need no permission.
var unrestricted = map[string]bool{"sts:GetCallerIdentity": true, "sts:AssumeRoleWithWebIdentity": true}

// prefixes maps signing names of services to their prefixes in IAM actions, where the two differ.
var prefixes = map[string]string{"tagging": "tag"}

// Prefix returns the prefix of a service's IAM actions.
func Prefix(service string) string {
	if p := prefixes[service]; p != "" {
		return p
	}
	return service
}

// Requests returns the permissions that a call needs, its own action first.
func Requests(c *store.Call, in any) []iam.Request {
	call := newCall(c, in)
	tags := call.requestTags()
	var out []iam.Request
	for _, arn := range call.resources() {
		keys := call.keys(arn)
		maps.Copy(keys, tags)
		out = append(out, iam.Request{Action: Prefix(c.Service) + ":" + c.Operation, Resource: arn, Keys: keys})
	}
	return append(out, call.dependentActions(tags)...)
}

// keys returns the condition keys of a resource, without those of the request.
func (c call) keys(arn string) map[string]string {
	keys := map[string]string{"aws:RequestedRegion": c.Region}
	for k, v := range c.tagsOf(arn) {
		keys["aws:ResourceTag/"+k] = v
		keys[Prefix(c.Service)+":ResourceTag/"+k] = v
	}
	return keys
}

// Denied returns the error of a service for a caller whose policies do not allow an action. dependent reports whether the
// action is one that the service takes with the caller's permissions.
func Denied(c *store.Call, r iam.Request, explicit, dependent bool) *store.Error {
	resource := ""
	if r.Resource != "" && !dependent {
		resource = " on resource: " + r.Resource
	}
	because := "no identity-based policy allows the " + r.Action + " action"
	if explicit {
		because = "an explicit deny in an identity-based policy"
	}
	return Refusal(c.Service, c.Caller.ARN, r.Action, resource, because)
}

// Refusal returns the error of a service for a user who is not allowed an action.
func Refusal(service, user, action, resource, because string) *store.Error {
	code, status, before := "AccessDeniedException", 400, ""
	switch service {
	case "ec2":
		code, status, before = "UnauthorizedOperation", 403, "You are not authorized to perform this operation. "
	case "elasticloadbalancing", "sts", "iam", "route53":
		code, status = "AccessDenied", 403
	}
	return store.Errorf(store.Document("IAM User Guide, Troubleshoot access denied error messages"), code,
		"%sUser: %s is not authorized to perform: %s%s because %s", before, user, action, resource, because).WithStatus(status)
}

// newID replaces the id in the ARN of a resource that the call creates.
const newID = "0000000000000000"

// arn returns the ARN of a resource in the account and region of the caller.
func (c call) arn(service, resource string) string {
	return c.Partition.ARN(service, resource)
}

// global returns the ARN of a resource without a region.
func (c call) global(service, account, resource string) string {
	return strings.Join([]string{"arn", c.Partition.AWS().Name, service, "", account, resource}, ":")
}
