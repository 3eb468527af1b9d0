package plan

import (
	"fmt"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// The resource kinds of AWS Global Accelerator: an accelerator, its listeners and their endpoint groups.
const (
	Accelerator         ResourceKind = "accelerator"
	AcceleratorListener ResourceKind = "accelerator-listener"
	EndpointGroup       ResourceKind = "endpoint-group"
)

// AcceleratorAddress identifies the accelerator of a stack in a plan.
var AcceleratorAddress = Address{Kind: Accelerator, ID: model.AcceleratorID}

// IsAcceleratorKind reports whether k is the kind of an accelerator, of an accelerator listener or of an endpoint group. The
// API of Global Accelerator for these resources is in one fixed region, which is not always the region of the load
// balancers.
func IsAcceleratorKind(k ResourceKind) bool {
	return k == Accelerator || k == AcceleratorListener || k == EndpointGroup
}

// RecordAccelerator writes the ARN of an accelerator into the status of the GlobalAccelerator object that Ref identifies.
type RecordAccelerator struct{ Ref finding.Ref }

// CreateAccelerator creates an accelerator with all of its tags. Token is an idempotency token: repeated calls with the same
// Token create only one accelerator.
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
	Name        string            // "": not changed
	AddressType model.AddressType // "": not changed
	Enabled     *bool             // nil: not changed
}

// DeleteAccelerator deletes an accelerator that is disabled and has no listeners.
type DeleteAccelerator struct{ ARN string }

// AcceleratorListenerSettings are the settings of an accelerator listener. SourceIPAffinity selects the client affinity
// SOURCE_IP instead of NONE.
type AcceleratorListenerSettings struct {
	Protocol         model.BaseProtocol
	Ports            []model.PortRange
	SourceIPAffinity bool
}

// CreateAcceleratorListener creates a listener of an accelerator. Token is an idempotency token: repeated calls with the
// same Token create only one listener.
type CreateAcceleratorListener struct {
	Accelerator Address
	Settings    AcceleratorListenerSettings
	Token       string
}

// ChangeAcceleratorListener changes the settings of a listener of an accelerator.
type ChangeAcceleratorListener struct {
	Listener Address
	Settings AcceleratorListenerSettings
}

// DeleteAcceleratorListener deletes a listener of an accelerator that has no endpoint groups.
type DeleteAcceleratorListener struct{ ARN string }

// CreateEndpointGroup creates an endpoint group. TrafficDial is a percentage. Token is an idempotency token: repeated calls
// with the same Token create only one endpoint group.
type CreateEndpointGroup struct {
	Listener, Group Address
	Region          string
	TrafficDial     int32
	Overrides       []model.PortOverride
	Endpoints       []EndpointSettings
	Token           string
}

// ChangeEndpointGroup changes settings of an endpoint group. Fields that are nil are not changed.
type ChangeEndpointGroup struct {
	Group       Address
	TrafficDial *int32
	Overrides   *[]model.PortOverride
}

// EndpointSettings are the settings of an endpoint. ID is the ARN or id of the resource to which the endpoint sends traffic.
type EndpointSettings struct {
	ID               string
	Weight           int32
	PreserveClientIP *bool // client IP preservation; nil for the default of AWS
}

// AddEndpoints adds endpoints to an endpoint group.
type AddEndpoints struct {
	Group     Address
	Endpoints []EndpointSettings
}

// SetEndpoints changes the settings of endpoints of an endpoint group. Other endpoints are not changed.
type SetEndpoints struct {
	Group     Address
	Endpoints []EndpointSettings
}

// RemoveEndpoints removes endpoints from an endpoint group.
type RemoveEndpoints struct {
	Group Address
	IDs   []string
}

// DeleteEndpointGroup deletes an endpoint group with its endpoints.
type DeleteEndpointGroup struct{ ARN string }

// Divide implements Divisible. The first part creates the endpoint group without endpoints, and each further part adds one
// endpoint. It returns nil if there are no endpoints.
func (do CreateEndpointGroup) Divide() (out []ActionPart) {
	if len(do.Endpoints) == 0 {
		return nil
	}
	empty := do
	empty.Endpoints, empty.Token = nil, do.Token+"-empty"
	out = append(out, ActionPart{"", empty, true})
	for _, e := range do.Endpoints {
		out = append(out, ActionPart{e.ID, AddEndpoints{Group: do.Group, Endpoints: []EndpointSettings{e}}, false})
	}
	return out
}

// Divide implements Divisible: it returns one part for each endpoint, or nil if there are fewer than two endpoints.
func (do AddEndpoints) Divide() []ActionPart {
	return divideEndpoints(do.Endpoints, func(e EndpointSettings) Action {
		return AddEndpoints{Group: do.Group, Endpoints: []EndpointSettings{e}}
	})
}

// Divide implements Divisible: it returns one part for each endpoint, or nil if there are fewer than two endpoints.
func (do SetEndpoints) Divide() []ActionPart {
	return divideEndpoints(do.Endpoints, func(e EndpointSettings) Action {
		return SetEndpoints{Group: do.Group, Endpoints: []EndpointSettings{e}}
	})
}

// divideEndpoints calls part for each endpoint and returns the resulting actions; nil if there are fewer than two endpoints.
func divideEndpoints(list []EndpointSettings, part func(EndpointSettings) Action) (out []ActionPart) {
	if len(list) < 2 {
		return nil
	}
	for _, e := range list {
		out = append(out, ActionPart{e.ID, part(e), false})
	}
	return out
}

func (RecordAccelerator) action()         {}
func (CreateAccelerator) action()         {}
func (ChangeAccelerator) action()         {}
func (DeleteAccelerator) action()         {}
func (CreateAcceleratorListener) action() {}
func (ChangeAcceleratorListener) action() {}
func (DeleteAcceleratorListener) action() {}
func (CreateEndpointGroup) action()       {}
func (ChangeEndpointGroup) action()       {}
func (AddEndpoints) action()              {}
func (SetEndpoints) action()              {}
func (RemoveEndpoints) action()           {}
func (DeleteEndpointGroup) action()       {}

// addAccelerator adds the fields of the accelerator, accelerator listener or endpoint group that the action creates, or of
// the endpoints that it adds. For other actions it adds nothing.
func (f *fields) addAccelerator(do Action) {
	switch do := do.(type) {
	case CreateAccelerator:
		f.add("name", do.Name)
		f.add("address type", string(do.AddressType))
		f.add("addresses", strings.Join(do.Addresses, ", "))
		f.addTags(do.Tags)
	case CreateAcceleratorListener:
		f.add("protocol", string(do.Settings.Protocol))
		f.add("ports", model.PortRangesText(do.Settings.Ports))
		f.add("client affinity", AffinityText(do.Settings.SourceIPAffinity))
	case CreateEndpointGroup:
		f.add("region", do.Region)
		f.add("traffic dial", fmt.Sprint(do.TrafficDial))
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

// Text returns the settings of the endpoint as human-readable text.
func (e EndpointSettings) Text() string {
	text := fmt.Sprintf("weight %d", e.Weight)
	if e.PreserveClientIP != nil {
		text += fmt.Sprintf(", client IP preservation %t", *e.PreserveClientIP)
	}
	return text
}

// EndpointsText returns a human-readable list of endpoints with their settings.
func EndpointsText(list []EndpointSettings) string {
	var out []string
	for _, e := range list {
		out = append(out, e.ID+" "+e.Text())
	}
	return strings.Join(out, "; ")
}

// AffinityText returns AWS's value for the client affinity of a listener: SOURCE_IP or NONE.
func AffinityText(sourceIP bool) string {
	if sourceIP {
		return "SOURCE_IP"
	}
	return "NONE"
}

// OverridesText returns a human-readable list of port overrides, as "listener port->endpoint port".
func OverridesText(overrides []model.PortOverride) string {
	var out []string
	for _, o := range overrides {
		out = append(out, fmt.Sprintf("%d->%d", o.Listener, o.Endpoint))
	}
	return strings.Join(out, ", ")
}
