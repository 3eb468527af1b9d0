package model

import (
	"cmp"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// StackID names a stack: the key of the work queue and, as String, the value of the stack tag.
// An explicit Ingress group has no namespace.
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

// Title returns the name by which users know a stack: the object or the group that it is made of.
func (id StackID) Title() string {
	if id.Kind == Ingress && id.Namespace == "" {
		return "IngressGroup " + id.Name
	}
	return id.Kind.Object() + " " + id.String()
}

// Compare orders stack ids by kind, namespace and name.
func (id StackID) Compare(o StackID) int {
	return cmp.Or(cmp.Compare(id.Kind, o.Kind), cmp.Compare(id.Namespace, o.Namespace), cmp.Compare(id.Name, o.Name))
}

// Logical ids of the resources that a stack has at most once. They are values of the resource tag
// and part of the compatibility contract.
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
	// LoadBalancer is of either type; nil when the stack is to be empty.
	LoadBalancer *LoadBalancer
	// FrontendNLB is a frontend NLB of an ALB, for addresses that do not change; nil if
	// there is to be none. Each of its listeners forwards to a target group of type alb, whose port is
	// that of the ALB.
	FrontendNLB *LoadBalancer
	// Accelerator is the accelerator of a stack of kind GlobalAccelerator, which has nothing else; nil when it is to be
	// empty.
	Accelerator *Accelerator
	// TargetGroups in ascending order of ID.
	TargetGroups []TargetGroup
	// Certificates that are requested or imported for members, ascending by ID.
	Certificates []ManagedCertificate
	// Held are the parts that stay as they are live.
	Held HeldParts
	// Contested reports that members disagree on a load-balancer-wide setting, or that
	// what one of them says about it cannot be read. Then the live value decides (the incumbent):
	// translate again with what is observed. An accelerator is contested as long as it has endpoints, because who may
	// have them depends on whose load balancers they are.
	Contested bool
	// Compare are questions whose answers say which of the contested values is live.
	Compare []Question
	// Members are the objects that make up the stack, in group order, the held ones included.
	Members []Member
	// Leaving are objects that carry the stack's finalizer but do not belong to it any more.
	Leaving []Member
	// Leavers are members that ask for another stack by now. This one serves them on until clients know the
	// load balancer of the other.
	Leavers []Departure
	// Arriving are members whose status shows the load balancer of another stack. It shows that of this one when it
	// serves them as well.
	Arriving []Arrival
	// DeletionGuard is set when a member under deletion asked for deletion protection; the load
	// balancer must then not be deleted.
	DeletionGuard *finding.Finding
	// Unprotected is set when a leaving member says outright that the load balancer is not protected from
	// deletion. Then a protection that is live is switched off; one that no member speaks of stays.
	Unprotected bool
	// DryRun has the stack described and nothing carried out.
	DryRun bool
	// Describe asks for a description of what the stack becomes, to be shown on a member.
	Describe bool
	// BackendGroup reports whether the shared backend security group is used here and by others.
	BackendGroup BackendGroupUse
	// Adopts is the stack whose load balancer this one takes over; nil: it has one of its own.
	Adopts *Adoption
	// Isolated reports that hosts belong to the namespaces of members, and settings to the class.
	Isolated bool
	// Attached are the namespace of a Gateway and those of routes that are attached to it, ascending.
	Attached []string
	// Adopters are Gateways that ask for the load balancer of this stack. They prove nothing.
	Adopters []StackID
}

// Adoption is what a Gateway asks for that is to take over the load balancer of another stack.
type Adoption struct {
	From StackID
	// Namespaces are the namespaces of the objects that had the load balancer when it was taken over: these may have it
	// back.
	Namespaces []string
	// At is where the Gateway says so.
	At finding.Origin
}

// Empty reports whether the stack wants nothing to exist.
func (s Stack) Empty() bool { return s.LoadBalancer == nil && s.Accelerator == nil }

// DelaysRepeats reports whether changes wait where the desired state changes again and again: each change of an
// accelerator is spread over the world, and calls are few. What takes rights away never waits.
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

// Member is an object that takes part in a stack.
type Member struct {
	Ref       finding.Ref
	Finalizer string
	// Claimed reports whether the object carries the finalizer already.
	Claimed bool
	// Deleting reports whether the object has a deletion timestamp.
	Deleting bool
	// Blocked reports whether a finding blocks everything that the member contributes.
	Blocked bool
	// Recorded is the ARN in the status of an object that makes up a stack by itself. It proves nothing.
	Recorded string
	// Adopter is the Gateway that may take over the load balancer whatever it answers; zero if the object names none.
	Adopter StackID
}

// Departure is a member on its way to another stack.
type Departure struct {
	Member finding.Ref
	// Since is when its status went on to show the load balancer of the other stack; zero: it shows that of this.
	Since time.Time
}

// Arrival is a member on its way from another stack.
type Arrival struct {
	Member finding.Ref
	// From is the scheme of the load balancer that it comes from, "" if that is not known.
	From Scheme
	// Partial reports that this stack does not serve all of its ports, so that it stays where it is.
	Partial bool
}

// BackendGroupUse is what may happen to the shared backend security group.
type BackendGroupUse struct {
	// Given is the id of a group that the operator provides; it is never made, tagged or deleted.
	Given string
	// Needed by this stack.
	Needed bool
	// OthersLive reports whether another object that is not being deleted may need the group.
	OthersLive bool
	// Tags are the tags wanted on the target group besides the tracking tags.
	Tags map[string]string
}
