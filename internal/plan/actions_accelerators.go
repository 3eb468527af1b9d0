package plan

import (
	"fmt"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// The kinds of what an accelerator consists of.
const (
	Accelerator         ResourceKind = "accelerator"
	AcceleratorListener ResourceKind = "accelerator-listener"
	EndpointGroup       ResourceKind = "endpoint-group"
)

// AcceleratorAddress is the address of the accelerator of a stack.
var AcceleratorAddress = Address{Kind: Accelerator, ID: model.AcceleratorID}

// OfAccelerator reports whether a kind is part of an accelerator, which is in a service and region of its own.
func OfAccelerator(k ResourceKind) bool {
	return k == Accelerator || k == AcceleratorListener || k == EndpointGroup
}

// RecordAccelerator writes the ARN of an accelerator into the status of its object.
type RecordAccelerator struct{ Ref finding.Ref }

// CreateAccelerator makes an accelerator with all of its tags. Two calls with one token make one accelerator.
type CreateAccelerator struct {
	Name        string
	AddressType model.AddressType
	Addresses   []string
	Tags        Tags
	Token       string
}

// ChangeAccelerator changes one property of an accelerator.
type ChangeAccelerator struct {
	Accelerator Address
	Name        string            // "" leaves it as it is
	AddressType model.AddressType // likewise
	Enabled     *bool             // nil leaves it as it is
}

// DeleteAccelerator deletes an accelerator that is disabled and has no listeners.
type DeleteAccelerator struct{ ARN string }

// ListenerOfAccelerator are the settings of a listener.
type ListenerOfAccelerator struct {
	Protocol model.Base
	Ports    []model.PortRange
	SourceIP bool
}

// CreateAcceleratorListener makes a listener.
type CreateAcceleratorListener struct {
	Accelerator Address
	Settings    ListenerOfAccelerator
	Token       string
}

// ChangeAcceleratorListener changes a listener.
type ChangeAcceleratorListener struct {
	Listener Address
	Settings ListenerOfAccelerator
}

// DeleteAcceleratorListener deletes a listener without endpoint groups.
type DeleteAcceleratorListener struct{ ARN string }

// CreateEndpointGroup makes an endpoint group.
type CreateEndpointGroup struct {
	Listener, Group Address
	Region          string
	Dial            int32
	Overrides       []model.PortOverride
	Endpoints       []EndpointOfGroup
	Token           string
}

// ChangeEndpointGroup changes an endpoint group. What is nil stays.
type ChangeEndpointGroup struct {
	Group     Address
	Dial      *int32
	Overrides *[]model.PortOverride
}

// EndpointOfGroup is an endpoint with its settings.
type EndpointOfGroup struct {
	ID       string
	Weight   int32
	ClientIP *bool // nil leaves it to AWS
}

// AddEndpoints adds endpoints to an endpoint group.
type AddEndpoints struct {
	Group     Address
	Endpoints []EndpointOfGroup
}

// SetEndpoints changes endpoints that an endpoint group has. The others stay.
type SetEndpoints struct {
	Group     Address
	Endpoints []EndpointOfGroup
}

// RemoveEndpoints takes endpoints out of an endpoint group.
type RemoveEndpoints struct {
	Group Address
	IDs   []string
}

// DeleteEndpointGroup deletes an endpoint group with its endpoints.
type DeleteEndpointGroup struct{ ARN string }

// Divide implements Divisible: the endpoint group without endpoints, and then each endpoint.
func (do CreateEndpointGroup) Divide() (out []Part) {
	if len(do.Endpoints) == 0 {
		return nil
	}
	empty := do
	empty.Endpoints, empty.Token = nil, do.Token+"-empty"
	out = append(out, Part{"", empty, true})
	for _, e := range do.Endpoints {
		out = append(out, Part{e.ID, AddEndpoints{Group: do.Group, Endpoints: []EndpointOfGroup{e}}, false})
	}
	return out
}

// Divide implements Divisible.
func (do AddEndpoints) Divide() []Part {
	return divideEndpoints(do.Endpoints, func(e EndpointOfGroup) Action {
		return AddEndpoints{Group: do.Group, Endpoints: []EndpointOfGroup{e}}
	})
}

// Divide implements Divisible.
func (do SetEndpoints) Divide() []Part {
	return divideEndpoints(do.Endpoints, func(e EndpointOfGroup) Action {
		return SetEndpoints{Group: do.Group, Endpoints: []EndpointOfGroup{e}}
	})
}

func divideEndpoints(list []EndpointOfGroup, part func(EndpointOfGroup) Action) (out []Part) {
	if len(list) < 2 {
		return nil
	}
	for _, e := range list {
		out = append(out, Part{e.ID, part(e), false})
	}
	return out
}

func (RecordAccelerator) action() {}

func (CreateAccelerator) action() {}

func (ChangeAccelerator) action() {}

func (DeleteAccelerator) action() {}

func (CreateAcceleratorListener) action() {}

func (ChangeAcceleratorListener) action() {}

func (DeleteAcceleratorListener) action() {}

func (CreateEndpointGroup) action() {}

func (ChangeEndpointGroup) action() {}

func (AddEndpoints) action() {}

func (SetEndpoints) action() {}

func (RemoveEndpoints) action() {}

func (DeleteEndpointGroup) action() {}

// accelerator adds the fields of a new part of an accelerator.
func (f *fields) accelerator(do Action) {
	switch do := do.(type) {
	case CreateAccelerator:
		f.add("name", do.Name)
		f.add("address type", string(do.AddressType))
		f.add("addresses", strings.Join(do.Addresses, ", "))
		f.tags(do.Tags)
	case CreateAcceleratorListener:
		f.add("protocol", string(do.Settings.Protocol))
		f.add("ports", model.PortRangesText(do.Settings.Ports))
		f.add("client affinity", AffinityText(do.Settings.SourceIP))
	case CreateEndpointGroup:
		f.add("region", do.Region)
		f.add("traffic dial", fmt.Sprint(do.Dial))
		f.add("port overrides", OverridesText(do.Overrides))
		for _, e := range do.Endpoints {
			f.add("endpoints."+e.ID, e.Text())
		}
	case AddEndpoints:
		for _, e := range do.Endpoints {
			f.add("endpoints."+e.ID, e.Text())
		}
	}
}

// Text returns the settings of the endpoint in readable form.
func (e EndpointOfGroup) Text() string {
	text := fmt.Sprintf("weight %d", e.Weight)
	if e.ClientIP != nil {
		text += fmt.Sprintf(", client IP preservation %t", *e.ClientIP)
	}
	return text
}

// EndpointsText returns endpoints with their settings in readable form.
func EndpointsText(list []EndpointOfGroup) string {
	var out []string
	for _, e := range list {
		out = append(out, e.ID+" "+e.Text())
	}
	return strings.Join(out, "; ")
}

// AffinityText returns AWS's word for the client affinity of a listener.
func AffinityText(sourceIP bool) string {
	if sourceIP {
		return "SOURCE_IP"
	}
	return "NONE"
}

// OverridesText is port overrides in readable form.
func OverridesText(overrides []model.PortOverride) string {
	var out []string
	for _, o := range overrides {
		out = append(out, fmt.Sprintf("%d->%d", o.Listener, o.Endpoint))
	}
	return strings.Join(out, ", ")
}
