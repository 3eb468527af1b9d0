package resolved

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

// Choices record the values that a plan has chosen for settings that the desired state leaves open, the candidates that it
// refused, and the reasons. The code that makes a choice also records it, so that the record cannot differ from the plan.
type Choices struct {
	// Desired is the desired state that the plan was made from. Members whose clients already use another stack are listed
	// as leaving.
	Desired model.Stack
	// LoadBalancers are the choices for the load balancer of the stack and for its frontend NLB.
	LoadBalancers []LoadBalancerChoices
	// Accelerator is set, in place of LoadBalancers, for a stack that has an accelerator.
	Accelerator *AcceleratorChoices
}

// AcceleratorChoices are the choices of the plan for an accelerator.
type AcceleratorChoices struct {
	// Live is the accelerator that is kept; nil if it has to be created.
	Live *observed.Accelerator
	// Owner is the owner of the accelerator, as CLUSTER/NAMESPACE/NAME if its tags name one; empty if this stack owns the
	// accelerator.
	Owner string
	// OtherOwners has the owners of endpoint groups that do not belong to this stack, by the ARN of the endpoint group.
	OtherOwners map[string]string
	// Listeners are in the order in which the GlobalAccelerator object lists them.
	Listeners []AcceleratorListenerChoices
}

// AcceleratorListenerChoices are the choices of the plan for one listener of an accelerator.
type AcceleratorListenerChoices struct {
	Desired *model.AcceleratorListener
	// Live is the existing listener that is used for the desired listener; nil if it has to be created.
	Live *observed.AcceleratorListener
	// Score is the similarity of the existing to the desired listener, as the AWS Load Balancer Controller computes it.
	Score int
}

// LoadBalancerChoices are the choices of the plan for one load balancer.
type LoadBalancerChoices struct {
	ID      string // resource ID in the stack
	Desired *model.LoadBalancer
	// Live is the load balancer that is kept; nil if it has to be created.
	Live    *observed.LoadBalancer
	Subnets SubnetChoices
	// SecurityGroups are in the order in which the load balancer gets them.
	SecurityGroups []SecurityGroupChoice
	Listeners      []Listener
}

// SubnetChoices record the subnets that a load balancer gets, and how they were chosen.
type SubnetChoices struct {
	// AreRetained is set if the load balancer keeps its current subnets, because the members request no other subnets, or
	// because other subnets cannot be used, which a finding reports.
	AreRetained bool
	// ByReachability is set if no subnet has the role tag, so that subnets were chosen by their route tables.
	ByReachability bool
	Chosen         []string
	Zones          map[string]string // Availability Zones by subnet ID, as far as AWS has returned them
	Refusals       []network.Refusal
}

// SecurityGroupChoice is a security group of a load balancer.
type SecurityGroupChoice struct {
	ID     string // empty if it is not created yet
	Source SecurityGroupSource
}

// SecurityGroupSource is the reason why a load balancer has a security group.
type SecurityGroupSource string

// The reasons why a load balancer has a security group.
const (
	SecurityGroupNamed   SecurityGroupSource = "named"   // an object names it, by ID or Name tag
	SecurityGroupManaged SecurityGroupSource = "managed" // the controller manages it for this stack
	SecurityGroupBackend SecurityGroupSource = "backend" // the shared security group of the cluster, which nodes and pods admit
	SecurityGroupKept    SecurityGroupSource = "kept"    // the load balancer has it already, and keeps it
)

// CertificateSource records for which host or field of a member certificates were looked for, and which certificates were
// found.
type CertificateSource struct {
	Member finding.Ref
	Field  string
	Host   string // the host for which certificates were looked for; empty if the search was not by host
	Search CertificateSearch
	ARNs   []string // empty if none was found, or if none is issued or imported yet
}

// CertificateSearch is the method by which certificates were found.
type CertificateSearch string

// The methods by which certificates are found.
const (
	CertificateNamed   CertificateSearch = "named"   // an object names the certificate by ARN
	CertificateByHost  CertificateSearch = "by host" // discovered in ACM
	CertificateManaged CertificateSearch = "managed" // requested or imported for an object
	CertificateKept    CertificateSearch = "kept"    // attached already, and kept because a member is held or a fact is missing
)
