package model

import (
	"cmp"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// StackID identifies a stack. It is the key of the work queue, and its String is the value of the stack tag. The stack of
// an IngressGroup has no namespace.
type StackID struct {
	Kind      Kind
	Namespace string
	Name      string
}

// String returns the value of the stack tag: "name" or "namespace/name".
func (id StackID) String() string {
	if id.Namespace == "" {
		return id.Name
	}
	return id.Namespace + "/" + id.Name
}

// Title returns the name of a stack for users: its object or its IngressGroup.
func (id StackID) Title() string {
	if id.Kind == Ingress && id.Namespace == "" {
		return "IngressGroup " + id.Name
	}
	return id.Kind.ObjectKind() + " " + id.String()
}

// Compare orders stack ids by kind, namespace and name.
func (id StackID) Compare(o StackID) int {
	return cmp.Or(cmp.Compare(id.Kind, o.Kind), cmp.Compare(id.Namespace, o.Namespace), cmp.Compare(id.Name, o.Name))
}

// Ids of the resources that a stack has at most once. They are values of the resource tag, so they must not change.
const (
	LoadBalancerID  = "LoadBalancer"
	ManagedGroupID  = "ManagedLBSecurityGroup"
	FrontendNLBID   = "FrontendNlb"
	BackendGroupTag = "backend-sg"
	AcceleratorID   = "GlobalAccelerator"
)

// Stack is the whole desired state of one load balancer, or one accelerator, with all that belongs to it.
type Stack struct {
	ID StackID
	// LoadBalancer is an ALB or an NLB; nil if the stack is to be empty.
	LoadBalancer *LoadBalancer
	// FrontendNLB is the frontend NLB, which has addresses that do not change, in front of the ALB; nil if there is none.
	// Each of its listeners forwards to a target group of type alb with a port of the ALB.
	FrontendNLB *LoadBalancer
	// Accelerator is the accelerator of a stack of kind GlobalAccelerator, which has nothing else; nil if the stack is to
	// be empty.
	Accelerator *Accelerator
	// TargetGroups are in ascending order of ID.
	TargetGroups []TargetGroup
	// Certificates are those that are requested or imported for members, in ascending order of ID.
	Certificates []ManagedCertificate
	// Held are the parts that stay unchanged in AWS.
	Held HeldParts
	// Contested reports whether the stack must be translated again with the observed state, because the live value decides:
	// members disagree on a load-balancer-wide setting, or the setting of one of them cannot be read. An accelerator with
	// endpoints is always contested, because the tags of their load balancers show who must permit their use.
	Contested bool
	// Compare are the questions about the live values of contested settings.
	Compare []Question
	// Members are the objects that make up the stack, in group order, the held ones included.
	Members []Member
	// Leaving are objects that have the finalizer of the stack but do not belong to it any more.
	Leaving []Member
	// MovesOut are members that move to another stack. This stack serves them until clients use the other load balancer.
	MovesOut []MoveOut
	// MovesIn are members that move to this stack from another one. Their status shows the load balancer of that stack until
	// this one serves them as well.
	MovesIn []MoveIn
	// DeletionGuard is set if the load balancer must not be deleted, because a member that is being deleted has deletion
	// protection.
	DeletionGuard *finding.Finding
	// Unprotected is set if a leaving member explicitly switches deletion protection off. Then a live protection is switched
	// off; otherwise it stays.
	Unprotected bool
	// DryRun reports whether the plan is only described and not carried out.
	DryRun bool
	// Describe reports whether a description of the plan is made, to be shown on a member.
	Describe bool
	// BackendGroup describes how the stack uses the shared backend security group.
	BackendGroup BackendGroupUse
	// Adopts is the take-over of the load balancer of another stack; nil if this one has a load balancer of its own.
	Adopts *Adoption
	// Isolated reports whether tenancy is isolated: each host belongs to a namespace, and the class has the
	// load-balancer-wide settings.
	Isolated bool
	// Attached are the namespaces of a Gateway and of the routes that are attached to it, in ascending order.
	Attached []string
	// Adopters are Gateways with an annotation to take over the load balancer of this stack. The annotation alone permits
	// nothing.
	Adopters []StackID
}

// Adoption is the take-over of the load balancer of another stack by a Gateway.
type Adoption struct {
	From StackID
	// Namespaces are the namespaces of the objects that had the load balancer when it was taken over: the load balancer may
	// be given back to these.
	Namespaces []string
	// At is the annotation of the Gateway.
	At finding.Origin
}

// IsEmpty reports whether the stack is to have no resources.
func (s Stack) IsEmpty() bool { return s.LoadBalancer == nil && s.Accelerator == nil }

// DelaysRepeats reports whether changes are delayed if the desired state changes repeatedly. That is so for accelerators,
// because each change is deployed worldwide, and AWS permits few calls. Removals of rights are never delayed.
func (s Stack) DelaysRepeats() bool { return s.Accelerator != nil }

// TargetGroup returns the target group with an id, nil if there is none.
func (s Stack) TargetGroup(id string) *TargetGroup {
	for i := range s.TargetGroups {
		if s.TargetGroups[i].ID == id {
			return &s.TargetGroups[i]
		}
	}
	return nil
}

// Member is an object that contributes to a stack.
type Member struct {
	Ref       finding.Ref
	Finalizer string
	// Claimed reports whether the object has the finalizer.
	Claimed bool
	// Deleting reports whether the object has a deletion timestamp.
	Deleting bool
	// Blocked reports whether a finding blocks everything of the member.
	Blocked bool
	// Recorded is the ARN in the status of an object that is a stack of its own. It does not prove ownership.
	Recorded string
	// Adopter is the Gateway, named by the object, that may take over the load balancer even if requests get other answers;
	// zero if there is none.
	Adopter StackID
}

// MoveOut is a move of a member to another stack.
type MoveOut struct {
	Member finding.Ref
	// Since is the time at which the status began to show the load balancer of the other stack; zero if the status shows
	// that of this stack.
	Since time.Time
}

// MoveIn is a move of a member from another stack.
type MoveIn struct {
	Member finding.Ref
	// From is the scheme of the load balancer of the other stack, "" if it is not known.
	From Scheme
	// Partial reports whether this stack does not serve all of its ports, so that its status stays.
	Partial bool
}

// BackendGroupUse is the use of the shared backend security group.
type BackendGroupUse struct {
	// Given is the id of a security group that the operator provides; it is never made, tagged or deleted.
	Given string
	// Needed reports whether this stack needs it.
	Needed bool
	// OthersLive reports whether another object that is not being deleted may need it.
	OthersLive bool
	// Tags are its desired tags besides those of the controller.
	Tags map[string]string
}
