package gateway

import (
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// networkPorts are the ports of a network load balancer.
func (t *translation) networkPorts() []*port {
	return t.portsOf(func(p *port) {
		for _, l := range p.listeners {
			switch base := model.Base(l.Spec.Protocol); {
			case l.Spec.Protocol == gwv1.TLSProtocolType:
				p.Base, p.TLS = model.TCP, l.Spec.TLS == nil || l.Spec.TLS.Mode == nil || *l.Spec.TLS.Mode == gwv1.TLSModeTerminate
			case p.Base != "" && p.Base != base:
				p.Base = model.TCPUDP
			default:
				p.Base = base
			}
		}
	})
}

// networkListener builds one port.
func (t *translation) networkListener(p *port) (model.Listener, bool) {
	return model.Listener{}, false
}
