package model

import "github.com/fulcrum-lb/fulcrum/internal/finding"

// FrontNLB is a network load balancer in front of the stack's ALB, for addresses that do not
// change. Its target groups, of type alb, stand among those of the stack.
type FrontNLB struct {
	Name        string
	Scheme      Scheme
	AddressType AddressType
	Subnets     SubnetChoice
	// Groups are nil where it carries those of the ALB.
	Groups *GroupsGiven
	// Addresses are allocation ids of elastic addresses, in the order of the subnets.
	Addresses  []string
	Attributes map[string]string
	Tags       map[string]string
	Listeners  []FrontListener // ascending by port
	// Of is where it was asked for, Origins where its settings were, by field name.
	Of      finding.Origin
	Origins map[string]finding.Origin
}

// SchemeOpen says that nobody names a scheme, as for an ALB.
func (f *FrontNLB) SchemeOpen() bool { return f.Origins["scheme"] == finding.Origin{} }

// FrontListener passes the connections of a TCP port on to a port of the ALB.
type FrontListener struct {
	Port    int32
	Target  int32  // port of the ALB
	Group   string // id of the target group
	Members []finding.Ref
}

// AskALBTargets asks which load balancers are registered in a target group of type alb.
type AskALBTargets struct{ ARN string }

// Key implements Question.
func (q AskALBTargets) Key() string { return "alb targets " + q.ARN }

// SubnetQuestion is the question for the subnets of the ALB, or of the NLB in front of it.
func SubnetQuestion(c SubnetChoice, scheme Scheme, nlb bool) AskSubnets {
	q := subnetQuestion(c, scheme)
	q.NLB = nlb
	return q
}

// GroupQuestion is the question for given security groups.
func GroupQuestion(g GroupsGiven) AskGroups { return AskGroups{Refs: joinRefs(g.Refs), List: g.Refs} }

func (f *FrontNLB) questions() []Question {
	out := []Question{SubnetQuestion(f.Subnets, f.Scheme, true)}
	if f.Groups != nil {
		out = append(out, GroupQuestion(*f.Groups))
	}
	return out
}
