package accelerator

import (
	"fmt"
	"slices"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/translate/accelerator/rules"
)

// listenerBuilder builds the listeners of an accelerator.
type listenerBuilder struct{ *translation }

// buildListeners builds the listeners of the spec. It leaves out a listener that it cannot build, and holds the
// accelerator, because the listener in AWS must not be deleted.
func (t listenerBuilder) buildListeners() {
	spec := t.ga.Spec.Listeners
	if len(spec) == 0 && t.hasListeners() && t.view.Definition(cluster.KindGlobalAccelerator).DropsSpecField("listeners") {
		t.holdAccelerator("spec.listeners", finding.SpecInvalid, "the installed CustomResourceDefinition has no field spec.listeners, so the desired listeners are not known; the listeners in AWS are not changed",
			"install the CustomResourceDefinition of this version of the controller")
	}
	if len(spec) > rules.MaxListeners {
		t.holdAccelerator("spec.listeners", finding.QuotaReached, fmt.Sprintf("there are %d listeners, and an accelerator can have at most %d; further listeners are not created, and listeners in AWS stay", len(spec), rules.MaxListeners), "remove listeners")
		spec = spec[:rules.MaxListeners]
	}
	if len(spec) == 1 && hasPortDiscovery(spec[0]) {
		t.discoverListeners(spec[0])
	} else {
		for i, l := range spec {
			t.buildListener(l, i)
		}
	}
	t.checkOverrides()
}

// hasListeners reports whether the accelerator has listeners in AWS.
func (t *translation) hasListeners() bool {
	return slices.ContainsFunc(t.liveAccelerators(), func(a observed.Accelerator) bool { return len(a.Listeners) > 0 })
}

// holdAccelerator holds the accelerator because a field cannot be translated, and reports the reason as an error.
func (t *translation) holdAccelerator(field string, reason finding.Reason, message, fix string) {
	t.accelerator.Held = true
	t.reportFault(field, reason, finding.Error, message, fix)
}

func listenerField(listener int) string { return fmt.Sprintf("spec.listeners[%d]", listener) }

// buildListener builds the listener with index i in the spec, which must set its protocol and ports.
func (t listenerBuilder) buildListener(spec aga.Listener, i int) {
	field := listenerField(i)
	protocol, ports, ok := t.readPorts(spec, field)
	if !ok {
		return
	}
	l := model.AcceleratorListener{
		ID: fmt.Sprintf("Listener-%d", i), Protocol: protocol, Ports: ports,
		SourceIP: t.hasSourceIPAffinity(spec, field), Origin: t.origin(field),
		ProtocolOf: t.origin(field + ".protocol"), PortsOf: t.origin(field + ".portRanges"),
	}
	if other := t.conflictingListener(l); other != nil {
		t.holdAccelerator(field+".portRanges", finding.ListenerConflict, fmt.Sprintf("%s ports %s overlap those of %s; the listener is not created", protocol, model.PortRangesText(ports), other.Origin.Field), "change the ports of one of the listeners")
		return
	}
	l.Groups = endpointBuilder(t).buildEndpointGroups(spec.EndpointGroups, i)
	t.accelerator.Listeners = append(t.accelerator.Listeners, l)
}

// hasSourceIPAffinity reports whether the client affinity of a listener is SOURCE_IP. It adds a finding for an unknown
// value.
func (t listenerBuilder) hasSourceIPAffinity(spec aga.Listener, field string) bool {
	if a := spec.ClientAffinity; a != "" && a != aga.ClientAffinityNone && a != aga.ClientAffinitySourceIP {
		t.reportFault(field+".clientAffinity", finding.SpecInvalid, finding.Error, fmt.Sprintf("client affinity %q is neither %s nor %s; %[2]s is used", finding.TruncateValue(string(a)), aga.ClientAffinityNone, aga.ClientAffinitySourceIP), "change the client affinity")
	}
	return spec.ClientAffinity == aga.ClientAffinitySourceIP
}

// readPorts returns the protocol and the ports of a listener in the spec. If they are missing or invalid, it holds the
// accelerator and returns false.
func (t listenerBuilder) readPorts(spec aga.Listener, field string) (model.BaseProtocol, []model.PortRange, bool) {
	const discovery = "protocol and ports are taken from the endpoint only if there is a single listener with a single endpoint group with a single endpoint"
	switch {
	case spec.Protocol == "":
		t.holdAccelerator(field+".protocol", finding.SpecInvalid, "the listener has no protocol and is not created; "+discovery, "set protocol and portRanges")
		return "", nil, false
	case spec.Protocol != aga.ProtocolTCP && spec.Protocol != aga.ProtocolUDP:
		t.holdAccelerator(field+".protocol", finding.SpecInvalid, fmt.Sprintf("protocol %q is neither TCP nor UDP; the listener is not created", finding.TruncateValue(string(spec.Protocol))), "change the protocol")
		return "", nil, false
	case len(spec.PortRanges) == 0:
		t.holdAccelerator(field+".portRanges", finding.SpecInvalid, "the listener has no ports and is not created; "+discovery, "set protocol and portRanges")
		return "", nil, false
	}
	ports, ok := t.readPortRanges(spec.PortRanges, field+".portRanges")
	return model.BaseProtocol(spec.Protocol), ports, ok
}

// readPortRanges returns the port ranges of a listener in ascending order. If they are invalid, it holds the accelerator
// and returns false.
func (t listenerBuilder) readPortRanges(spec []aga.PortRange, field string) ([]model.PortRange, bool) {
	if len(spec) > rules.MaxPortRanges {
		t.holdAccelerator(field, finding.QuotaReached, fmt.Sprintf("the listener has %d port ranges, and AWS allows %d; the listener is not created", len(spec), rules.MaxPortRanges), "merge port ranges, or use a second listener")
		return nil, false
	}
	var out []model.PortRange
	for i, r := range spec {
		at := fmt.Sprintf("%s[%d]", field, i)
		p := model.PortRange{From: r.FromPort, To: r.ToPort}
		if p.From < 1 || p.To > 65535 || p.From > p.To {
			t.holdAccelerator(at, finding.SpecInvalid, fmt.Sprintf("ports %d to %d are not a range between 1 and 65535; the listener is not created", p.From, p.To), "correct the range")
			return nil, false
		}
		if j := slices.IndexFunc(out, p.Overlaps); j >= 0 {
			t.holdAccelerator(at, finding.ListenerConflict, fmt.Sprintf("ports %s overlap ports %s of the same listener; the listener is not created", p, out[j]), "correct the ranges")
			return nil, false
		}
		out = append(out, p)
	}
	slices.SortFunc(out, func(a, b model.PortRange) int { return int(a.From - b.From) })
	return out, true
}

// conflictingListener returns an earlier listener with the same protocol and a port of l, or nil if there is none.
func (t listenerBuilder) conflictingListener(l model.AcceleratorListener) *model.AcceleratorListener {
	for i := range t.accelerator.Listeners {
		o := &t.accelerator.Listeners[i]
		if o.Protocol == l.Protocol && slices.ContainsFunc(o.Ports, func(r model.PortRange) bool { return slices.ContainsFunc(l.Ports, r.Overlaps) }) {
			return o
		}
	}
	return nil
}

// checkOverrides checks the port overrides of all endpoint groups. It reports an invalid override, and holds the port
// overrides of its endpoint group as they are in AWS.
func (t listenerBuilder) checkOverrides() {
	type use struct {
		listener int
		field    string
	}
	taken := map[int32]use{} // first override by endpoint port
	for i := range t.accelerator.Listeners {
		l := &t.accelerator.Listeners[i]
		for j := range l.Groups {
			g := &l.Groups[j]
			field := g.Origin.Field + ".portOverrides" // the messages have the port, because g.Overrides is not in the order of the spec
			wrong := func(format string, args ...any) {
				g.OverridesHeld = true
				t.reportFault(field, finding.PortOverrideInvalid, finding.Error,
					fmt.Sprintf(format, args...)+"; the port overrides of the endpoint group stay unchanged, and a new endpoint group is not created", "correct the override")
			}
			if len(g.Overrides) > rules.MaxOverrides {
				wrong("there are %d port overrides, and an endpoint group can have at most %d", len(g.Overrides), rules.MaxOverrides)
				continue
			}
			listener, endpoint := map[int32]bool{}, map[int32]bool{}
			for _, o := range g.Overrides {
				owner := slices.IndexFunc(t.accelerator.Listeners, func(x model.AcceleratorListener) bool { return x.HasPort(o.Endpoint) })
				before, used := taken[o.Endpoint]
				switch {
				case !l.HasPort(o.Listener):
					wrong("port %d is not one of the listener's ports %s", o.Listener, model.PortRangesText(l.Ports))
				case listener[o.Listener]:
					wrong("listener port %d is overridden twice", o.Listener)
				case endpoint[o.Endpoint]:
					wrong("endpoint port %d is used twice", o.Endpoint)
				case owner >= 0:
					wrong("endpoint port %d is a port of %s, and must not be a port of any listener of the accelerator", o.Endpoint, t.accelerator.Listeners[owner].Origin.Field)
				case used && before.listener != i:
					wrong("endpoint port %d is used by %s of another listener", o.Endpoint, before.field)
				}
				listener[o.Listener], endpoint[o.Endpoint] = true, true
				if !used {
					taken[o.Endpoint] = use{i, field}
				}
			}
		}
	}
}
