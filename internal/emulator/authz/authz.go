// Package authz determines which IAM permissions an API call needs, and whether its caller has them. A call needs
// permissions for its action on each of its resources, for the tags of the resources that it creates, and for further
// actions that the service performs with the caller's permissions.
package authz

import (
	"maps"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/iam"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// UsedPermission is a permission that a call needed and a policy statement allowed.
type UsedPermission struct {
	// Sid is the ID of the policy statement, and Action is the allowed action.
	Sid, Action string
}

// Decision is the result of Decide: whether a call is allowed, and why.
type Decision struct {
	// Permissions lists the permissions that allowed the call. It is empty if the call needs no permission, is denied, or
	// has a caller without policies, who may do everything.
	Permissions []UsedPermission
	// Denial is the error for a caller who lacks a permission. It is nil if the call is allowed.
	Denial *store.Error
	// IsResourceMissing reports whether the resource for which the permission is missing does not exist. A missing
	// resource has no tags, which may be the cause of the denial. AWS does not document whether it reports a missing
	// resource before it evaluates policies. The emulator evaluates policies first, which is stricter.
	IsResourceMissing bool
}

// Decide determines whether the caller of c may make the call with the input in. The caller of Decide holds the lock of the
// store.
func Decide(c *store.Call, in any) Decision {
	if c.Caller.Policies == nil || unrestrictedOperations[c.Service+":"+c.Operation] {
		return Decision{}
	}
	var v Decision
	for i, r := range RequiredPermissions(c, in) {
		d := iam.Evaluate(c.Caller.Policies, r)
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

// actionPrefixes maps the signing name of a service to the prefix of its IAM actions, where the two differ.
var actionPrefixes = map[string]string{"tagging": "tag"}

// ActionPrefix returns the prefix of the IAM actions of a service with this signing name.
func ActionPrefix(service string) string {
	if p := actionPrefixes[service]; p != "" {
		return p
	}
	return service
}

// RequiredPermissions returns the permissions that call c with the input in needs: the permission for its action on each
// resource first, then those for dependent actions.
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

// conditionKeys returns the condition keys of a resource that do not depend on the input of the call: the region and the
// tags of the resource.
func (c call) conditionKeys(arn string) map[string]string {
	keys := map[string]string{"aws:RequestedRegion": c.Region}
	for k, v := range c.resourceTags(arn) {
		keys["aws:ResourceTag/"+k] = v
		keys[ActionPrefix(c.Service)+":ResourceTag/"+k] = v
	}
	return keys
}

// DeniedError returns the error with which AWS denies request r of call c. explicit reports whether a policy denies the
// action, and does not merely lack a statement that allows it. dependent reports whether the service performs the action
// with the caller's permissions; the error then does not name the resource.
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

// AccessDeniedError returns the error with which a service denies an action to a user. user is an ARN. resource is empty or
// a text such as " on resource: ARN". because is the reason in the message.
func AccessDeniedError(service, user, action, resource, because string) *store.Error {
	code, status, before := "AccessDeniedException", 400, ""
	switch service {
	case "ec2":
		code, status, before = "UnauthorizedOperation", 403, "You are not authorized to perform this operation. "
	case "elasticloadbalancing", "sts", "iam", "route53":
		code, status = "AccessDenied", 403
	}
	return store.Errorf(store.DocumentSource("IAM User Guide, Troubleshoot access denied error messages"), code,
		"%sUser: %s is not authorized to perform: %s%s because %s", before, user, action, resource, because).WithStatus(status)
}

// placeholderID replaces the ID in the ARN of a resource that the call is going to create.
const placeholderID = "0000000000000000"

// arn returns the ARN of a resource in the account and region of the caller.
func (c call) arn(service, resource string) string {
	return c.Partition.ARN(service, resource)
}

// globalARN returns the ARN of a resource of a global service, which has no region.
func (c call) globalARN(service, account, resource string) string {
	return strings.Join([]string{"arn", c.Partition.AWSPartition().Name, service, "", account, resource}, ":")
}
