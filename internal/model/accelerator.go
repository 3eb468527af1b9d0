package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Accelerator is the desired state of an accelerator of AWS Global Accelerator: static addresses with endpoints in several
// regions. It has everything about its endpoints that a plan needs.
type Accelerator struct {
	Name        string
	AddressType AddressType
	// Addresses are from the account's own ranges (BYOIP). They are used only when the accelerator is created.
	Addresses []string
	Tags      map[string]string
	// UID is that of the object. It makes repeated creations idempotent.
	UID string
	// Protected reports whether the accelerator, its last listener and its IPv6 addresses must not be removed.
	Protected bool
	// Guests are the GlobalAccelerators of other clusters with endpoint groups in the accelerator, by region, as
	// "cluster/namespace/name".
	Guests map[string]string
	// Shared is the ARN of the accelerator of another owner in which the object has the endpoint groups of its region; "" if
	// it has an accelerator of its own.
	Shared string
	// Listeners are in the order of the object.
	Listeners []AcceleratorListener
	// Held reports whether live listeners, endpoint groups and endpoints stay unchanged and none is created, because a part
	// of the object cannot be translated.
	Held bool
	// Pending reports whether an endpoint has no load balancer yet, so that the stack runs again.
	Pending bool
	// Revoked are the ids of live endpoints to which the object has no right. They are removed at once from every endpoint
	// group, without waiting for others in their place.
	Revoked []string
	// Entries are the endpoints in the object, with the result of each.
	Entries []EndpointEntry
	// Origins are the origins of the settings of the accelerator itself: name, address-type, addresses, tags.
	Origins map[string]finding.Origin
}

// OriginOf returns the origin of the listener or endpoint group with an id; zero for any other id.
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

// String returns "from-to", or a single number for a range of one port.
func (r PortRange) String() string {
	if r.From == r.To {
		return fmt.Sprint(r.From)
	}
	return fmt.Sprintf("%d-%d", r.From, r.To)
}

// Contains reports whether a port is in the range.
func (r PortRange) Contains(port int32) bool { return r.From <= port && port <= r.To }

// Overlaps reports whether the ranges have a port in common.
func (r PortRange) Overlaps(o PortRange) bool { return r.From <= o.To && o.From <= r.To }

// PortRangesText returns ranges for messages, such as "80,8000-8080".
func PortRangesText(ranges []PortRange) string {
	var out []string
	for _, r := range ranges {
		out = append(out, r.String())
	}
	return strings.Join(out, ",")
}

// AcceleratorListener accepts traffic at ports of the accelerator's addresses.
type AcceleratorListener struct {
	// ID is the id in the model, such as Listener-0.
	ID       string
	Protocol BaseProtocol // TCP or UDP
	// Ports are in ascending order.
	Ports []PortRange
	// SourceIP is client affinity SOURCE_IP: all connections of a client go to one endpoint.
	SourceIP bool
	Groups   []EndpointGroup
	Origin   finding.Origin
	// ProtocolOf and PortsOf are the origins of protocol and ports: fields of the object, or of that of its endpoint.
	ProtocolOf, PortsOf finding.Origin
}

// Has reports whether the listener has a port.
func (l AcceleratorListener) Has(port int32) bool { return HasPort(l.Ports, port) }

// HasPort reports whether a port is in one of the ranges.
func HasPort(ranges []PortRange, port int32) bool {
	return slices.ContainsFunc(ranges, func(r PortRange) bool { return r.Contains(port) })
}

// PortOverride forwards traffic for a port of the listener to another port of the endpoints.
type PortOverride struct{ Listener, Endpoint int32 }

// EndpointGroup has the endpoints of a listener in one region.
type EndpointGroup struct {
	// ID is the id in the model, such as EndpointGroup-0-1.
	ID     string
	Region string
	// Dial is the traffic dial: the percentage of the traffic for the region that goes to the endpoint group.
	Dial int32
	// DialHeld reports whether the live traffic dial stays.
	DialHeld bool
	// DialRule limits how the traffic dial changes, up to Dial; nil if the traffic dial is set to Dial at once.
	DialRule  *DialRule
	Overrides []PortOverride
	// OverridesHeld reports whether the live overrides stay. Then a new endpoint group is not created.
	OverridesHeld bool
	Endpoints     []Endpoint
	// Kept are the ids of live endpoints that stay although they are not desired, because the load balancer of their object
	// does not exist yet or is not known.
	Kept   []string
	Origin finding.Origin
}

// DialRule changes a traffic dial to Dial, by at most Step at a time. Both are percentages.
type DialRule struct{ Dial, Step int32 }

// Endpoint is an endpoint of an endpoint group.
type Endpoint struct {
	// ID is the ARN of a load balancer, the id of an instance or the allocation id of an Elastic IP address.
	ID     string
	Weight int32
	// ClientIP is client IP preservation: whether the endpoint sees the address of the client. If nil, AWS decides.
	ClientIP *bool
	// Unready is a text about what the endpoint waits for before it can be added; "" if it can be.
	Unready string
	// DualStack reports whether the endpoint is known to have IPv6 addresses, SingleStack whether it is known to have none.
	DualStack, SingleStack bool
	// ReplacedAt is the time at which another load balancer replaced this endpoint, which is removed later; zero if it
	// stays.
	ReplacedAt time.Time
	Origin     finding.Origin
}

// EndpointEntry is an endpoint in an object, with its result.
type EndpointEntry struct {
	Origin finding.Origin
	// Object is the object that it names; ID is set instead if it names an ARN or id.
	Object finding.Ref
	ID     string
	// Grant is the ReferenceGrant that permits it; zero if there is none, or none is needed.
	Grant finding.Ref
	// Endpoints are the ids of the endpoints: several while one load balancer takes the place of another, none if it is left
	// out.
	Endpoints []string
}

// AskAccelerator asks for the accelerator of the stack. Recorded is the ARN in the status of the object, which is read first.
// The answer is in the observed state.
type AskAccelerator struct{ Recorded string }

// Key implements Question.
func (q AskAccelerator) Key() string { return "accelerator " + q.Recorded }

// AskSharedAccelerator asks for the accelerator of another owner, with its listeners if its tags name the stack as a guest. The
// answer is in the observed state.
type AskSharedAccelerator struct{ ARN string }

// Key implements Question.
func (q AskSharedAccelerator) Key() string { return "shared accelerator " + q.ARN }

// AskAcceleratorState asks whether an accelerator is deployed, and for the health of its endpoints, if these were not read
// recently. The answer is in the observed state. With Now, the endpoint groups are read at once, so that a decision takes
// into account what another owner has just changed.
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

// AskLoadBalancers asks for load balancers that may be endpoints: those of a stack, or the one with a DNS name or an ARN. ARN
// may also be the allocation id of an Elastic IP address, for the load balancer of the cluster with that address.
type AskLoadBalancers struct {
	Of           StackID
	DNSName, ARN string
	// Ports includes the ports of listeners in the answer.
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
