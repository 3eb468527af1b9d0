package assemble

import (
	"slices"
	"strconv"

	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Clients describes the clients of a network load balancer without security groups. The security group rules of nodes
// and pods must admit these clients by CIDR.
type Clients struct {
	// Ranges are the admitted CIDRs. If Ranges is empty, all clients are admitted, or all clients in the VPC if the load
	// balancer is Internal.
	Ranges   []string
	Internal bool
	// PreservesClientIP reports whether targets see the address of the client instead of that of the load balancer.
	PreservesClientIP bool
	// SeparateHealthCheckRule adds a rule for the health checks of target groups with UDP even if the rule for clients
	// admits them. It is set for Gateways, because the list of rules must be equal to the list that
	// aws-load-balancer-controller wrote.
	SeparateHealthCheckRule bool
}

// transportProtocols returns TCP, UDP or both for the protocol of a target group behind a network load balancer, in the
// order in which rules list them.
func transportProtocols(protocol string) []string {
	switch protocol {
	case "UDP", "QUIC":
		return []string{"UDP"}
	case "TCP_UDP", "TCP_QUIC":
		return []string{"UDP", "TCP"}
	}
	return []string{"TCP"}
}

// separateHealthCheckPort returns the port of the health check. other reports whether this port is a number other than the
// traffic port.
func (g TargetGroup) separateHealthCheckPort() (port intstr.IntOrString, other bool) {
	n, err := strconv.ParseInt(g.HealthCheck.Port, 10, 32)
	port = intstr.FromInt32(int32(n))
	return port, err == nil && port.IntVal != g.TrafficPort.IntVal
}

// networkPorts returns the ports of targets that traffic and health checks of a network load balancer use. Health checks
// use TCP. The order is that of aws-load-balancer-controller, because the rules must be equal to those that it wrote.
func (r BindingRequest) networkPorts() []model.PeerPort {
	protocols := transportProtocols(r.TargetGroup.Protocol)
	if r.OpenAllPorts {
		out := []model.PeerPort{{Protocol: "TCP"}}
		if slices.Contains(protocols, "UDP") {
			out = append(out, model.PeerPort{Protocol: "UDP"})
		}
		return out
	}
	var out []model.PeerPort
	for _, p := range protocols {
		out = append(out, model.PeerPort{Protocol: p, Port: &r.TargetGroup.TrafficPort})
	}
	check, other := r.TargetGroup.separateHealthCheckPort()
	switch {
	case other:
		out = append(out, model.PeerPort{Protocol: "TCP", Port: &check})
	case !slices.Contains(protocols, "TCP"):
		out = append(out, model.PeerPort{Protocol: "TCP", Port: &r.TargetGroup.TrafficPort})
	}
	return out
}

// clientRules returns the rules that admit clients by CIDR. If these rules do not admit the health checks of the load
// balancer, it also returns a rule for health checks.
func (r BindingRequest) clientRules() []model.BindingRule {
	g, c := r.TargetGroup, r.Clients
	protocols := transportProtocols(g.Protocol)
	slices.Sort(protocols)
	var ports []model.PeerPort
	for _, p := range protocols {
		ports = append(ports, model.PeerPort{Protocol: p, Port: &g.TrafficPort})
	}
	allClients := "0.0.0.0/0"
	if g.AddressType == model.IPv6 {
		allClients = "::/0"
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
		from = []model.Peer{{CIDR: allClients}}
	}
	out := []model.BindingRule{{From: from, Ports: ports}}
	check, other := g.separateHealthCheckPort()
	if !other {
		check = g.TrafficPort
	}
	// The CIDRs of clients may not include the addresses of the load balancer, which are the sources of health checks.
	restrictsClients := from[0].CIDR != "" && !slices.Contains(from, model.Peer{CIDR: allClients})
	// aws-load-balancer-controller makes no rule if the CIDRs admit all addresses of the other address family. So the rule
	// is optional: it is not added to bindings that aws-load-balancer-controller wrote, because a takeover must change
	// nothing in AWS.
	optional := slices.ContainsFunc(from, func(p model.Peer) bool { return slices.Contains(allClientRanges(), p.CIDR) })
	udp := slices.Contains(protocols, "UDP")
	required := other || restrictsClients && !optional || udp && (c.SeparateHealthCheckRule || !slices.Contains(protocols, "TCP"))
	if required || restrictsClients {
		out = append(out, model.BindingRule{From: []model.Peer{{Subnets: true}}, Ports: []model.PeerPort{{Protocol: "TCP", Port: &check}}, Optional: !required})
	}
	return out
}
