package model

import (
	"cmp"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// StackID identifies a stack. It is the key of the work queue, and its String is the value of the stack tag. The stack of an
// IngressGroup has no namespace.
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

// Title returns the name of a stack for users: its kind and name, or the name of its IngressGroup.
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

// Ids in the model of the resources of which a stack has at most one. They are values of the resource tag, so they must not
// change.
const (
	LoadBalancerID         = "LoadBalancer"
	ManagedSecurityGroupID = "ManagedLBSecurityGroup"
	FrontendNLBID          = "FrontendNlb"
	BackendSecurityGroupID = "backend-sg"
	AcceleratorID          = "GlobalAccelerator"
)

// Stack is the whole desired state of one load balancer, or one accelerator, with all that belongs to it.
type Stack struct {
	ID StackID
	// LoadBalancer is the ALB or NLB of the stack; nil if the stack must have no load balancer.
	LoadBalancer *LoadBalancer
	// FrontendNLB is the frontend NLB, which gives the ALB static addresses; nil if there is none. Each of its listeners
	// forwards to a target group of type alb with a port of the ALB.
	FrontendNLB *LoadBalancer
	// Accelerator is the accelerator of a stack of kind GlobalAccelerator, which has no other resources; nil if the stack
	// must have no accelerator.
	Accelerator *Accelerator
	// TargetGroups are in ascending order of ID.
	TargetGroups []TargetGroup
	// Certificates are the certificates that are requested or imported for members, in ascending order of ID.
	Certificates []ManagedCertificate
	// Held describes which resources of the stack stay unchanged in AWS.
	Held HeldParts
	// Contested reports whether the stack must be translated again with the observed state, because the result depends on a
	// value in AWS. Members may disagree on a load-balancer-wide setting, or such a setting of a member cannot be read. An
	// accelerator with endpoints is always contested, because the tags of its load balancers show who must permit their use.
	Contested bool
	// Compare are the questions about the current values in AWS of contested settings.
	Compare []Question
	// Members are the objects that make up the stack, in order of precedence, including objects that are held.
	Members []Member
	// Leaving are objects that have the finalizer of the stack but do not belong to it any more.
	Leaving []Member
	// MovesOut are members that move to another stack. This stack serves them until clients use the load balancer of the
	// other stack.
	MovesOut []MoveOut
	// MovesIn are members that move to this stack from another one. Their status shows the load balancer of the other stack
	// until this stack serves them as well.
	MovesIn []MoveIn
	// DeletionGuard is set if the load balancer must not be deleted, because a member that is being deleted sets deletion
	// protection.
	DeletionGuard *finding.Finding
	// Unprotected is set if a leaving member explicitly disables deletion protection. Deletion protection is then disabled
	// in AWS for load balancers that are to be deleted.
	Unprotected bool
	// DryRun reports whether the plan is only reported and not carried out.
	DryRun bool
	// Describe reports whether the plan must have a description, because an annotation of a member shows it.
	Describe bool
	// BackendSecurityGroup describes how the stack uses the shared backend security group.
	BackendSecurityGroup BackendSecurityGroupUse
	// Adopts is the take-over of the load balancer of another stack; nil if this stack creates its own load balancer.
	Adopts *Adoption
	// Isolated reports whether tenancy is isolated: each host belongs to one namespace, and only the class sets the
	// load-balancer-wide settings.
	Isolated bool
	// Attached are the namespaces of a Gateway and of the routes that are attached to it, in ascending order.
	Attached []string
	// Adopters are Gateways with an annotation to take over the load balancer of this stack. The annotation alone does not
	// permit the take-over, so no plan uses Adopters. If Adopters changes, the stack is compared with AWS again.
	Adopters []StackID
}

// Adoption is the take-over of the load balancer of another stack by a Gateway.
type Adoption struct {
	From StackID
	// Namespaces are the namespaces of the objects that the load balancer served when it was taken over. The load balancer
	// may be given back to objects in these namespaces.
	Namespaces []string
	// At is the annotation of the Gateway that requests the take-over.
	At finding.Origin
}

// IsEmpty reports whether the stack must have no resources.
func (s Stack) IsEmpty() bool { return s.LoadBalancer == nil && s.Accelerator == nil }

// DelaysRepeats reports whether changes are delayed if the desired state changes repeatedly. Changes of accelerators are
// delayed, because AWS deploys each change worldwide and permits few calls. Removals of endpoints that are no longer
// permitted are never delayed.
func (s Stack) DelaysRepeats() bool { return s.Accelerator != nil }

// TargetGroup returns the target group with an id; nil if there is none.
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
	// Claimed reports whether the object already has the finalizer of the stack.
	Claimed bool
	// Deleting reports whether the object has a deletion timestamp.
	Deleting bool
	// Blocked reports whether a finding blocks all parts of the member.
	Blocked bool
	// Recorded is the ARN in the status of an object that has its own stack. It proves no ownership, because users can write
	// a status.
	Recorded string
	// Adopter is the Gateway that the object permits to take over the load balancer even if the answers to some requests
	// change; zero if there is none.
	Adopter StackID
}

// MoveOut is a move of a member to another stack.
type MoveOut struct {
	Member finding.Ref
	// Since is the time at which the status of the member began to show the load balancer of the other stack; zero if the
	// status still shows that of this stack.
	Since time.Time
}

// MoveIn is a move of a member from another stack.
type MoveIn struct {
	Member finding.Ref
	// From is the scheme of the load balancer of the other stack; "" if it is not known.
	From Scheme
	// Partial reports whether this stack serves only some of the ports of the member, so that its status does not change
	// yet.
	Partial bool
}

// BackendSecurityGroupUse describes how a stack uses the shared backend security group.
type BackendSecurityGroupUse struct {
	// Given is the id of a security group that the operator provides as the shared backend security group; "" if the
	// controller creates it. The controller never creates, tags or deletes a given security group.
	Given string
	// Needed reports whether this stack needs the shared backend security group.
	Needed bool
	// MayBeNeededByOthers reports whether another object that is not being deleted may need the shared backend security
	// group.
	MayBeNeededByOthers bool
	// Tags are the desired tags of the shared backend security group, without those of the controller.
	Tags map[string]string
}
