package serve

import (
	"cmp"
	"net/netip"
	"strings"
	"time"

	gatypes "github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// convertDistances converts the configuration that determines which regions are near to a client.
func convertDistances(cfg store.AcceleratorConfig) dataplane.Distances {
	out := dataplane.Distances{DefaultRegion: cfg.Home}
	for _, r := range cfg.Nearest {
		out.Ranges = append(out.Ranges, dataplane.ClientRange{Clients: r.Clients, Regions: r.Regions})
	}
	return out
}

// addAccelerators adds the enabled accelerators of the partition to the configuration.
func (b *builder) addAccelerators() {
	for _, arn := range store.SortedKeys(b.p.Accelerators.Accelerators) {
		if a := b.p.Accelerators.Accelerators[arn]; a.Enabled {
			b.config.Accelerators = append(b.config.Accelerators, b.convertAccelerator(a))
		}
	}
}

func (b *builder) convertAccelerator(a *store.Accelerator) dataplane.Accelerator {
	out := dataplane.Accelerator{ARN: a.ARN, DNSNames: []string{a.DNSName}}
	if a.DualStackDNSName != "" {
		out.DNSNames = append(out.DNSNames, a.DualStackDNSName)
	}
	for _, address := range a.IPv4 {
		out.Addresses = append(out.Addresses, dataplane.StaticAddress{Public: address, Local: b.s.store.Config.Accelerator.LocalAddress(address)})
	}
	for _, address := range a.IPv6 {
		out.Addresses = append(out.Addresses, dataplane.StaticAddress{Public: address})
	}
	for _, l := range a.Listeners {
		listener := dataplane.AcceleratorListener{
			ARN: l.ARN, UDP: l.Protocol == gatypes.ProtocolUdp, ClientAffinity: l.Affinity == gatypes.ClientAffinitySourceIp,
		}
		for _, r := range l.Ranges {
			listener.Ports = append(listener.Ports, dataplane.PortRange{From: uint16(r.From), To: uint16(r.To)})
		}
		for _, g := range l.Groups {
			listener.EndpointGroups = append(listener.EndpointGroups, b.convertEndpointGroup(l, g))
		}
		out.Listeners = append(out.Listeners, listener)
	}
	return out
}

func (b *builder) convertEndpointGroup(l *store.AcceleratorListener, g *store.EndpointGroup) dataplane.EndpointGroup {
	out := dataplane.EndpointGroup{ARN: g.ARN, Region: g.Region, TrafficDial: float64(g.Dial), PortOverrides: map[uint16]uint16{}}
	for _, o := range g.Overrides {
		out.PortOverrides[uint16(o.Listener)] = uint16(o.Endpoint)
	}
	check := endpointHealthCheckTargetGroup(l, g)
	for _, e := range g.Endpoints {
		if ready := e.Added.Add(b.s.store.Config.Accelerator.HealthDelay); b.now.Before(ready) {
			b.scheduleRebuild(ready)
		}
		health := b.s.store.EndpointHealth(b.p.Account, g, e, b.now)
		endpoint := dataplane.AcceleratorEndpoint{
			ID: e.ID, Weight: int(e.Weight), IsHealthy: health == gatypes.HealthStateHealthy, PreserveClientIP: e.PreserveClient,
		}
		regional := b.s.store.Partition(b.p.Account, g.Region)
		if strings.HasPrefix(e.ID, "arn:") {
			if lb := regional.ELB.LoadBalancers[e.ID]; lb != nil {
				endpoint.LoadBalancer = lb.DNSName
			}
		} else if endpoint.Address = endpointAddress(regional, e.ID); endpoint.Address.IsValid() {
			check.Targets = append(check.Targets, dataplane.Target{
				ID: e.ID, Address: endpoint.Address, Port: check.HealthCheck.Port, State: targetState(health), Epoch: e.Added.String(),
			})
		}
		out.Endpoints = append(out.Endpoints, endpoint)
	}
	if len(check.Targets) > 0 {
		b.config.TargetGroups = append(b.config.TargetGroups, check)
	}
	return out
}

// endpointHealthCheckTargetGroup returns a target group, without targets, with which the data plane checks the health of the
// endpoints of endpoint group g. Load balancers are not checked in this way.
func endpointHealthCheckTargetGroup(l *store.AcceleratorListener, g *store.EndpointGroup) dataplane.TargetGroup {
	return dataplane.TargetGroup{ARN: g.ARN, Protocol: dataplane.TCP, HealthCheck: dataplane.HealthCheck{
		Protocol: dataplane.Protocol(g.CheckProtocol), Port: uint16(cmp.Or(g.CheckPort, l.Ranges[0].From)), Path: g.CheckPath,
		Interval: time.Duration(g.CheckInterval) * time.Second, HealthyThreshold: int(g.Threshold), UnhealthyThreshold: int(g.Threshold),
	}}
}

func targetState(health gatypes.HealthState) dataplane.TargetState {
	switch health {
	case gatypes.HealthStateHealthy:
		return dataplane.StateHealthy
	case gatypes.HealthStateUnhealthy:
		return dataplane.StateUnhealthy
	}
	return dataplane.StateInitial
}

// endpointAddress returns the private address of an instance or of the ENI with an Elastic IP address. It returns the zero
// Addr if there is none.
func endpointAddress(p *store.Partition, id string) netip.Addr {
	if a := p.Addresses[id]; a != nil {
		return a.PrivateIP
	}
	if i := p.Instances[id]; i != nil && p.InstanceState(i) == store.InstanceRunning {
		address, _ := instanceAddress(p, id)
		return address
	}
	return netip.Addr{}
}

// servedAccelerator is an accelerator in the answers of the admin API.
type servedAccelerator struct {
	ARN, Name, Status string
	DNSNames          []string
	Addresses         []netip.Addr
	Sockets           []dataplane.AcceleratorSocket `json:"Entrances"`
}

// servedAccelerators lists the accelerators of all accounts with their sockets.
func (s *Server) servedAccelerators() []servedAccelerator {
	sockets := map[string][]dataplane.AcceleratorSocket{}
	for _, e := range s.plane.AcceleratorSockets() {
		sockets[e.Accelerator] = append(sockets[e.Accelerator], e)
	}
	s.store.Lock()
	defer s.store.Unlock()
	now := s.store.Clock.Now()
	out := []servedAccelerator{}
	for _, p := range s.store.Partitions() {
		for _, arn := range store.SortedKeys(p.Accelerators.Accelerators) {
			a := p.Accelerators.Accelerators[arn]
			item := servedAccelerator{ARN: arn, Name: a.Name, Status: string(a.Status(now)), DNSNames: []string{a.DNSName}, Sockets: []dataplane.AcceleratorSocket{}}
			if a.DualStackDNSName != "" {
				item.DNSNames = append(item.DNSNames, a.DualStackDNSName)
			}
			item.Addresses = append(append(item.Addresses, a.IPv4...), a.IPv6...)
			item.Sockets = append(item.Sockets, sockets[arn]...)
			out = append(out, item)
		}
	}
	return out
}

// dropRemovedAccelerators returns the accelerators in old, without accelerators, listeners, endpoint groups and endpoints
// that are not in latest. The endpoints have their health from latest.
func dropRemovedAccelerators(old, latest []dataplane.Accelerator) []dataplane.Accelerator {
	parts := map[string]bool{} // ARNs
	type identity struct{ group, id string }
	endpoints := map[identity]dataplane.AcceleratorEndpoint{}
	for _, a := range latest {
		parts[a.ARN] = true
		for _, l := range a.Listeners {
			parts[l.ARN] = true
			for _, g := range l.EndpointGroups {
				parts[g.ARN] = true
				for _, e := range g.Endpoints {
					endpoints[identity{g.ARN, e.ID}] = e
				}
			}
		}
	}
	var out []dataplane.Accelerator
	for _, a := range old {
		if !parts[a.ARN] {
			continue
		}
		listeners := a.Listeners
		a.Listeners = nil
		for _, l := range listeners {
			if !parts[l.ARN] {
				continue
			}
			groups := l.EndpointGroups
			l.EndpointGroups = nil
			for _, g := range groups {
				if !parts[g.ARN] {
					continue
				}
				list := g.Endpoints
				g.Endpoints = nil
				for _, e := range list {
					if now, ok := endpoints[identity{g.ARN, e.ID}]; ok {
						e.IsHealthy = now.IsHealthy
						g.Endpoints = append(g.Endpoints, e)
					}
				}
				l.EndpointGroups = append(l.EndpointGroups, g)
			}
			a.Listeners = append(a.Listeners, l)
		}
		out = append(out, a)
	}
	return out
}
