package model

import (
	"fmt"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Accelerator is an accelerator of AWS Global Accelerator: static addresses that lead to endpoints in several regions. All
// that it needs to know of its endpoints is in it, so that its plan depends on nothing else.
type Accelerator struct {
	Name        string
	AddressType AddressType
	// Addresses are of ranges that the account has brought along. They count when the accelerator is made.
	Addresses []string
	Tags      map[string]string
	// UID of the object, which makes the creation the same however often it is repeated.
	UID string
	// Protected is set where the object asks that the accelerator, its last listener and its IPv6 addresses are not removed.
	Protected bool
	// Guests are the owners of endpoint groups that the accelerator has besides the object's, by region:
	// "cluster/namespace/name".
	Guests map[string]string
	// Shared is the ARN of an accelerator that another owns, and of which the object has the endpoint groups of its region; ""
	// where it has an accelerator of its own.
	Shared string
	// Listeners in the order of the object.
	Listeners []AcceleratorListener
	// Held: listeners, endpoint groups and endpoints that are live stay, and none is made, because some of the object's
	// cannot be built.
	Held bool
	// Pending reports that an endpoint is not there yet, so that the accelerator is looked at again.
	Pending bool
	// Revoked are ids of live endpoints that the object has no right to. They go at once, from every endpoint group, without
	// anything in their place.
	Revoked []string
	// Entries are the endpoints that the object lists, with what became of each.
	Entries []EndpointEntry
	// Origins are where the settings of the accelerator itself come from: name, address-type, addresses, tags.
	Origins map[string]finding.Origin
}

// OriginOf returns where the listener or endpoint group with a logical id comes from; zero for any other id.
func (a *Accelerator) OriginOf(id string) finding.Origin {
	for _, l := range a.Listeners {
		if l.ID == id {
			return l.Origin
		}
		for _, g := range l.Groups {
			if g.ID == id {
				return g.Origin
			}
		}
	}
	return finding.Origin{}
}

// PortRange is a range of ports, both ends included.
type PortRange struct{ From, To int32 }

// String returns "from-to", or the port if it is one.
func (r PortRange) String() string {
	if r.From == r.To {
		return fmt.Sprint(r.From)
	}
	return fmt.Sprintf("%d-%d", r.From, r.To)
}

// Has reports whether a port is in the range.
func (r PortRange) Has(port int32) bool { return r.From <= port && port <= r.To }

// Overlaps reports whether the ranges have a port in common.
func (r PortRange) Overlaps(o PortRange) bool { return r.From <= o.To && o.From <= r.To }

// PortRangesText returns ranges in readable form.
func PortRangesText(ranges []PortRange) string {
	var out []string
	for _, r := range ranges {
		out = append(out, r.String())
	}
	return strings.Join(out, ",")
}

// AcceleratorListener accepts traffic at ports of the accelerator's addresses.
type AcceleratorListener struct {
	// ID is the logical id, such as Listener-0.
	ID       string
	Protocol Base // TCP or UDP
	// Ports in ascending order.
	Ports []PortRange
	// SourceIP keeps all connections of a client at one endpoint.
	SourceIP bool
	Groups   []EndpointGroup
	Origin   finding.Origin
	// ProtocolOf and PortsOf are where these come from: fields of the object, or what its endpoint shows.
	ProtocolOf, PortsOf finding.Origin
}

// Has reports whether a port is one of the listener's.
func (l AcceleratorListener) Has(port int32) bool { return HasPort(l.Ports, port) }

// HasPort reports whether a port is in one of the ranges.
func HasPort(ranges []PortRange, port int32) bool {
	for _, r := range ranges {
		if r.Has(port) {
			return true
		}
	}
	return false
}

// PortOverride sends what arrives at a port of the listener to another port of the endpoints.
type PortOverride struct{ Listener, Endpoint int32 }

// EndpointGroup has the endpoints of a listener in one region.
type EndpointGroup struct {
	// ID is the logical id, such as EndpointGroup-0-1.
	ID     string
	Region string
	// Dial is the percentage of the traffic for the region that stays there.
	Dial int32
	// DialHeld: the live traffic dial stays.
	DialHeld bool
	// Follows is where the traffic dial goes, step by step and never beyond Dial; nil: it is Dial.
	Follows   *DialRule
	Overrides []PortOverride
	// OverridesHeld: the live overrides stay, and without a live endpoint group none is made.
	OverridesHeld bool
	Endpoints     []Endpoint
	// Kept are ids of live endpoints that stay although they are not asked for: those of objects whose load balancer is not
	// there yet or not known.
	Kept   []string
	Origin finding.Origin
}

// DialRule moves a traffic dial to another one, by Step at a time. Both are percentages.
type DialRule struct{ Dial, Step int32 }

// Endpoint is something that gets traffic of an endpoint group.
type Endpoint struct {
	// ID is the ARN of a load balancer, the id of an instance or the allocation id of an Elastic IP address.
	ID     string
	Weight int32
	// ClientIP: whether it sees the addresses of clients; nil leaves that to AWS.
	ClientIP *bool
	// Unready is what it lacks to be an endpoint, for people; it is added once that is there.
	Unready string
	// DualStack reports that it is known to have IPv6 addresses, SingleStack that it is known to have none.
	DualStack, SingleStack bool
	// Leaves is when a load balancer goes whose place another has taken; zero: it stays.
	Leaves time.Time
	Origin finding.Origin
}

// EndpointEntry is an endpoint as an object lists it.
type EndpointEntry struct {
	Origin finding.Origin
	// Object is what it names; ID where that is no object.
	Object finding.Ref
	ID     string
	// Grant is the ReferenceGrant that permits it; zero if it needs none, or none does.
	Grant finding.Ref
	// Endpoints are the ids of what it is: several while one load balancer takes the place of another, none if it is left out.
	Endpoints []string
}

// AskAccelerator asks for the accelerator of the stack. Recorded is the ARN that a status shows, which is looked at
// first. The answer is in what is observed.
type AskAccelerator struct{ Recorded string }

// Key implements Question.
func (q AskAccelerator) Key() string { return "accelerator " + q.Recorded }

// AskSharedAccelerator asks for an accelerator that another owns, with its parts if its tags let the stack have some of them.
// The answer is in what is observed.
type AskSharedAccelerator struct{ ARN string }

// Key implements Question.
func (q AskSharedAccelerator) Key() string { return "shared accelerator " + q.ARN }

// AskAcceleratorState asks whether an accelerator has come to rest, and for the health of its endpoints, if that was read
// longer ago than is worth waiting for. The answer is in what is observed.
// Of the endpoint groups of a listener, Now asks for what they are at this moment: what is decided must not cross what others
// have just decided.
type AskAcceleratorState struct {
	ARN string
	Now bool
}

// Key implements Question.
func (q AskAcceleratorState) Key() string {
	if q.Now {
		return "accelerator state now " + q.ARN
	}
	return "accelerator state " + q.ARN
}

// AskLoadBalancers asks for load balancers that may be endpoints: those of a stack, or else the one with a DNS name or an
// ARN. In place of an ARN it may have the allocation id of an Elastic IP address, for the load balancer of the cluster that
// has the address.
type AskLoadBalancers struct {
	Of           StackID
	DNSName, ARN string
	// Ports has the ports of listeners in the answer.
	Ports bool
}

// Key implements Question.
func (q AskLoadBalancers) Key() string {
	key := "load balancers of " + string(q.Of.Kind) + " " + q.Of.String() + " at " + strings.ToLower(q.DNSName) + q.ARN
	if q.Ports {
		key += " with ports"
	}
	return key
}

// AskAcceleratorsOf asks which accelerators of the cluster have a load balancer as an endpoint.
type AskAcceleratorsOf struct{ ARN string }

// Key implements Question.
func (q AskAcceleratorsOf) Key() string { return "accelerators of " + q.ARN }
