package observed

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// States of accelerators.
const (
	Deployed   = "DEPLOYED"
	InProgress = "IN_PROGRESS"
)

// Recorded is what an ARN in a status turns out to be.
type Recorded string

// What it may be.
const (
	RecordedOwn     Recorded = "own"     // it carries all tags of the stack
	RecordedForeign Recorded = "foreign" // it does not
	RecordedGone    Recorded = "gone"    // there is no such accelerator
)

// Accelerator is an accelerator in AWS.
type Accelerator struct {
	ARN              string
	Name             string
	AddressType      model.AddressType
	Enabled          bool
	State            string // Deployed, InProgress
	DNSName          string
	DualStackDNSName string
	Addresses        []AddressSet
	Tags             map[string]string
	Listeners        []AcceleratorListener // ascending by ARN
}

// AddressSet are the static addresses of one family, IPv4 or IPv6.
type AddressSet struct {
	Family    string
	Addresses []string
}

// AcceleratorListener is a listener of an accelerator.
type AcceleratorListener struct {
	ARN      string
	Protocol model.Base
	Ports    []model.PortRange // ascending
	SourceIP bool
	Groups   []EndpointGroup // ascending by region
}

// EndpointGroup is an endpoint group of a listener.
type EndpointGroup struct {
	ARN       string
	Region    string
	Dial      float64
	Overrides []model.PortOverride // ascending by listener port
	Endpoints []Endpoint           // ascending by id
}

// Health of endpoints.
const (
	EndpointHealthy   = "HEALTHY"
	EndpointUnhealthy = "UNHEALTHY"
)

// Endpoint is an endpoint of an endpoint group.
type Endpoint struct {
	ID       string
	Weight   int32
	ClientIP bool
	Health   string // INITIAL, EndpointHealthy, EndpointUnhealthy
}

// Endpoint returns the endpoint with an id, nil if there is none.
func (g EndpointGroup) Endpoint(id string) *Endpoint {
	for i := range g.Endpoints {
		if g.Endpoints[i].ID == id {
			return &g.Endpoints[i]
		}
	}
	return nil
}

// EndpointLoadBalancer is a load balancer that may be an endpoint of an accelerator.
type EndpointLoadBalancer struct {
	LoadBalancer
	// Cluster reports whether it carries the tag of the cluster, and Stack whose it is then; zero if no tag says that.
	Cluster bool
	Stack   model.StackID
	// Backends are the resource ids of the target groups of the stack that it forwards to. Only the controller writes
	// them, and only for members that it has accepted.
	Backends []string
	// Ports are the ports of its listeners, by protocol as AWS names it; nil if they are not known.
	Ports map[string][]int32
}
