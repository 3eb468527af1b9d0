package bindings

import (
	"context"
	"errors"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
)

// MaxTargets is how many targets one call registers or deregisters at most.
const MaxTargets = 200

// Cloud is AWS as bindings need it. No method waits until AWS shows or applies a change. Slices and maps passed in
// belong to the caller and are not kept.
type Cloud interface {
	// As gives the target groups of an account. It makes no call; the role is assumed when it is
	// needed.
	As(a Account) TargetGroups
	// VPCRanges returns the IPv4 and IPv6 ranges associated with a VPC, as the controller's own
	// account sees it. An error of class Gone says that it does not see it. The answer may be some
	// minutes old.
	VPCRanges(ctx context.Context, vpc string) ([]string, error)
	EndpointGroups
	// Class sorts an error of any method.
	Class(err error) engine.Class
}

// ErrZoneNeeded is in the error of Register where AWS requires the zone of an address that
// is outside of the VPC, and not that it is in all of them.
var ErrZoneNeeded = errors.New("the zone of the target has to be given")

// TargetGroups reads and changes the targets of target groups.
type TargetGroups interface {
	// TargetGroup describes a target group by ARN or, if that is empty, by name. An error of class
	// Gone says that there is none. The answer may be as old as maxAge, a refusal some seconds old.
	TargetGroup(ctx context.Context, arn, name string, maxAge time.Duration) (TargetGroup, error)
	// InUse reports whether a listener or rule of any load balancer forwards to a target group, as AWS
	// has it now. An error of class Gone says that it does not exist.
	InUse(ctx context.Context, arn string) (bool, error)
	// TargetHealth lists all targets of a target group, draining ones included. The answer may be
	// as old as maxAge; our own writes since are laid over it. Zero reads again.
	TargetHealth(ctx context.Context, arn string, maxAge time.Duration) (observed.Health, error)
	// MadeFor returns the namespaces of which one has the object that the controller has made a target group for,
	// none if it has not made it, as the controller's own rights show. Without read it makes no call, and the answer
	// may be none for want of knowledge.
	MadeFor(ctx context.Context, arn string, read bool) (namespaces []string, err error)
	// MadeOf returns the stack that the controller has made a target group for, and the id of the group in it, as its tags
	// show; false if that is not known. It makes no call.
	MadeOf(arn string) (id model.StackID, group string, ok bool)
	// Register adds at most MaxTargets targets. It is idempotent. Where AWS's limits do not admit the
	// call now, nothing is sent, and the error has a method RetryAfter that says when it has its turn.
	Register(ctx context.Context, arn string, turn Turn, targets []Target) error
	// Deregister takes at most MaxTargets targets out, as they were listed, likewise. It is idempotent;
	// targets that are not registered are no error.
	Deregister(ctx context.Context, arn string, turn Turn, targets []*observed.Target) error
}

// Turn decides the order in which calls are sent when AWS's limits do not admit all of them.
type Turn struct {
	// Tenant to whose share the call counts.
	Tenant string
	// Within is how long the call may wait from when it is first asked for.
	Within time.Duration
}

// The values that plans are made of.
type (
	// TargetGroup describes a target group.
	TargetGroup = bindingplan.TargetGroup
	// Target is to be registered.
	Target = bindingplan.Target
	// ENIQuery asks for network interfaces.
	ENIQuery = bindingplan.ENIQuery
	// ENIs is the answer.
	ENIs = bindingplan.ENIs
	// EndpointGroup is a security group of nodes or pods.
	EndpointGroup = bindingplan.EndpointSecurityGroup
)

// EndpointGroups reads network interfaces, and reads and changes the rules of the security groups
// of nodes and pods.
type EndpointGroups interface {
	// ENIs finds network interfaces. What is not there is left out of the answer, without an
	// error. Answers may be some minutes old, or as old as the query says, but not for something that
	// was not found.
	ENIs(ctx context.Context, q ENIQuery) (ENIs, error)
	// EndpointGroups returns the security groups of the VPC that are tagged for the cluster
	// (kubernetes.io/cluster/<name> owned or shared) and those of the given ids, with all their
	// ingress rules, one per source. Groups that do not exist are left out. The answer may be some
	// minutes old, and not older than maxAge if that is above zero; our own writes since are laid over
	// it.
	EndpointGroups(ctx context.Context, ids []string, maxAge time.Duration) ([]EndpointGroup, error)
	// ChangedEndpointGroups reads the known groups again, and returns those whose rules of the controller
	// others have changed since they were read or written last.
	ChangedEndpointGroups(ctx context.Context) ([]string, error)
	// ChangeEndpointRules authorizes and then revokes rules of one group, each in one call; an
	// error of the first keeps it from the second. Where the group is not as it was last read (a
	// rule to add exists, one to revoke does not) it is read again, so that a repetition works out.
	ChangeEndpointRules(ctx context.Context, group string, authorize, revoke []model.IngressRule) error
}
