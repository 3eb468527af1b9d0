package dataplane

import (
	"crypto/sha256"
	"encoding/binary"
	"math"
	"net/netip"
	"slices"
)

// failoverGroups is the number of other endpoint groups that are tried for a flow.
const failoverGroups = 3

// anycastFlow has the properties of a flow on which the choice of its endpoint depends.
type anycastFlow struct {
	client netip.AddrPort // in the emulated network
	to     netip.AddrPort // static address and port
	udp    bool
}

// anycastChoice is the endpoint that was chosen for a flow.
type anycastChoice struct {
	group    EndpointGroup
	endpoint AcceleratorEndpoint
	port     uint16 // of the endpoint
}

// choose picks the endpoint of a flow; it returns false if the listener has no endpoint. The result only depends on
// the flow and the configuration. The traffic dial of the nearest endpoint group sends a share of its flows to the
// next endpoint group with a dial above 0. If that endpoint group has no healthy endpoint with a weight, other
// endpoint groups are tried, whatever their dials. If none has such an endpoint, any endpoint of the nearest
// endpoint group is picked, because an unhealthy endpoint may still answer.
func (l AcceleratorListener) choose(f anycastFlow, d Distances) (anycastChoice, bool) {
	groups := l.byDistance(f.client.Addr(), d)
	if len(groups) == 0 {
		return anycastChoice{}, false
	}
	key := l.key(f)
	first := 0
	if share(key, "dial")*100 >= groups[0].Dial {
		if i := slices.IndexFunc(groups[1:], func(g EndpointGroup) bool { return g.Dial > 0 }); i >= 0 {
			first = i + 1
		}
	}
	others := slices.Delete(slices.Clone(groups), first, first+1)
	candidates := append([]EndpointGroup{groups[first]}, others[:min(failoverGroups, len(others))]...)
	for _, g := range candidates {
		if e, ok := draw(key, g.Endpoints, func(e AcceleratorEndpoint) float64 {
			if !e.Healthy {
				return 0
			}
			return float64(e.Weight)
		}); ok {
			return g.chosen(e, f), true
		}
	}
	for _, g := range groups {
		if e, ok := draw(key, g.Endpoints, func(AcceleratorEndpoint) float64 { return 1 }); ok {
			return g.chosen(e, f), true
		}
	}
	return anycastChoice{}, false
}

func (l AcceleratorListener) byDistance(client netip.Addr, d Distances) []EndpointGroup {
	var regions []string
	groups := map[string]EndpointGroup{}
	for _, g := range l.Groups {
		regions, groups[g.Region] = append(regions, g.Region), g
	}
	out := []EndpointGroup{}
	for _, r := range d.Order(client, regions) {
		out = append(out, groups[r])
	}
	return out
}

func (g EndpointGroup) chosen(e AcceleratorEndpoint, f anycastFlow) anycastChoice {
	port, ok := g.Overrides[f.to.Port()]
	if !ok {
		port = f.to.Port()
	}
	return anycastChoice{group: g, endpoint: e, port: port}
}

// key returns the key of a flow. Flows with the same key go to the same endpoint.
func (l AcceleratorListener) key(f anycastFlow) string {
	if l.ClientAffinity {
		return f.client.Addr().String() + " " + f.to.Addr().String()
	}
	key := f.client.String() + " " + f.to.String()
	if f.udp {
		key += " udp"
	}
	return key
}

// draw picks an endpoint with a probability that is proportional to its weight. Each endpoint has a number, and the
// lowest wins, so that few flows move when endpoints are added or removed.
func draw(key string, from []AcceleratorEndpoint, weight func(AcceleratorEndpoint) float64) (AcceleratorEndpoint, bool) {
	var out AcceleratorEndpoint
	best := math.Inf(1)
	for _, e := range from {
		w := weight(e)
		if w <= 0 {
			continue
		}
		// Of exponentially distributed numbers, the number with rate w is the smallest with probability w / sum.
		if n := -math.Log(1-share(key, e.ID)) / w; n < best {
			out, best = e, n
		}
	}
	return out, !math.IsInf(best, 1)
}

// share returns a number of [0, 1) that only depends on its arguments.
func share(key, salt string) float64 {
	sum := sha256.Sum256([]byte(key + "\n" + salt))
	return float64(binary.BigEndian.Uint64(sum[:])>>11) / (1 << 53)
}
