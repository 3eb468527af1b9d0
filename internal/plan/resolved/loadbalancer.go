package resolved

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// ListenerDeletionReason returns the reason why the listener of a port is deleted.
func (lb *LoadBalancer) ListenerDeletionReason(port int32) string {
	if slices.Contains(lb.WithdrawnPorts, port) {
		return "its certificate was imported for another load balancer"
	}
	return "no object listens on this port any more"
}

// LoadBalancer is a desired load balancer after all choices are made.
type LoadBalancer struct {
	ID      string // resource ID in the stack
	Desired *model.LoadBalancer
	// Live is the load balancer that is kept; nil if it has to be created.
	Live    *observed.LoadBalancer
	Subnets []string
	// Addresses are the allocation IDs of the desired elastic addresses. If their number differs from the number of subnets,
	// they are the current elastic addresses of the load balancer.
	Addresses []string
	// PrivateIPv4, IPv6 and SourceNATPrefixes are the desired addresses and prefixes, by subnet ID.
	PrivateIPv4, IPv6, SourceNATPrefixes map[string]string

	SecurityGroups []plan.SecurityGroupRef
	Listeners      []Listener
	RuleShares     plan.Shares // shares of the quota of rules, by namespace
	// WithdrawnPorts are ports whose listener is deleted, because the only certificate of the listener belongs to another
	// stack.
	WithdrawnPorts []int32
	// HeldPorts are existing ports of a frontend NLB that are retained because a member whose port mapping cannot be read
	// may request them.
	HeldPorts []int32
	replacement

	// SubnetChoices records how the subnets were chosen. SecurityGroupsKept is set if the load balancer keeps its current
	// security groups.
	SubnetChoices      SubnetChoices
	SecurityGroupsKept bool
}

// IsFrontend reports whether this is the frontend NLB of the stack.
func (lb *LoadBalancer) IsFrontend() bool { return lb.ID == model.FrontendNLBID }

// Address returns the address of the load balancer that is kept or created.
func (lb *LoadBalancer) Address() plan.Address {
	return plan.Address{Kind: plan.LoadBalancer, ID: lb.ID}
}

// ListenerAddress returns the address of the listener on a port.
func (lb *LoadBalancer) ListenerAddress(port int32) plan.Address {
	if lb.IsFrontend() {
		return plan.Address{Kind: plan.Listener, ID: naming.FrontendListenerID(port)}
	}
	return plan.Address{Kind: plan.Listener, ID: naming.ListenerID(port)}
}

// ListenerOnPort returns the desired listener on a port; nil if there is none.
func (lb *LoadBalancer) ListenerOnPort(port int32) *Listener {
	for i := range lb.Listeners {
		if lb.Listeners[i].Desired.Port == port {
			return &lb.Listeners[i]
		}
	}
	return nil
}

// Members returns the members that have a listener or a rule on the load balancer. The result can contain duplicates.
func (lb *LoadBalancer) Members() (out []finding.Ref) {
	for _, l := range lb.Listeners {
		out = append(out, l.Desired.Members...)
		for i := range l.Rules {
			out = append(out, l.Rules[i].Desired.Member)
		}
	}
	return out
}

// OriginText returns the reason of a change of a setting: the object and field that the setting comes from.
func (lb *LoadBalancer) OriginText(field string) string {
	return "from " + lb.Desired.Origins[field].String()
}
