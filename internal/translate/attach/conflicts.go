package attach

import (
	"fmt"
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// validateListeners sets the Problem of each listener. Of two listeners that conflict, the later one is not served. The
// order is: listeners of the Gateway, then listeners of ListenerSets, beginning with the oldest ListenerSet. There are two
// exceptions. A ListenerSet whose listener serves a hostname now comes before an older ListenerSet whose listener does not.
// On a network load balancer, the listeners of the owner that serves a port now come first.
func (e *evaluation) validateListeners() {
	all := make([]int, len(e.out.Listeners))
	for i := range all {
		all[i] = i
	}
	contested := e.resolveConflicts(all)
	if len(contested) == 0 || e.liveRoutes == nil {
		return
	}
	rank := e.conflictRanks(contested)
	slices.SortStableFunc(all, func(a, b int) int { return rank[a] - rank[b] })
	e.resolveConflicts(all)
}

// listenerSlot is a port with a protocol or a hostname. Only one listener can have a slot.
type listenerSlot struct {
	port     int32
	protocol gatewayv1.ProtocolType // set only for protocols without hostnames
	host     string
}

func listenerSlotOf(l gatewayv1.Listener, host string) listenerSlot {
	switch l.Protocol {
	case gatewayv1.TCPProtocolType, gatewayv1.UDPProtocolType:
		return listenerSlot{port: l.Port, protocol: l.Protocol}
	}
	return listenerSlot{port: l.Port, host: host}
}

// resolveConflicts sets the Problem of the listeners. order has their indexes; an earlier listener has precedence. It
// returns the ports on which listeners of different owners conflict. On these ports, listeners that are served now have
// precedence.
func (e *evaluation) resolveConflicts(order []int) (contested map[int32]bool) {
	contested = map[int32]bool{}
	first := map[int32]*Listener{} // first valid listener by port
	taken := map[listenerSlot]*Listener{}
	for _, i := range order {
		l := &e.out.Listeners[i]
		l.IsDuplicate, l.Problem = false, e.problemOfListener(i, l)
		of := listenerSlotOf(l.Spec, l.Hostname())
		holder, conflict, repeats := e.conflictingListener(l, first[l.Spec.Port], taken[of])
		switch l.Problem.Reason {
		case "":
		case string(gatewayv1.ListenerReasonUnsupportedProtocol):
			// The Gateway API requires that the conflict is reported, even if the load balancer does not support this
			// protocol.
			if holder != nil {
				l.Problem = conflict
			}
			continue
		default:
			continue
		}
		if holder != nil {
			l.Problem, l.IsDuplicate = conflict, repeats
			if holder.Parent != l.Parent && (e.kind == model.NLBGateway || !isGatewayListener(holder)) {
				contested[l.Spec.Port] = true
			}
			continue
		}
		taken[of] = l
		if first[l.Spec.Port] == nil {
			first[l.Spec.Port] = l
		}
	}
	return contested
}

// isGatewayListener reports whether a listener belongs to the Gateway itself.
func isGatewayListener(l *Listener) bool {
	return l.Parent.Kind == cluster.KindGateway
}

// conflictingListener returns the listener with which l conflicts, or nil if there is none. repeats reports whether l is
// a duplicate of this listener (see Listener.IsDuplicate). first is the first listener on the port, and taken is the
// listener with the same slot. The message does not name the other object, because it may belong to another tenant.
func (e *evaluation) conflictingListener(l, first, taken *Listener) (holder *Listener, why Problem, repeats bool) {
	if first == nil {
		return nil, Problem{}, false
	}
	port, protocol, host := l.Spec.Port, protocolText(l.Spec), l.Hostname()
	network, foreign := e.kind == model.NLBGateway, first.Parent != l.Parent
	switch {
	case taken != nil && host != "" && !canSharePort(protocolText(taken.Spec), protocol): // hostname and protocol conflict
		return taken, Problem{string(gatewayv1.ListenerReasonHostnameConflict), fmt.Sprintf(
			"an earlier listener has hostname %q on port %d with protocol %q, and this listener has protocol %q; this listener is not served; use another port", host, port, protocolText(taken.Spec), protocol)}, false
	case !canSharePort(protocolText(first.Spec), protocol) || network && foreign && first.Spec.Protocol != l.Spec.Protocol:
		return first, Problem{string(gatewayv1.ListenerReasonProtocolConflict), fmt.Sprintf(
			"port %d has protocol %q of an earlier listener, and this listener has protocol %q; this listener is not served; use another port", port, protocolText(first.Spec), protocol)}, false
	case network && foreign && protocol == string(gatewayv1.TLSProtocolType), network && foreign && protocol == passthroughText:
		return first, Problem{string(gatewayv1.ListenerReasonHostnameConflict), fmt.Sprintf(
			"port %d is used by an earlier listener of another owner, and a network load balancer cannot route by hostname %q; this listener is not served; use another port", port, host)}, true
	case network && foreign:
		return first, Problem{string(gatewayv1.ListenerReasonProtocolConflict), fmt.Sprintf(
			"port %d with protocol %q is used by an earlier listener of another owner; this listener is not served; use another port", port, protocol)}, true
	case taken == nil:
		return nil, Problem{}, false
	case listenerSlotOf(l.Spec, host).protocol != "":
		return taken, Problem{string(gatewayv1.ListenerReasonProtocolConflict), fmt.Sprintf(
			"an earlier listener has port %d with protocol %q; this listener is not served; use another port", port, protocol)}, true
	case host == "":
		return taken, Problem{string(gatewayv1.ListenerReasonHostnameConflict), fmt.Sprintf(
			"an earlier listener without hostname has port %d; this listener is not served; give it a hostname, or use another port", port)}, true
	}
	return taken, Problem{string(gatewayv1.ListenerReasonHostnameConflict), fmt.Sprintf(
		"an earlier listener has hostname %q on port %d; this listener is not served; use another hostname or port", host, port)}, true
}

// conflictRanks returns ranks of listeners, by index in Result.Listeners, for conflicts on the contested ports. A lower
// rank has precedence. Listeners of the Gateway itself have the lowest rank, except on a port of a network load balancer
// that a ListenerSet serves.
func (e *evaluation) conflictRanks(contested map[int32]bool) map[int]int {
	live := map[int]bool{}          // listeners with a route that the load balancer serves now
	owners := map[parentPort]bool{} // Gateways and ListenerSets that have a listener in live, with its port
	for _, r := range e.out.Routes {
		ref := cluster.RefOf(r.Object)
		for _, p := range r.Parents {
			for _, a := range p.Attachments {
				l := &e.out.Listeners[a.Listener]
				if !contested[l.Spec.Port] || live[a.Listener] {
					continue
				}
				if e.liveRoutes.Serves(l.Spec.Port, ref, a.HostnamesOrAny()) {
					live[a.Listener] = true
					owners[parentPort{l.Parent, l.Spec.Port}] = true
				}
			}
		}
	}
	out := map[int]int{}
	for i := range e.out.Listeners {
		l := &e.out.Listeners[i]
		network := e.kind == model.NLBGateway
		switch {
		case !contested[l.Spec.Port], network && owners[parentPort{l.Parent, l.Spec.Port}], !network && isGatewayListener(l):
		case live[i], isGatewayListener(l):
			out[i] = 1
		default:
			out[i] = 2
		}
	}
	return out
}

// parentPort is a Gateway or ListenerSet with a port of one of its listeners.
type parentPort struct {
	parent finding.Ref
	port   int32
}

// passthroughText is the protocol text of listeners with TLS passthrough.
const passthroughText = "TLS passthrough"

// protocolText returns the protocol of a listener for messages and comparison. TLS passthrough and TLS termination have
// different texts, because such listeners cannot share a port.
func protocolText(l gatewayv1.Listener) string {
	if l.Protocol == gatewayv1.TLSProtocolType && l.TLS != nil && l.TLS.Mode != nil && *l.TLS.Mode == gatewayv1.TLSModePassthrough {
		return passthroughText
	}
	return string(l.Protocol)
}

// canSharePort reports whether listeners of two protocols can share a port.
func canSharePort(a, b string) bool {
	tcp, udp := string(gatewayv1.TCPProtocolType), string(gatewayv1.UDPProtocolType)
	return a == b || a == tcp && b == udp || a == udp && b == tcp
}
