package gateway

import (
	"fmt"
	"slices"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// checkNetworkListener withdraws the target groups to which a listener of a network load balancer may no longer forward.
func (r *rightsChecker) checkNetworkListener(l *observed.Listener) {
	owners := r.ownersOf(l.Default)
	if len(owners) == 0 || slices.ContainsFunc(owners, func(o finding.Ref) bool {
		return r.attached.MayUsePort(o.Namespace, o.Kind, l.Port)
	}) {
		r.checkProtocols(l)
		return
	}
	r.withdrawn.Rules[l.ARN] = model.Withdrawal{
		Object: r.objectToReport(owners), Field: "spec.parentRefs", Reason: finding.RouteNotAdmitted,
		Message: fmt.Sprintf("no listener of port %d admits the route", l.Port),
		Fix:     "ask the owner of the Gateway to admit the namespace in allowedRoutes of a listener of the port",
	}
}

// checkProtocols withdraws one protocol of an existing TCP_UDP listener if the Gateway no longer has a listener for it.
// TCP_UDP target groups stay, because listeners of one of the protocols can also use them. TCP_QUIC listeners are not
// checked, because other listeners cannot use TCP_QUIC target groups.
func (r *rightsChecker) checkProtocols(l *observed.Listener) {
	if l.Protocol != string(model.TCPUDP) {
		return
	}
	tcp, udp := r.attached.HasListener(l.Port, gwv1.TCPProtocolType), r.attached.HasListener(l.Port, gwv1.UDPProtocolType)
	if tcp == udp {
		return
	}
	left, gone := model.TCP, model.UDP
	if udp {
		left, gone = gone, left
	}
	r.withdrawn.Protocols[l.ARN] = model.WithdrawnProtocol{RemainingProtocol: left, Withdrawal: model.Withdrawal{
		Object: r.gateway, Field: "spec.listeners", Reason: finding.RouteNotAdmitted,
		Message: fmt.Sprintf("no listener of port %d has protocol %s any more", l.Port, gone),
		Fix:     fmt.Sprintf("to serve this protocol again, add a listener with protocol %s", gone),
	}}
}
