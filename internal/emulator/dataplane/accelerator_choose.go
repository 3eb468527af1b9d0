package dataplane

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
)

// maxFailoverGroups is the maximum number of other endpoint groups that chooseEndpoint tries if the first has no healthy
// endpoint.
const maxFailoverGroups = 3

// anycastFlow contains the properties of a flow that determine its endpoint.
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

// chooseEndpoint picks the endpoint of flow f. The result depends only on the flow and the configuration. It returns false
// if the listener has no endpoint.
//
// The nearest endpoint group gets the percentage of the flows that its traffic dial sets. All other flows go to the next
// endpoint group with a dial above 0, if there is such an endpoint group. If the endpoint group of a flow has no healthy
// endpoint with a weight above 0, up to maxFailoverGroups other endpoint groups are tried, whatever their dials. If none
// of them has such an endpoint, chooseEndpoint picks any endpoint of the nearest endpoint group that has endpoints,
// because an unhealthy endpoint may still answer.
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

// flowKey returns a key of flow f that determines its endpoint: flows with the same key go to the same endpoint.
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

// pickEndpoint picks an endpoint with a probability that is proportional to its weight. It computes a number for each
// endpoint from key and the endpoint's ID, and picks the endpoint with the lowest number. Therefore few flows move when
// endpoints are added or removed. It returns false if no endpoint has a weight above 0.
func pickEndpoint(key string, from []AcceleratorEndpoint, weight func(AcceleratorEndpoint) float64) (AcceleratorEndpoint, bool) {
	var out AcceleratorEndpoint
	best := math.Inf(1)
	for _, e := range from {
		w := weight(e)
		if w <= 0 {
			continue
		}
		// Among exponentially distributed numbers, the number with rate w is the smallest with probability w / (sum of all
		// rates).
		if n := -math.Log(1-hashFraction(key, e.ID)) / w; n < best {
			out, best = e, n
		}
	}
	return out, !math.IsInf(best, 1)
}

// hashFraction returns a pseudo-random number in [0, 1) that depends only on its arguments.
func hashFraction(key, salt string) float64 {
	sum := sha256.Sum256([]byte(key + "\n" + salt))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}
