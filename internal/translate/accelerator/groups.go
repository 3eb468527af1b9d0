package accelerator

import (
	"cmp"
	"fmt"
	"slices"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/accelerator/rules"
)

// Defaults and maximum values of AWS. A traffic dial is in percent, and its default is also its maximum.
const (
	defaultTrafficDial = 100
	defaultWeight      = 128
	maxWeight          = 255
)

// endpointBuilder builds endpoint groups and their endpoints.
type endpointBuilder struct{ *translation }

// buildEndpointGroups returns the endpoint groups of a listener, one for each region. listener is the index in the spec.
func (t endpointBuilder) buildEndpointGroups(spec []aga.EndpointGroup, listener int) []model.EndpointGroup {
	var out []model.EndpointGroup
	for j, g := range spec {
		field := fmt.Sprintf("%s.endpointGroups[%d]", listenerField(listener), j)
		if t.endpointGroupCount == rules.MaxEndpointGroups {
			t.holdAccelerator(field, finding.QuotaReached, fmt.Sprintf("an accelerator can have at most %d endpoint groups; this endpoint group and those after it in the listener are not created", rules.MaxEndpointGroups), "remove endpoint groups")
			return out
		}
		t.endpointGroupCount++
		x := model.EndpointGroup{
			ID: fmt.Sprintf("EndpointGroup-%d-%d", listener, j), Region: cmp.Or(g.Region, t.region()), Dial: defaultTrafficDial, Origin: t.origin(field),
		}
		if i := slices.IndexFunc(out, func(o model.EndpointGroup) bool { return o.Region == x.Region }); i >= 0 {
			t.holdAccelerator(field+".region", finding.ListenerConflict, fmt.Sprintf("region %q already has an endpoint group of the listener, %s; the endpoint group is not created", finding.TruncateValue(x.Region), out[i].Origin.Field), "merge the endpoint groups, or change the region")
			continue
		}
		if g.TrafficDialPercentage != nil {
			x.Dial = t.boundedNumber(field+".trafficDialPercentage", "traffic dial", *g.TrafficDialPercentage, defaultTrafficDial)
		}
		for _, o := range g.PortOverrides {
			x.Overrides = append(x.Overrides, model.PortOverride{Listener: o.ListenerPort, Endpoint: o.EndpointPort})
		}
		slices.SortFunc(x.Overrides, func(a, b model.PortOverride) int {
			return cmp.Or(int(a.Listener-b.Listener), int(a.Endpoint-b.Endpoint))
		})
		t.buildEndpoints(&x, g)
		dialBuilder(t).setDialRule(&x)
		out = append(out, x)
	}
	return out
}

// boundedNumber returns n limited to the range from 0 to most. It reports a number outside of this range.
func (t *translation) boundedNumber(field, name string, n, most int32) int32 {
	used := max(0, min(n, most))
	if used != n {
		t.reportFault(field, finding.SpecInvalid, finding.Error, fmt.Sprintf("%s %d is not from 0 to %d; %d is used", name, n, most, used), "correct the value")
	}
	return used
}

// buildEndpoints adds the endpoints in the spec to endpoint group g. If several entries of the spec have the same
// endpoint, the first entry is used.
func (t endpointBuilder) buildEndpoints(g *model.EndpointGroup, spec aga.EndpointGroup) {
	list := spec.Endpoints
	if len(list) > rules.MaxEndpoints {
		field := g.Origin.Field + ".endpoints"
		t.holdAccelerator(field, finding.QuotaReached, fmt.Sprintf("there are %d endpoints, and an endpoint group can have at most %d; further endpoints are not added, and endpoints in AWS stay", len(list), rules.MaxEndpoints), "remove endpoints")
		list = list[:rules.MaxEndpoints]
	}
	for k, e := range list {
		field := fmt.Sprintf("%s.endpoints[%d]", g.Origin.Field, k)
		x := model.Endpoint{Weight: defaultWeight, ClientIP: e.ClientIPPreservationEnabled, Origin: t.origin(field)}
		if e.Weight != nil {
			x.Weight = t.boundedNumber(field+".weight", "weight", *e.Weight, maxWeight)
		}
		all := t.resolveEndpoint(g, e, x)
		t.addEntry(e, x.Origin, all)
		for _, made := range all {
			if t.isNewEndpoint(g, made) {
				g.Endpoints = append(g.Endpoints, made)
			}
		}
	}
}

// isNewEndpoint reports whether endpoint group g lacks endpoint x. If g already has x with other settings,
// isNewEndpoint adds a finding.
func (t endpointBuilder) isNewEndpoint(g *model.EndpointGroup, x model.Endpoint) bool {
	i := slices.IndexFunc(g.Endpoints, func(o model.Endpoint) bool { return o.ID == x.ID })
	if i < 0 {
		return true
	}
	first := g.Endpoints[i]
	if first.Weight != x.Weight || (first.ClientIP == nil) != (x.ClientIP == nil) || first.ClientIP != nil && *first.ClientIP != *x.ClientIP {
		t.reportFault(x.Origin.Field, finding.EndpointDoubled, finding.Warning,
			fmt.Sprintf("the endpoint is the same as %s, with another weight or client IP preservation; the first values are used", first.Origin.Field), "set the same values on both endpoints, or remove one of them")
	}
	return false
}
