package assemble

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Clients describes the clients of a network load balancer without security groups. The security group rules of nodes and
// pods must admit these clients by address range.
type Clients struct {
	// Ranges are the admitted address ranges. Without ranges, all clients are admitted, or, if the load balancer is
	// Internal, all clients in the VPC.
	Ranges   []string
	Internal bool
	// PreservesClientIP reports whether targets see the address of the client instead of that of the load balancer.
	PreservesClientIP bool
	// SeparateHealthCheckRule adds a rule for the health checks of target groups with UDP even if the rule for clients
	// admits them. Gateways have this rule, because the list of rules is compared item by item with the one that older
	// controllers wrote.
	SeparateHealthCheckRule bool
}

// transportProtocols returns the IP protocols of a target group behind a network load balancer, in the order of the rules.
func transportProtocols(protocol string) []string {
	switch protocol {
	case "UDP", "QUIC":
		return []string{"UDP"}
	case "TCP_UDP", "TCP_QUIC":
		return []string{"UDP", "TCP"}
	}
	return []string{"TCP"}
}

// separateHealthCheckPort returns the port of the health check, and reports whether it is a number other than the traffic
// port.
func (g TargetGroup) separateHealthCheckPort() (port intstr.IntOrString, other bool) {
	n, err := strconv.ParseInt(g.HealthCheck.Port, 10, 32)
	port = intstr.FromInt32(int32(n))
	return port, err == nil && port.IntVal != g.TrafficPort.IntVal
}

// networkPorts returns the ports that are opened for the security group of a network load balancer. Health checks use TCP.
// All ports are in one rule and in this order, because the list of rules is compared item by item with the one that older
// controllers wrote.
func (r BindingRequest) networkPorts() []model.PeerPort {
	protocols := transportProtocols(r.Group.Protocol)
	if r.OpenAllPorts {
		out := []model.PeerPort{{Protocol: "TCP"}}
		if slices.Contains(protocols, "UDP") {
			out = append(out, model.PeerPort{Protocol: "UDP"})
		}
		return out
	}
	var out []model.PeerPort
	for _, p := range protocols {
		out = append(out, model.PeerPort{Protocol: p, Port: &r.Group.TrafficPort})
	}
	check, other := r.Group.separateHealthCheckPort()
	switch {
	case other:
		out = append(out, model.PeerPort{Protocol: "TCP", Port: &check})
	case !slices.Contains(protocols, "TCP"):
		out = append(out, model.PeerPort{Protocol: "TCP", Port: &r.Group.TrafficPort})
	}
	return out
}

// clientRules returns the rules that admit clients by address range, and a rule for the health checks of the load balancer
// if the rule for clients does not admit them.
func (r BindingRequest) clientRules() []model.BindingRule {
	g, c := r.Group, r.Clients
	protocols := transportProtocols(g.Protocol)
	slices.Sort(protocols)
	var ports []model.PeerPort
	for _, p := range protocols {
		ports = append(ports, model.PeerPort{Protocol: p, Port: &g.TrafficPort})
	}
	everybody := "0.0.0.0/0"
	if g.AddressType == model.IPv6 {
		everybody = "::/0"
	}
	var from []model.Peer
	switch {
	case !c.PreservesClientIP && !slices.Contains(protocols, "UDP"):
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
	check, other := g.separateHealthCheckPort()
	if !other {
		check = g.TrafficPort
	}
	// The address ranges of clients may not include the addresses of the load balancer, from which health checks come.
	narrow := len(from) > 0 && from[0].CIDR != "" && !slices.Contains(from, model.Peer{CIDR: everybody})
	udp := slices.Contains(protocols, "UDP")
	if other || narrow || udp && (c.SeparateHealthCheckRule || !slices.Contains(protocols, "TCP")) {
		out = append(out, model.BindingRule{From: []model.Peer{{Subnets: true}}, Ports: []model.PeerPort{{Protocol: "TCP", Port: &check}}})
	}
	return out
}
