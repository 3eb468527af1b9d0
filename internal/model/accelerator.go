package model

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Accelerator is the desired state of an accelerator of AWS Global Accelerator: static addresses with endpoints in several
// regions. It has all facts about its endpoints that a plan needs.
type Accelerator struct {
	Name        string
	AddressType AddressType
	// Addresses are static addresses from address ranges of the AWS account (BYOIP). They are used only when the accelerator
	// is created.
	Addresses []string
	Tags      map[string]string
	// UID is the UID of the GlobalAccelerator. It is part of the idempotency tokens of AWS calls, so that a repeated call
	// creates no second resource.
	UID string
	// Protected reports whether the accelerator, its last listener and its IPv6 addresses must not be removed.
	Protected bool
	// Guests are the GlobalAccelerators of other clusters with endpoint groups in the accelerator, by region, as
	// "cluster/namespace/name".
	Guests map[string]string
	// Shared is the ARN of an accelerator of another owner in which this GlobalAccelerator has the endpoint groups of its
	// region; "" if this GlobalAccelerator has its own accelerator.
	Shared string
	// Listeners are in the order of the spec of the GlobalAccelerator.
	Listeners []AcceleratorListener
	// Held reports whether existing listeners, endpoint groups and endpoints stay unchanged and no new ones are created,
	// because the spec cannot be translated completely.
	Held bool
	// Pending reports whether an endpoint has no load balancer yet, so that the stack must be reconciled again.
	Pending bool
	// LoadBalancerMissing reports whether AWS has no load balancer with a hostname or ARN of an endpoint, or could not
	// create the load balancer. No event reports that the load balancer exists, so the controller looks it up again at
	// increasing intervals.
	LoadBalancerMissing bool
	// Revoked are the ids of existing endpoints that the GlobalAccelerator may not use any more. They are removed
	// immediately from every endpoint group, without waiting for their replacements.
	Revoked []string
	// Rights identifies the ReferenceGrants and flags that may permit endpoints. It is set in a translation without observed
	// state if the stack of a load balancer determines whether the load balancer may be an endpoint, because this stack is
	// known only from AWS. The engine compares a stack with AWS if its Rights differ from the checkpoint.
	Rights string
	// Entries are the endpoints in the spec, each with the endpoints in AWS that result from it.
	Entries []EndpointEntry
	// Origins are the origins of the settings of the accelerator itself, by the name of the setting: name, address-type,
	// addresses, tags.
	Origins map[string]finding.Origin
}

// OriginOf returns the origin of the listener or endpoint group with an id; the zero Origin for an unknown id.
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

// PortRangesText returns port ranges as text for messages, such as "80,8000-8080".
func PortRangesText(ranges []PortRange) string {
	var out []string
	for _, r := range ranges {
		out = append(out, r.String())
	}
	return strings.Join(out, ",")
}

// AcceleratorListener is a listener of an accelerator. It accepts traffic on some ports of the addresses of the accelerator.
type AcceleratorListener struct {
	// ID identifies the listener in the model, such as Listener-0.
	ID       string
	Protocol BaseProtocol // TCP or UDP
	// Ports are in ascending order.
	Ports []PortRange
	// SourceIP reports whether client affinity is SOURCE_IP: all connections of a client go to one endpoint.
	SourceIP bool
	Groups   []EndpointGroup
	Origin   finding.Origin
	// ProtocolOf and PortsOf are the origins of Protocol and Ports: fields of the GlobalAccelerator, or of the object that
	// its endpoint names.
	ProtocolOf, PortsOf finding.Origin
}

// HasPort reports whether the listener listens on a port.
func (l AcceleratorListener) HasPort(port int32) bool { return HasPort(l.Ports, port) }

// HasPort reports whether a port is in one of the ranges.
func HasPort(ranges []PortRange, port int32) bool {
	return slices.ContainsFunc(ranges, func(r PortRange) bool { return r.Contains(port) })
}

// PortOverride forwards traffic for a port of the listener to another port of the endpoints.
type PortOverride struct{ Listener, Endpoint int32 }

// EndpointGroup is an endpoint group of AWS Global Accelerator: the endpoints of a listener in one region.
type EndpointGroup struct {
	// ID identifies the endpoint group in the model, such as EndpointGroup-0-1.
	ID     string
	Region string
	// Dial is the traffic dial: the percentage of the traffic to the region that goes to the endpoint group.
	Dial int32
	// DialHeld reports whether the current traffic dial stays unchanged.
	DialHeld bool
	// DialRule limits how the traffic dial changes; nil if it is set to Dial in one step.
	DialRule  *DialRule
	Overrides []PortOverride
	// OverridesHeld reports whether the current port overrides stay unchanged. If it is set, no new endpoint group is
	// created.
	OverridesHeld bool
	Endpoints     []Endpoint
	// RetainedEndpoints are the ids of existing endpoints that stay although they are not desired. Either the endpoint may
	// be the load balancer of an object whose load balancer is not known or does not exist yet, or it is not known whether
	// the GlobalAccelerator may use the endpoint.
	RetainedEndpoints []string
	Origin            finding.Origin
}

// DialRule is a limit for changes of a traffic dial: it changes towards Dial by at most Step at a time. Both are
// percentages.
type DialRule struct{ Dial, Step int32 }

// Endpoint is an endpoint of an endpoint group of AWS Global Accelerator.
type Endpoint struct {
	// ID is the ARN of a load balancer, the id of an instance or the allocation id of an Elastic IP address.
	ID     string
	Weight int32
	// ClientIP reports whether the endpoint gets the address of the client (client IP address preservation). If it is nil,
	// AWS decides.
	ClientIP *bool
	// Unready describes, for messages, what is missing before the endpoint can be added; "" if it can be added.
	Unready string
	// DualStack reports whether the endpoint is known to have IPv6 addresses, SingleStack whether it is known to have none.
	DualStack, SingleStack bool
	// ReplacedAt is the time at which another load balancer replaced this endpoint, which is removed some time later. It is
	// zero if the endpoint is not replaced.
	ReplacedAt time.Time
	Origin     finding.Origin
}

// EndpointEntry is an endpoint in the spec of a GlobalAccelerator, with the endpoints in AWS that result from it.
type EndpointEntry struct {
	Origin finding.Origin
	// Object is the object that the entry names; zero if the entry names an ARN or an id, which is then in ID.
	Object finding.Ref
	ID     string
	// Grant is the ReferenceGrant that permits the use of Object; zero if there is none, or if none is needed.
	Grant finding.Ref
	// Endpoints are the ids of the endpoints in AWS. There are several while one load balancer replaces another, and none if
	// the entry is left out.
	Endpoints []string
}

// AskAccelerator asks for the accelerator of the stack. Recorded is the ARN in the status of the GlobalAccelerator. The
// accelerator with this ARN is read first. The answer is in the observed state.
type AskAccelerator struct{ Recorded string }

// Key implements Question.
func (q AskAccelerator) Key() string { return "accelerator " + q.Recorded }

// AskSharedAccelerator asks for the accelerator of another owner, and for its listeners if its tags name the stack as a
// guest. The answer is in the observed state.
type AskSharedAccelerator struct{ ARN string }

// Key implements Question.
func (q AskSharedAccelerator) Key() string { return "shared accelerator " + q.ARN }

// AskAcceleratorState asks whether an accelerator is deployed, and for the health of its endpoints, unless they were read
// recently. The answer is in the observed state. If Now is set, the endpoint groups are always read again, so that a
// decision takes into account what another owner has just changed.
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

// AskLoadBalancers asks for load balancers that may be endpoints: those of a stack, or the one with a DNS name or an ARN. If
// ARN is the allocation id of an Elastic IP address, it asks for the load balancer of the cluster with this address.
type AskLoadBalancers struct {
	Of           StackID
	DNSName, ARN string
	// Ports asks for the ports of the listeners as well.
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

// AskAcceleratorsOf asks which accelerators of the cluster have the load balancer with an ARN as an endpoint.
type AskAcceleratorsOf struct{ ARN string }

// Key implements Question.
func (q AskAcceleratorsOf) Key() string { return "accelerators of " + q.ARN }
