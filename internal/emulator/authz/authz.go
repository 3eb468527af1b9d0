// Package authz reports which permissions a call needs, and judges whether its caller has them: the action
// itself on each of its resources, the tags of what is created, and what a service asks of the caller on
// its own behalf.
package authz

import (
	"maps"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/iam"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// Used is a permission that a call was allowed by.
type Used struct {
	// Sid is of the statement, Action the name in it.
	Sid, Action string
}

// Verdict is how a call was judged.
type Verdict struct {
	// Used are the permissions that allowed it, none for a caller without policies.
	Used []Used
	// Denied is the error for a caller who lacks a permission.
	Denied *store.Error
	// Gone is set if that may be because the resource does not exist, so that it has no tags. Whether AWS
	// says so before it looks at the policies is not documented; to deny is the stricter way.
	Gone bool
}

// Decide judges a call. The caller holds the state lock.
func Decide(c *store.Call, in any) Verdict {
	if c.Caller.Policies == nil || free[c.Service+":"+c.Operation] {
		return Verdict{}
	}
	var v Verdict
	for i, r := range Requests(c, in) {
		d := iam.Decide(c.Caller.Policies, r)
		if !d.Allowed {
			return Verdict{Denied: Denied(c, r, d.Explicit, i > 0), Gone: gone(c.Partition, r.Resource)}
		}
		for _, sid := range d.Sids {
			v.Used = append(v.Used, Used{sid, r.Action})
		}
	}
	return v
}

// free are calls that need no permission.
var free = map[string]bool{"sts:GetCallerIdentity": true, "sts:AssumeRoleWithWebIdentity": true}

// prefixes are IAM's names of services in actions, where they differ from the names in signatures.
var prefixes = map[string]string{"tagging": "tag"}

// Prefix returns IAM's name of a service.
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
	return append(out, call.resourcesBehind(tags)...)
}

// keys returns the condition keys of a resource, those of the request left out.
func (c call) keys(arn string) map[string]string {
	keys := map[string]string{"aws:RequestedRegion": c.Region}
	for k, v := range c.tagsOf(arn) {
		keys["aws:ResourceTag/"+k] = v
		keys[Prefix(c.Service)+":ResourceTag/"+k] = v
	}
	return keys
}

// Denied returns the error of a service for a caller whom the policies do not allow something. behind is a
// permission that the service asks for itself.
func Denied(c *store.Call, r iam.Request, explicit, behind bool) *store.Error {
	resource := ""
	if r.Resource != "" && !behind {
		resource = " on resource: " + r.Resource
	}
	because := "no identity-based policy allows the " + r.Action + " action"
	if explicit {
		because = "an explicit deny in an identity-based policy"
	}
	return Refusal(c.Service, c.Caller.ARN, r.Action, resource, because)
}

// Refusal returns the error of a service for a user whom an action is not allowed.
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

// created is the last part of the ARN of what does not exist yet.
const created = "0000000000000000"

// arn returns the ARN of something of the caller.
func (c call) arn(service, resource string) string {
	return c.Partition.ARN(service, resource)
}

// global returns the ARN of something without a region.
func (c call) global(service, account, resource string) string {
	return strings.Join([]string{"arn", c.Partition.AWS().Name, service, "", account, resource}, ":")
}
