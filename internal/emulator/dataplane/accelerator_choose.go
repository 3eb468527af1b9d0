package dataplane

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
)

// maxFailoverGroups is the number of other endpoint groups that are tried for a flow.
const maxFailoverGroups = 3

// anycastFlow describes a flow by the properties on which the choice of its endpoint depends.
type anycastFlow struct {
	client      netip.AddrPort // in the emulated network
	destination netip.AddrPort // static address and port
	udp         bool
}

// anycastChoice is the endpoint that was chosen for a flow.
type anycastChoice struct {
	endpointGroup EndpointGroup
	endpoint      AcceleratorEndpoint
	port          uint16 // port of the endpoint
}

// chooseEndpoint picks the endpoint of a flow; it returns false if the listener has no endpoint. The result only depends on
// the flow and the configuration. The traffic dial of the nearest endpoint group sends a share of its flows to the
// next endpoint group with a dial above 0. If that endpoint group has no healthy endpoint with a weight, other
// endpoint groups are tried, whatever their dials. If none has such an endpoint, any endpoint of the nearest
// endpoint group is picked, because an unhealthy endpoint may still answer.
func (l AcceleratorListener) chooseEndpoint(f anycastFlow, d Distances) (anycastChoice, bool) {
	groups := l.groupsByDistance(f.client.Addr(), d)
	if len(groups) == 0 {
		return anycastChoice{}, false
	}
	key := l.flowKey(f)
	first := 0
	if hashFraction(key, "dial")*100 >= groups[0].TrafficDial {
		if i := slices.IndexFunc(groups[1:], func(g EndpointGroup) bool { return g.TrafficDial > 0 }); i >= 0 {
			first = i + 1
		}
	}
	others := slices.Delete(slices.Clone(groups), first, first+1)
	candidates := append([]EndpointGroup{groups[first]}, others[:min(maxFailoverGroups, len(others))]...)
	for _, g := range candidates {
		if e, ok := pickEndpoint(key, g.Endpoints, func(e AcceleratorEndpoint) float64 {
			if !e.IsHealthy {
				return 0
			}
			return float64(e.Weight)
		}); ok {
			return g.choiceFor(e, f), true
		}
	}
	for _, g := range groups {
		if e, ok := pickEndpoint(key, g.Endpoints, func(AcceleratorEndpoint) float64 { return 1 }); ok {
			return g.choiceFor(e, f), true
		}
	}
	return anycastChoice{}, false
}

func (l AcceleratorListener) groupsByDistance(client netip.Addr, d Distances) []EndpointGroup {
	var regions []string
	groups := map[string]EndpointGroup{}
	for _, g := range l.EndpointGroups {
		regions, groups[g.Region] = append(regions, g.Region), g
	}
	out := []EndpointGroup{}
	for _, r := range d.OrderRegions(client, regions) {
		out = append(out, groups[r])
	}
	return out
}

func (g EndpointGroup) choiceFor(e AcceleratorEndpoint, f anycastFlow) anycastChoice {
	port, ok := g.PortOverrides[f.destination.Port()]
	if !ok {
		port = f.destination.Port()
	}
	return anycastChoice{endpointGroup: g, endpoint: e, port: port}
}

// flowKey returns the key of a flow. Flows with the same key go to the same endpoint.
func (l AcceleratorListener) flowKey(f anycastFlow) string {
	if l.ClientAffinity {
		return f.client.Addr().String() + " " + f.destination.Addr().String()
	}
	key := f.client.String() + " " + f.destination.String()
	if f.udp {
		key += " udp"
	}
	return key
}

// pickEndpoint picks an endpoint with a probability that is proportional to its weight. Each endpoint has a number, and the
// lowest wins, so that few flows move when endpoints are added or removed.
func pickEndpoint(key string, from []AcceleratorEndpoint, weight func(AcceleratorEndpoint) float64) (AcceleratorEndpoint, bool) {
	var out AcceleratorEndpoint
	best := math.Inf(1)
	for _, e := range from {
		w := weight(e)
		if w <= 0 {
			continue
		}
		// Of exponentially distributed numbers, the number with rate w is the smallest with probability w / sum.
		if n := -math.Log(1-hashFraction(key, e.ID)) / w; n < best {
			out, best = e, n
		}
	}
	return out, !math.IsInf(best, 1)
}

// hashFraction returns a number of [0, 1) that only depends on its arguments.
func hashFraction(key, salt string) float64 {
	sum := sha256.Sum256([]byte(key + "\n" + salt))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}
