package observed

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// States of accelerators in the API of AWS.
const (
	AcceleratorDeployed   = "DEPLOYED"
	AcceleratorInProgress = "IN_PROGRESS"
)

// RecordedAccelerator is what the accelerator ARN in the status of a GlobalAccelerator refers to.
type RecordedAccelerator string

// The values of RecordedAccelerator.
const (
	RecordedOwn     RecordedAccelerator = "own"     // the accelerator has all tags of the stack
	RecordedForeign RecordedAccelerator = "foreign" // the accelerator lacks a tag of the stack
	RecordedGone    RecordedAccelerator = "gone"    // the accelerator does not exist
)

// Accelerator is a live accelerator.
type Accelerator struct {
	ARN              string
	Name             string
	AddressType      model.AddressType
	Enabled          bool
	State            string // AcceleratorDeployed, AcceleratorInProgress
	DNSName          string
	DualStackDNSName string
	Addresses        []AddressSet
	Tags             map[string]string
	Listeners        []AcceleratorListener // ascending by ARN
}

// AddressSet has the static addresses of one family, IPv4 or IPv6.
type AddressSet struct {
	Family    string
	Addresses []string
}

// AcceleratorListener is a listener of a live accelerator.
type AcceleratorListener struct {
	ARN      string
	Protocol model.BaseProtocol
	Ports    []model.PortRange // ascending
	SourceIP bool
	Groups   []EndpointGroup // ascending by region
}

// EndpointGroup is an endpoint group of a live listener.
type EndpointGroup struct {
	ARN       string
	Region    string
	Dial      float64
	Overrides []model.PortOverride // ascending by listener port
	Endpoints []Endpoint           // ascending by id
}

// Health states of endpoints in the API of AWS.
const (
	EndpointHealthy   = "HEALTHY"
	EndpointUnhealthy = "UNHEALTHY"
)

// Endpoint is an endpoint of a live endpoint group.
type Endpoint struct {
	ID       string
	Weight   int32
	ClientIP bool
	Health   string // INITIAL, EndpointHealthy, EndpointUnhealthy
}

// Endpoint returns the endpoint with an id; nil if there is none.
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
	// Cluster reports whether the load balancer has the tag of the cluster. If it has, Stack is the stack that its tags
	// name; zero if they name none.
	Cluster bool
	Stack   model.StackID
	// Backends has the resource ids of the target groups of the stack to which the load balancer forwards. They prove which
	// objects it serves, because only the controller writes them, and only for accepted members.
	Backends []string
	// Ports has the listener ports, by protocol in the API of AWS; nil if the listeners were not read.
	Ports map[string][]int32
}
