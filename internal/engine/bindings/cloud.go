package bindings

import (
	"context"
	"errors"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
)

// MaxTargetsPerCall is the maximum number of targets that one call registers or deregisters.
const MaxTargetsPerCall = 200

// Cloud makes the calls to AWS that bindings need. No method waits until AWS shows or applies a change. Slices and maps that
// are passed in belong to the caller and are not kept.
type Cloud interface {
	// TargetGroupsOf returns access to the target groups of an account. It makes no call. The role is assumed at the first
	// call.
	TargetGroupsOf(a Account) TargetGroups
	// VPCRanges returns the IPv4 and IPv6 CIDR blocks of a VPC. It uses the controller's own account. The error has class
	// Gone if that account cannot see the VPC. The answer may be some minutes old.
	VPCRanges(ctx context.Context, vpc string) ([]string, error)
	EndpointSecurityGroups
	// Class classifies an error of any method.
	Class(err error) failure.Class
}

// ErrZoneNeeded is wrapped in the error of Register if AWS requires the Availability Zone of an address outside of the VPC,
// and does not accept "all".
var ErrZoneNeeded = errors.New("the availability zone of the target is required")

// TargetGroups reads and changes the targets of target groups.
type TargetGroups interface {
	// TargetGroup describes a target group by ARN or, if that is empty, by name. The error has class Gone if it does not
	// exist. The answer may be as old as maxAge; an error may be some seconds old.
	TargetGroup(ctx context.Context, arn, name string, maxAge time.Duration) (TargetGroup, error)
	// IsInUse reports whether a listener or rule of any load balancer forwards to a target group. It always calls AWS. The
	// error has class Gone if the target group does not exist.
	IsInUse(ctx context.Context, arn string) (bool, error)
	// TargetHealth lists all targets of a target group, including draining targets. The answer may be as old as maxAge, with
	// the later writes of this process applied to it. If maxAge is zero, it always calls AWS.
	TargetHealth(ctx context.Context, arn string, maxAge time.Duration) (observed.Health, error)
	// OwnerNamespaces returns the namespaces that may contain the object for which the controller created a target group. It
	// returns none if the controller did not create the target group. If read is false, only cached tags are used, and the
	// result is empty if the tags of the target group are not cached.
	OwnerNamespaces(ctx context.Context, arn string, read bool) (namespaces []string, err error)
	// OwnerStack returns the stack for which the controller created a target group, and the ID of the target group in that
	// stack (group), from the cached tags. ok is false if the tags are not cached or the controller did not create the
	// target group. It makes no call.
	OwnerStack(arn string) (id model.StackID, group string, ok bool)
	// Register registers at most MaxTargetsPerCall targets. It is idempotent. If the rate limiter does not admit the
	// call now, nothing is sent, and the error has a method RetryAfter with the time until it may be sent.
	Register(ctx context.Context, arn string, priority CallPriority, targets []Target) error
	// Deregister deregisters at most MaxTargetsPerCall targets, which must be values that TargetHealth returned. The rate
	// limiter can postpone the call, as for Register. The call is idempotent: a target that is not registered is not an
	// error.
	Deregister(ctx context.Context, arn string, priority CallPriority, targets []*observed.Target) error
}

// CallPriority decides the order of the calls that the rate limiter postpones.
type CallPriority struct {
	// Tenant is the namespace whose share of the admitted calls this call uses.
	Tenant string
	// MaxDelay is how long the call may be delayed after it is first requested.
	MaxDelay time.Duration
}

// The types of the questions to AWS and of the answers, from package bindingplan.
type (
	// TargetGroup describes a target group.
	TargetGroup = bindingplan.TargetGroup
	// Target is a target to be registered.
	Target = bindingplan.Target
	// ENIQuery selects network interfaces.
	ENIQuery = bindingplan.ENIQuery
	// ENIs are the network interfaces that a query has found.
	ENIs = bindingplan.ENIs
	// EndpointSecurityGroup is a security group of nodes or pods.
	EndpointSecurityGroup = bindingplan.EndpointSecurityGroup
)

// EndpointSecurityGroups reads ENIs, and reads and changes the ingress rules of the security groups of nodes and pods.
type EndpointSecurityGroups interface {
	// ENIs finds ENIs. Instances and addresses without an ENI are left out of the answer, without an error. The answer may
	// be some minutes old, or as old as the query allows. ENIs that were not found are always read again.
	ENIs(ctx context.Context, q ENIQuery) (ENIs, error)
	// EndpointSecurityGroups returns the security groups of the VPC that have the tag of the cluster
	// (kubernetes.io/cluster/<name> with the value "owned" or "shared"), and those with the given IDs. It returns all of
	// their ingress rules, one per source. Security groups that do not exist are left out. The answer may be some minutes
	// old, but not older than maxAge if maxAge is positive. The later writes of this process are applied to it.
	EndpointSecurityGroups(ctx context.Context, ids []string, maxAge time.Duration) ([]EndpointSecurityGroup, error)
	// SecurityGroupsAdmitting finds the security groups of the VPC that have inbound rules from the security groups in
	// sources, and returns these sources by the ID of the security group. It only looks for sources that the controller
	// created for this cluster: the shared backend security group, or that of a load balancer. It leaves out security groups
	// that have the tag of any cluster. The answer may be some minutes old.
	SecurityGroupsAdmitting(ctx context.Context, sources []string) (map[string][]string, error)
	// ChangedEndpointSecurityGroups reads the known security groups again, and returns the IDs of those in which an external
	// actor has changed rules of the controller since they were last read or written.
	ChangedEndpointSecurityGroups(ctx context.Context) ([]string, error)
	// ChangeEndpointRules first authorizes and then revokes rules of one security group, each in one call. If the first call
	// fails, the second is not made. A call fails if the rules have changed since they were read: a rule to authorize exists
	// already, or a rule to revoke does not exist. The next read of the security group then calls AWS, so that the next
	// attempt succeeds.
	ChangeEndpointRules(ctx context.Context, group string, authorize, revoke []model.IngressRule) error
}
