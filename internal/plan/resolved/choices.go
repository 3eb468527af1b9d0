package resolved

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

// Choices are what a plan has chosen where the desired state leaves it a choice, and what it did not take
// and why. They are notes of the code that chooses.
type Choices struct {
	// Desired is the desired state as the plan has completed it: members whose clients have followed them to another
	// stack are leaving in it.
	Desired model.Stack
	// LoadBalancers are the load balancer of the stack, and then its frontend NLB.
	LoadBalancers []LoadBalancerChoices
	// Accelerator is in place of load balancers.
	Accelerator *AcceleratorChoices
}

// AcceleratorChoices are the choices of the plan for an accelerator.
type AcceleratorChoices struct {
	// Live is the one that is kept; nil if one has to be made.
	Live *observed.Accelerator
	// Owner is the owner of the accelerator, as CLUSTER/NAMESPACE/NAME where its tags say that; "" if it is the stack's.
	Owner string
	// Others are, by ARN, whose the endpoint groups are that are not the stack's.
	OtherOwners map[string]string
	// Listeners in the order of the object.
	Listeners []AcceleratorListenerChoices
}

// AcceleratorListenerChoices are the choices of the plan for one listener of an accelerator.
type AcceleratorListenerChoices struct {
	Desired *model.AcceleratorListener
	// Live is the one that becomes it; nil if one has to be made.
	Live *observed.AcceleratorListener
	// Score is how similar both are.
	Score int
}

// LoadBalancerChoices are the choices of the plan for one load balancer.
type LoadBalancerChoices struct {
	ID      string // in the stack
	Desired *model.LoadBalancer
	// Live is the one that is kept; nil if one has to be made.
	Live    *observed.LoadBalancer
	Subnets SubnetChoices
	// SecurityGroups in the order in which the load balancer gets them.
	SecurityGroups []SecurityGroupChoice
	Listeners      []ListenerChoices
}

// SubnetChoices are the subnets that a load balancer gets.
type SubnetChoices struct {
	// Kept reports that they are those of the live load balancer: either nothing else is asked for, or what is
	// asked for cannot be had, as a finding says.
	Kept bool
	// ByReachability reports that no subnet had the role tag, so that routes decided.
	ByReachability bool
	Chosen         []string
	Zones          map[string]string // by id, of those that AWS has shown
	Refused        []network.Refusal
}

// SecurityGroupChoice is a security group of a load balancer.
type SecurityGroupChoice struct {
	ID  string // empty if it is not made yet
	How SecurityGroupSource
}

// SecurityGroupSource is why a load balancer has a security group.
type SecurityGroupSource string

// The sources of security groups.
const (
	GroupNamed   SecurityGroupSource = "named"   // by an object, by id or name
	GroupOwn     SecurityGroupSource = "managed" // of the stack, with rules by the controller
	GroupBackend SecurityGroupSource = "backend" // shared in the cluster: nodes and pods admit it
	GroupKept    SecurityGroupSource = "kept"    // as it is live
)

// ListenerChoices are the choices of the plan for one listener.
type ListenerChoices struct {
	Desired model.Listener
	Live    *observed.Listener
	// Made reports that the listener is made or changed; otherwise what is live of it stays.
	Planned bool
	// Certificate is the default one.
	Certificate  string
	Certificates []CertificateSource
	// Default is the default action to be set; the live one where it is held.
	Default []model.Action
	// Rules in order of precedence. A held one has the conditions and actions that stay or stand in.
	Rules []RuleChoice
	// LeftOut are held rules that have neither a live form nor a placeholder.
	Omitted []model.Rule
}

// RuleChoice is a rule as the plan carries it out.
type RuleChoice struct {
	model.Rule
	// Kept is the ARN of the live rule that a held one keeps.
	Kept string
}

// CertificateSource holds for which host or field of which object a listener has certificates.
type CertificateSource struct {
	Member finding.Ref
	Field  string
	Host   string // that they were found for
	How    CertificateSearch
	ARNs   []string // none if none was found, or none is there yet
}

// CertificateSearch is how certificates were found.
type CertificateSearch string

// The ways to certificates.
const (
	CertificateNamed  CertificateSearch = "named"   // by an object, by ARN
	CertificateByHost CertificateSearch = "by host" // in ACM
	CertificateOwn    CertificateSearch = "managed" // requested or imported for an object
	CertificateKept   CertificateSearch = "kept"    // as it is live, for hosts of held members, for want of an answer or of a flag
)

func (l *Listener) Choices() ListenerChoices {
	out := ListenerChoices{
		Desired: l.Desired, Live: l.Live, Planned: l.Planned, Certificate: l.Certs.Default, Certificates: l.Certs.Sources, Default: l.DefaultActions,
	}
	for _, r := range l.Rules {
		c := RuleChoice{Rule: r.Desired}
		if r.Kept != nil {
			c.Kept = r.Kept.ARN
		}
		out.Rules = append(out.Rules, c)
	}
	for _, r := range l.Omitted {
		out.Omitted = append(out.Omitted, r.Desired)
	}
	return out
}
