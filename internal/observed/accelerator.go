package observed

import (
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// States of accelerators as the AWS API names them.
const (
	AcceleratorDeployed   = "DEPLOYED"
	AcceleratorInProgress = "IN_PROGRESS"
)

// RecordedAccelerator describes the accelerator whose ARN is in the status of a GlobalAccelerator.
type RecordedAccelerator string

// The values of RecordedAccelerator.
const (
	RecordedOwn      RecordedAccelerator = "own"     // the accelerator has all tags of the stack
	RecordedNotOwned RecordedAccelerator = "foreign" // the accelerator lacks a tag of the stack
	RecordedMissing  RecordedAccelerator = "gone"    // the accelerator does not exist
)

// Accelerator is the observed state of an accelerator.
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

// AcceleratorListener is the observed state of a listener of an accelerator.
type AcceleratorListener struct {
	ARN      string
	Protocol model.BaseProtocol
	Ports    []model.PortRange // ascending
	SourceIP bool
	Groups   []EndpointGroup // ascending by region
}

// EndpointGroup is the observed state of an endpoint group.
type EndpointGroup struct {
	ARN       string
	Region    string
	Dial      float64
	Overrides []model.PortOverride // ascending by listener port
	Endpoints []Endpoint           // ascending by id
}

// Health states of endpoints as the AWS API names them.
const (
	EndpointHealthy   = "HEALTHY"
	EndpointUnhealthy = "UNHEALTHY"
)

// Endpoint is the observed state of an endpoint.
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
	// objects the load balancer serves, because only the controller writes them, and only for accepted members.
	Backends []string
	// Ports has the ports of the listeners, by protocol as the AWS API names it; nil if the listeners were not read.
	Ports map[string][]int32
}
