package service

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// port is a port of a Service for which there is a listener: one port of the spec, or a TCP port and a UDP port with the
// same number.
type port struct {
	*members.Port
	owner *member
	// unmerged are the ports with the same number and another protocol. They have no listener, but the managed security
	// group admits clients over both protocols, as with AWS Load Balancer Controller.
	unmerged []*members.Port
	// first is the port of spec.ports for which there is a listener, or the first of the merged ports. index is its index in
	// spec.ports, and at is its field.
	first *corev1.ServicePort
	index int
	at    finding.Origin
	// targetProtocol is the protocol of the target group of the port.
	targetProtocol string
	// held reports whether the port has a fault, so that its existing listener is held.
	held bool
	// assignedElsewhere reports whether the port number is assigned to another Service.
	assignedElsewhere bool
}

// isNamedIn reports whether one of the entries of an annotation is the name or the number of the port.
func (p *port) isNamedIn(entries []string) bool {
	return p.first.Name != "" && slices.Contains(entries, p.first.Name) || slices.Contains(entries, strconv.Itoa(int(p.Number)))
}

// holdListener holds the listener of the port, and reports the reason.
func (t *translation) holdListener(p *port, field string, reason finding.Reason, message, fix string) {
	p.held = true
	t.Found.Add(finding.Finding{
		Object: p.owner.Ref, Field: field, Reason: reason, Message: message + "; the listener of port " + strconv.Itoa(int(p.Number)) + " stays unchanged", Fix: fix,
		Blocks: finding.BlocksListener,
	})
}

// listenerPorts returns the ports of a Service that get listeners, in ascending order. It reports ports that get none.
func (t *translation) listenerPorts(m *member) []*port {
	specPorts := m.svc.Spec.Ports
	switch {
	case m.Oversized && t.shared:
		// The existing listeners of the first ports stay. The Service may exceed another limit than that of ports, so it may
		// have fewer ports.
		specPorts = specPorts[:min(len(specPorts), assemble.DefaultMaxListeners)]
	case m.Oversized:
		return nil
	}
	byNumber := map[int32][]int{}
	var out []*port
	for i := range specPorts {
		p := &specPorts[i]
		if byNumber[p.Port] == nil {
			out = append(out, &port{
				Port:  &members.Port{Number: p.Port, BaseProtocol: baseProtocolOf(p), Members: []*members.Member{m.Member}},
				owner: m, first: p, index: i, at: finding.Origin{Object: m.Ref, Field: fmt.Sprintf("spec.ports[%d]", i)},
			})
		}
		byNumber[p.Port] = append(byNumber[p.Port], i)
	}
	merge := m.set.MergeTCPUDP.ValueOr(t.opt.MergeTCPUDP)
	for _, p := range out {
		switch same := byNumber[p.Number]; {
		case len(same) > 1 && merge:
			t.mergeTCPUDP(p, same)
		case len(same) > 1:
			t.reportUnmergedPorts(p, same[1:])
		}
		t.chooseProtocol(p)
	}
	slices.SortFunc(out, func(a, b *port) int { return cmp.Compare(a.Number, b.Number) })
	return out
}

// baseProtocolOf returns the protocol of the listener for one port of a Service, before TLS and QUIC are considered.
func baseProtocolOf(p *corev1.ServicePort) model.BaseProtocol {
	if p.Protocol == "" {
		return model.TCP
	}
	return model.BaseProtocol(p.Protocol)
}

// mergeAnnotation is the annotation that merges a TCP port and a UDP port with the same number into one listener.
const mergeAnnotation = settings.ServicePrefix + "aws-load-balancer-enable-tcp-udp-listener"

// reportUnmergedPorts reports ports that get no listener, because p has the listener for their number. others are their
// indexes in spec.ports.
func (t *translation) reportUnmergedPorts(p *port, others []int) {
	for _, i := range others {
		other := &p.owner.svc.Spec.Ports[i]
		t.Found.Add(finding.Finding{
			Object: p.owner.Ref, Field: fmt.Sprintf("spec.ports[%d]", i), Reason: finding.ListenerConflict, Severity: finding.Error,
			Message: fmt.Sprintf("port %d has a listener for %s; no listener is created for %s", p.Number, p.BaseProtocol, baseProtocolOf(other)),
			Fix:     "set " + mergeAnnotation + ` to "true", or use another port`,
		})
		p.unmerged = append(p.unmerged, &members.Port{Number: p.Number, BaseProtocol: baseProtocolOf(other), Members: p.Members})
	}
}

// mergeTCPUDP merges the ports with the same number into one listener, if they are one TCP port and one UDP port with the
// same targets. Otherwise it holds the listener. same has the indexes of the ports in spec.ports.
func (t *translation) mergeTCPUDP(p *port, same []int) {
	other := &p.owner.svc.Spec.Ports[same[1]]
	field := fmt.Sprintf("spec.ports[%d]", same[1])
	protocols := []string{string(p.BaseProtocol), string(baseProtocolOf(other))}
	slices.Sort(protocols)
	if len(same) > 2 || !slices.Equal(protocols, []string{"TCP", "UDP"}) {
		t.holdListener(p, field, finding.ListenerConflict, fmt.Sprintf("the ports with number %d are not one TCP port and one UDP port", p.Number), "use another port")
		return
	}
	p.BaseProtocol = model.TCPUDP
	switch to, too := assemble.TargetPort(p.first), assemble.TargetPort(other); {
	case t.targetType(p.owner) == model.InstanceTargets && p.first.NodePort != other.NodePort:
		t.holdListener(p, field, finding.ListenerConflict, fmt.Sprintf("TCP and UDP of port %d have the node ports %d and %d, but a single listener needs the same node port", p.Number, p.first.NodePort, other.NodePort),
			"set the same nodePort for both, or set "+mergeAnnotation+` to "false"`)
	case t.targetType(p.owner) == model.IPTargets && to != too:
		t.holdListener(p, field, finding.ListenerConflict, fmt.Sprintf("TCP and UDP of port %d have the target ports %q and %q, but a single listener needs the same target port", p.Number, to.String(), too.String()),
			"set the same targetPort for both, or set "+mergeAnnotation+` to "false"`)
	}
}

func (t *translation) targetType(m *member) model.TargetType {
	return m.set.Target.Type.ValueOr(t.opt.DefaultTargetType)
}

// chooseProtocol decides whether a port has TLS or QUIC, and sets the protocol of its target group.
func (t *translation) chooseProtocol(p *port) {
	set := p.owner.set
	listed := func(o settings.Opt[[]string]) bool { return p.isNamedIn(o.Value) }
	p.TLS = p.BaseProtocol == model.TCP && len(set.Certificates.Value) > 0 && (len(set.TLSPorts.Value) == 0 || listed(set.TLSPorts))
	quic := listed(set.QUICPorts)
	switch {
	case p.BaseProtocol != model.TCP && p.BaseProtocol != model.UDP && p.BaseProtocol != model.TCPUDP:
		t.holdListener(p, p.at.Field, finding.Unsupported, fmt.Sprintf("network load balancers have no listeners of protocol %q", p.BaseProtocol), "use TCP or UDP")
	case quic && p.BaseProtocol == model.UDP:
		p.BaseProtocol = model.QUIC
	case quic && p.BaseProtocol == model.TCPUDP:
		p.BaseProtocol = model.TCPQUIC
	case quic:
		t.holdListener(p, set.QUICPorts.Origin.Field, finding.AnnotationInvalid, fmt.Sprintf("port %d is %s, and QUIC needs UDP", p.Number, p.ListenPort().Protocol()), "remove the port from the list, or change its protocol to UDP")
	}
	p.targetProtocol = string(p.BaseProtocol)
	if p.TLS && set.BackendProtocol.Value == settings.BackendTLS {
		p.targetProtocol = "TLS"
	}
	if b := set.BackendProtocol; b.Value != "" && !slices.Contains(settings.BackendProtocols, b.Value) {
		t.Found.Add(finding.Finding{
			Object: p.owner.Ref, Field: b.Origin.Field, Reason: finding.AnnotationInvalid, Severity: finding.Warning,
			Message: fmt.Sprintf("%q is not a valid protocol%s; connections to targets do not use TLS", finding.TruncateValue(b.Value), finding.SpellingHint(b.Value, settings.BackendProtocols)),
			Fix:     fmt.Sprintf("set %q to use TLS for connections to targets, or remove the annotation", settings.BackendTLS),
		})
	}
	if quic && t.targetType(p.owner) == model.InstanceTargets && !p.held {
		t.holdListener(p, set.QUICPorts.Origin.Field, finding.BackendTypeUnsupported, fmt.Sprintf("port %d is QUIC, which needs ip targets", p.Number), "set "+targetTypeAnnotation+" to ip, or remove the port from the list")
	}
}

// holdTCPPortsIfTLSPortUnknown holds the TCP ports without TLS if the list of TLS ports names a port that the Service does
// not have. This entry is probably a spelling mistake for one of the TCP ports, and that port must not be served without
// TLS.
func (t *translation) holdTCPPortsIfTLSPortUnknown(m *member) {
	list := m.set.TLSPorts
	names := map[string]bool{}
	for _, p := range m.svc.Spec.Ports {
		names[strconv.Itoa(int(p.Port))], names[p.Name] = true, p.Name != ""
	}
	var wrong []string
	for _, entry := range list.Value {
		if !names[entry] {
			wrong = append(wrong, strconv.Quote(entry))
		}
	}
	if len(wrong) == 0 {
		return
	}
	var existing []string
	for _, p := range m.svc.Spec.Ports {
		name := strconv.Itoa(int(p.Port))
		if p.Name != "" {
			name += fmt.Sprintf(" (%q)", p.Name)
		}
		existing = append(existing, name)
	}
	x := finding.Finding{
		Object: m.Ref, Field: list.Origin.Field, Reason: finding.AnnotationInvalid,
		Message: fmt.Sprintf("the annotation lists %s, but the Service has only the ports %s", finding.TruncateValue(strings.Join(wrong, ", ")), finding.TruncateValue(strings.Join(existing, ", "))),
		Fix:     "list the ports of the Service that use TLS, by spec.ports[].port or spec.ports[].name",
	}
	var held []string
	for _, p := range m.ports {
		if p.BaseProtocol == model.TCP && !p.TLS && len(m.set.Certificates.Value) > 0 {
			p.held = true
			held = append(held, strconv.Itoa(int(p.Number)))
		}
	}
	if len(held) > 0 {
		x.Message += "; port " + strings.Join(held, ", ") + " is not created or changed without TLS, because the annotation may mean this port"
		x.Blocks = finding.BlocksListener
	}
	t.Found.Add(x)
}
