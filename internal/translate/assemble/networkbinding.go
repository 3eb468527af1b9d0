package assemble

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Clients are the client ranges that reach the targets of a network load balancer that has no security groups. Rules of
// nodes and pods can then name address ranges only.
type Clients struct {
	// Ranges that are admitted; none: everybody, or the VPC behind an internal load balancer.
	Ranges   []string
	Internal bool
	// Preserved reports that targets see the addresses of clients in place of that of the load balancer.
	Preserved bool
	// OwnCheckRule: where UDP arrives, health checks have a rule of their own although that of the clients admits them. So it
	// is behind the load balancer of a Gateway; the list is compared as it stands with what older controllers wrote.
	OwnCheckRule bool
}

// transports returns the protocols in which traffic for a target group of a network load balancer arrives, in the order
// of rules for a peer.
func transports(protocol string) []string {
	switch protocol {
	case "UDP", "QUIC":
		return []string{"UDP"}
	case "TCP_UDP", "TCP_QUIC":
		return []string{"UDP", "TCP"}
	}
	return []string{"TCP"}
}

// checkedOn returns the port of the health check where that is not the one of the traffic.
func (g Group) checkedOn() (port intstr.IntOrString, other bool) {
	n, err := strconv.ParseInt(g.HealthCheck.Port, 10, 32)
	port = intstr.FromInt32(int32(n))
	return port, err == nil && port.IntVal != g.Data.IntVal
}

// networkPorts returns the ports to open for the security group of a network load balancer. Health checks are TCP. They
// are one rule, in this order: the list is compared as it stands with what older controllers wrote.
func (r BindingRequest) networkPorts() []model.PeerPort {
	protocols := transports(r.Group.Protocol)
	if r.AllPorts {
		out := []model.PeerPort{{Protocol: "TCP"}}
		if slices.Contains(protocols, "UDP") {
			out = append(out, model.PeerPort{Protocol: "UDP"})
		}
		return out
	}
	var out []model.PeerPort
	for _, p := range protocols {
		out = append(out, model.PeerPort{Protocol: p, Port: &r.Group.Data})
	}
	check, other := r.Group.checkedOn()
	switch {
	case other:
		out = append(out, model.PeerPort{Protocol: "TCP", Port: &check})
	case !slices.Contains(protocols, "TCP"):
		out = append(out, model.PeerPort{Protocol: "TCP", Port: &r.Group.Data})
	}
	return out
}

// clientRules admit clients by address, and the health checks of the load balancer where they are not among these.
func (r BindingRequest) clientRules() []model.BindingRule {
	g, c := r.Group, r.Clients
	protocols := transports(g.Protocol)
	slices.Sort(protocols)
	var ports []model.PeerPort
	for _, p := range protocols {
		ports = append(ports, model.PeerPort{Protocol: p, Port: &g.Data})
	}
	everybody := "0.0.0.0/0"
	if g.AddressType == model.IPv6 {
		everybody = "::/0"
	}
	var from []model.Peer
	switch {
	case !c.Preserved && !slices.Contains(protocols, "UDP"):
		from = []model.Peer{{Subnets: true}}
	case len(c.Ranges) > 0:
		for _, cidr := range c.Ranges {
			from = append(from, model.Peer{CIDR: cidr})
		}
	case c.Internal:
		from = []model.Peer{{VPC: true}}
	default:
		from = []model.Peer{{CIDR: everybody}}
	}
	out := []model.BindingRule{{From: from, Ports: ports}}
	check, other := g.checkedOn()
	if !other {
		check = g.Data
	}
	// The ranges of clients may leave out the load balancer itself.
	narrow := len(from) > 0 && from[0].CIDR != "" && !slices.Contains(from, model.Peer{CIDR: everybody})
	udp := slices.Contains(protocols, "UDP")
	if other || narrow || udp && (c.OwnCheckRule || !slices.Contains(protocols, "TCP")) {
		out = append(out, model.BindingRule{From: []model.Peer{{Subnets: true}}, Ports: []model.PeerPort{{Protocol: "TCP", Port: &check}}})
	}
	return out
}
