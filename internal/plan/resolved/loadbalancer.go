package resolved

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
)

// NoListener returns why there is no listener on a port.
func (lb *LoadBalancer) NoListener(port int32) string {
	if slices.Contains(lb.WithdrawnPorts, port) {
		return "its certificate was imported for another load balancer"
	}
	return "no object listens on this port any more"
}

// LoadBalancer is a desired load balancer with its choices resolved.
type LoadBalancer struct {
	ID      string // in the stack
	Desired *model.LoadBalancer
	// Live is the one that is kept; nil if one has to be made.
	Live    *observed.LoadBalancer
	Subnets []string
	// Addresses are the elastic ones asked for, or the live ones where these do not fit.
	Addresses []string
	// privateIPv4, ipv6 and prefixes (for source NAT) are those asked for, by subnet.
	PrivateIPv4, IPv6, SourceNATPrefixes map[string]string

	SecurityGroups []plan.GroupID
	Listeners      []Listener
	RuleShares     map[string]draft.Share // of its rules, by namespace
	// Withdrawn are ports whose listeners must not serve any more, as their only certificate is another's.
	WithdrawnPorts []int32
	// HeldPorts are live ports of a frontend NLB that stay although no member is known to ask for them.
	HeldPorts []int32
	replacement

	// SubnetChoices and groupsKept note how subnets and security groups were found.
	SubnetChoices      SubnetChoices
	SecurityGroupsKept bool
}

// IsFrontend reports whether it is the NLB in front of the load balancer of the stack.
func (lb *LoadBalancer) IsFrontend() bool { return lb.ID == model.FrontendNLBID }

// Address returns the address of the load balancer that is kept or created.
func (lb *LoadBalancer) Address() plan.Address {
	return plan.Address{Kind: plan.LoadBalancer, ID: lb.ID}
}

// ListenerAddress returns the address of the listener of a port.
func (lb *LoadBalancer) ListenerAddress(port int32) plan.Address {
	if lb.IsFrontend() {
		return plan.Address{Kind: plan.Listener, ID: naming.FrontendListenerID(port)}
	}
	return plan.Address{Kind: plan.Listener, ID: naming.ListenerID(port)}
}

// LiveListener returns the listener of a port of the live load balancer, nil if there is none.
func (lb *LoadBalancer) LiveListener(port int32) *observed.Listener { return lb.Live.OnPort(port) }

// Members returns the members that listen on its ports, or have rules there.
func (lb *LoadBalancer) Members() (out []finding.Ref) {
	for _, l := range lb.Listeners {
		out = append(out, l.Desired.Members...)
		for i := range l.Rules {
			out = append(out, l.Rules[i].Desired.Member)
		}
	}
	return out
}

// Origin explains a setting by where it was written.
func (lb *LoadBalancer) OriginText(field string) string {
	return "from " + lb.Desired.Origins[field].String()
}
