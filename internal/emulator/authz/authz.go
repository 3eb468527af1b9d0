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

// UsedPermission is a permission that allowed a call.
type UsedPermission struct {
	// Sid is the id of the policy statement, and Action the allowed action.
	Sid, Action string
}

// Decision is the result of Decide: whether a call is allowed, and why.
type Decision struct {
	// Permissions lists the permissions that allowed the call. It is empty for a caller without policies.
	Permissions []UsedPermission
	// Denial is the error for a caller who lacks a permission, nil if the call is allowed.
	Denial *store.Error
	// IsResourceMissing is set if the denial may be due to a missing resource, which has no tags. AWS does not document whether
	// it reports a missing resource before it evaluates policies; denying is stricter.
	IsResourceMissing bool
}

// Decide determines whether a call is allowed. The caller holds the lock of the store.
func Decide(c *store.Call, in any) Decision {
	if c.Caller.Policies == nil || unrestrictedOperations[c.Service+":"+c.Operation] {
		return Decision{}
	}
	var v Decision
	for i, r := range RequiredPermissions(c, in) {
		d := iam.Decide(c.Caller.Policies, r)
		if !d.IsAllowed {
			return Decision{Denial: DeniedError(c, r, d.IsExplicitDeny, i > 0), IsResourceMissing: isMissing(c.Partition, r.Resource)}
		}
		for _, sid := range d.Sids {
			v.Permissions = append(v.Permissions, UsedPermission{sid, r.Action})
		}
	}
	return v
}

// unrestrictedOperations lists the operations that need no permission.
var unrestrictedOperations = map[string]bool{"sts:GetCallerIdentity": true, "sts:AssumeRoleWithWebIdentity": true}

// actionPrefixes maps signing names of services to their prefixes in IAM actions, where the two differ.
var actionPrefixes = map[string]string{"tagging": "tag"}

// ActionPrefix returns the prefix of a service's IAM actions.
func ActionPrefix(service string) string {
	if p := actionPrefixes[service]; p != "" {
		return p
	}
	return service
}

// RequiredPermissions returns the permissions that a call needs, its own action first.
func RequiredPermissions(c *store.Call, in any) []iam.Request {
	call := newCall(c, in)
	tags := call.requestTags()
	var out []iam.Request
	for _, arn := range call.resourceARNs() {
		keys := call.conditionKeys(arn)
		maps.Copy(keys, tags)
		out = append(out, iam.Request{Action: ActionPrefix(c.Service) + ":" + c.Operation, Resource: arn, Keys: keys})
	}
	return append(out, call.dependentActions(tags)...)
}

// conditionKeys returns the values of the condition keys that do not depend on the input: the region, and the tags of the
// resource.
func (c call) conditionKeys(arn string) map[string]string {
	keys := map[string]string{"aws:RequestedRegion": c.Region}
	for k, v := range c.resourceTags(arn) {
		keys["aws:ResourceTag/"+k] = v
		keys[ActionPrefix(c.Service)+":ResourceTag/"+k] = v
	}
	return keys
}

// DeniedError returns the error of a service for a caller whose policies do not allow an action. dependent reports whether the
// action is one that the service takes with the caller's permissions.
func DeniedError(c *store.Call, r iam.Request, explicit, dependent bool) *store.Error {
	resource := ""
	if r.Resource != "" && !dependent {
		resource = " on resource: " + r.Resource
	}
	because := "no identity-based policy allows the " + r.Action + " action"
	if explicit {
		because = "an explicit deny in an identity-based policy"
	}
	return AccessDeniedError(c.Service, c.Caller.ARN, r.Action, resource, because)
}

// AccessDeniedError returns the error with which a service denies an action to a user.
func AccessDeniedError(service, user, action, resource, because string) *store.Error {
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

// placeholderID replaces the id in the ARN of a resource that the call creates.
const placeholderID = "0000000000000000"

// arn returns the ARN of a resource in the account and region of the caller.
func (c call) arn(service, resource string) string {
	return c.Partition.ARN(service, resource)
}

// globalARN returns the ARN of a resource without a region.
func (c call) globalARN(service, account, resource string) string {
	return strings.Join([]string{"arn", c.Partition.AWSPartition().Name, service, "", account, resource}, ":")
}
