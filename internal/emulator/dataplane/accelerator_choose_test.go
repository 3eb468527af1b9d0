package dataplane

import (
	"fmt"
	"maps"
	"math"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// anycastAddress is the static address and the port of the listener in these tests.
var anycastAddress = netip.MustParseAddrPort("75.2.3.4:443")

func flowOf(client string) anycastFlow {
	return anycastFlow{client: netip.MustParseAddrPort(client), destination: anycastAddress}
}

// flowsFromClients returns n flows from different clients.
func flowsFromClients(n int) []anycastFlow {
	out := make([]anycastFlow, n)
	for i := range out {
		out[i] = flowOf(fmt.Sprintf("192.0.%d.%d:%d", i/250%250, i%250, 1024+i))
	}
	return out
}

func weightedEndpoints(weights map[string]int) []AcceleratorEndpoint {
	var out []AcceleratorEndpoint
	for _, id := range slices.Sorted(maps.Keys(weights)) {
		out = append(out, AcceleratorEndpoint{ID: id, Weight: weights[id], IsHealthy: true})
	}
	return out
}

// endpointGroupInRegion returns an endpoint group with one endpoint, whose ID is the region.
func endpointGroupInRegion(region string, dial float64, healthy bool) EndpointGroup {
	return EndpointGroup{Region: region, TrafficDial: dial, Endpoints: []AcceleratorEndpoint{{ID: region, Weight: 128, IsHealthy: healthy}}}
}

// percentByEndpoint returns the percentage of the flows that each endpoint gets, by endpoint ID.
func percentByEndpoint(t *testing.T, l AcceleratorListener, d Distances, list []anycastFlow) map[string]float64 {
	t.Helper()
	out := map[string]float64{}
	for _, f := range list {
		c, ok := l.chooseEndpoint(f, d)
		if !ok {
			t.Fatalf("no endpoint for %v", f)
		}
		out[c.endpoint.ID] += 100 / float64(len(list))
	}
	return out
}

func TestFlowsAreDistributedByDialAndWeight(t *testing.T) {
	unhealthy := func(g EndpointGroup) EndpointGroup {
		g.Endpoints = slices.Clone(g.Endpoints)
		for i := range g.Endpoints {
			g.Endpoints[i].IsHealthy = false
		}
		return g
	}
	near := Distances{DefaultRegion: "b"}
	for name, c := range map[string]struct {
		groups []EndpointGroup
		d      Distances
		want   map[string]float64 // percent
	}{
		"equal weights":               {[]EndpointGroup{{Region: "a", TrafficDial: 100, Endpoints: weightedEndpoints(map[string]int{"x": 128, "y": 128})}}, near, map[string]float64{"x": 50, "y": 50}},
		"weights":                     {[]EndpointGroup{{Region: "a", TrafficDial: 100, Endpoints: weightedEndpoints(map[string]int{"x": 10, "y": 30, "z": 60})}}, near, map[string]float64{"x": 10, "y": 30, "z": 60}},
		"weight 0":                    {[]EndpointGroup{{Region: "a", TrafficDial: 100, Endpoints: weightedEndpoints(map[string]int{"x": 0, "y": 1})}}, near, map[string]float64{"y": 100}},
		"unhealthy endpoint":          {[]EndpointGroup{{Region: "a", TrafficDial: 100, Endpoints: append(weightedEndpoints(map[string]int{"x": 1}), AcceleratorEndpoint{ID: "y", Weight: 255})}}, near, map[string]float64{"x": 100}},
		"all unhealthy":               {[]EndpointGroup{unhealthy(EndpointGroup{Region: "a", TrafficDial: 100, Endpoints: weightedEndpoints(map[string]int{"x": 10, "y": 200})})}, near, map[string]float64{"x": 50, "y": 50}},
		"all of weight 0":             {[]EndpointGroup{{Region: "a", TrafficDial: 100, Endpoints: weightedEndpoints(map[string]int{"x": 0, "y": 0})}}, near, map[string]float64{"x": 50, "y": 50}},
		"home is nearest":             {[]EndpointGroup{endpointGroupInRegion("a", 100, true), endpointGroupInRegion("b", 100, true)}, near, map[string]float64{"b": 100}},
		"without home, by name":       {[]EndpointGroup{endpointGroupInRegion("c", 100, true), endpointGroupInRegion("b", 100, true)}, Distances{}, map[string]float64{"b": 100}},
		"dial":                        {[]EndpointGroup{endpointGroupInRegion("a", 100, true), endpointGroupInRegion("b", 30, true)}, near, map[string]float64{"a": 70, "b": 30}},
		"overflow is not dialled":     {[]EndpointGroup{endpointGroupInRegion("a", 1, true), endpointGroupInRegion("b", 50, true)}, near, map[string]float64{"a": 50, "b": 50}},
		"one endpoint group, dial":    {[]EndpointGroup{endpointGroupInRegion("b", 10, true)}, near, map[string]float64{"b": 100}},
		"dial 0 gets nothing":         {[]EndpointGroup{endpointGroupInRegion("a", 0, true), endpointGroupInRegion("b", 50, true), endpointGroupInRegion("c", 100, true)}, near, map[string]float64{"b": 50, "c": 50}},
		"nearest with dial 0":         {[]EndpointGroup{endpointGroupInRegion("a", 100, true), endpointGroupInRegion("b", 0, true)}, near, map[string]float64{"a": 100}},
		"all with dial 0":             {[]EndpointGroup{endpointGroupInRegion("a", 0, true), endpointGroupInRegion("b", 0, true)}, near, map[string]float64{"b": 100}},
		"fail-over":                   {[]EndpointGroup{endpointGroupInRegion("a", 100, true), endpointGroupInRegion("b", 100, false), endpointGroupInRegion("c", 100, true)}, near, map[string]float64{"a": 100}},
		"fail-over ignores dials":     {[]EndpointGroup{endpointGroupInRegion("a", 0, true), endpointGroupInRegion("b", 100, false), endpointGroupInRegion("c", 100, false)}, near, map[string]float64{"a": 100}},
		"fail-over of overflow":       {[]EndpointGroup{endpointGroupInRegion("a", 100, false), endpointGroupInRegion("b", 40, true)}, near, map[string]float64{"b": 100}},
		"weight 0 fails over":         {[]EndpointGroup{endpointGroupInRegion("a", 100, true), {Region: "b", TrafficDial: 100, Endpoints: weightedEndpoints(map[string]int{"x": 0})}}, near, map[string]float64{"a": 100}},
		"empty one fails over":        {[]EndpointGroup{endpointGroupInRegion("a", 100, true), {Region: "b", TrafficDial: 100}}, near, map[string]float64{"a": 100}},
		"the fourth other is far off": {[]EndpointGroup{endpointGroupInRegion("b", 100, false), endpointGroupInRegion("c", 100, false), endpointGroupInRegion("d", 100, false), endpointGroupInRegion("e", 100, false), endpointGroupInRegion("f", 100, true)}, near, map[string]float64{"b": 100}},
		"the third other is not":      {[]EndpointGroup{endpointGroupInRegion("b", 100, false), endpointGroupInRegion("c", 100, false), endpointGroupInRegion("d", 100, false), endpointGroupInRegion("e", 100, true)}, near, map[string]float64{"e": 100}},
		"nothing healthy":             {[]EndpointGroup{endpointGroupInRegion("a", 100, false), endpointGroupInRegion("b", 100, false)}, near, map[string]float64{"b": 100}},
	} {
		t.Run(name, func(t *testing.T) {
			got := percentByEndpoint(t, AcceleratorListener{EndpointGroups: c.groups}, c.d, flowsFromClients(10_000))
			for id := range maps.Keys(got) {
				if math.Abs(got[id]-c.want[id]) > 3 {
					t.Errorf("%s gets %.1f %%, want %.0f %%", id, got[id], c.want[id])
				}
			}
			if d := cmp.Diff(slices.Sorted(maps.Keys(c.want)), slices.Sorted(maps.Keys(got))); d != "" {
				t.Errorf("endpoints (-want +got):\n%s", d)
			}
		})
	}
	if _, ok := (AcceleratorListener{EndpointGroups: []EndpointGroup{{Region: "a", TrafficDial: 100}}}).chooseEndpoint(flowOf("192.0.2.1:1024"), near); ok {
		t.Error("a listener without endpoints leads somewhere")
	}
	if _, ok := (AcceleratorListener{}).chooseEndpoint(flowOf("192.0.2.1:1024"), near); ok {
		t.Error("a listener without endpoint groups leads somewhere")
	}
}

// TestTrafficDialsOfTwoRegions checks that, if the endpoint groups of two regions have a traffic dial of 30, 30 % of the
// flows of each client range go to the nearest region and the others to the other region.
func TestTrafficDialsOfTwoRegions(t *testing.T) {
	d := Distances{Ranges: []ClientRange{
		{netip.MustParsePrefix("198.51.100.0/24"), []string{"west"}}, {netip.MustParsePrefix("203.0.113.0/24"), []string{"east", "west"}},
	}}
	l := AcceleratorListener{EndpointGroups: []EndpointGroup{endpointGroupInRegion("east", 30, true), endpointGroupInRegion("west", 30, true)}}
	for coast, nearest := range map[string]string{"198.51.100": "west", "203.0.113": "east"} {
		var list []anycastFlow
		for i := range 10_000 {
			list = append(list, flowOf(fmt.Sprintf("%s.%d:%d", coast, i%250, 1024+i)))
		}
		for region, percent := range percentByEndpoint(t, l, d, list) {
			want := 70.0
			if region == nearest {
				want = 30
			}
			if math.Abs(percent-want) > 3 {
				t.Errorf("%.1f %% of %s go to %s", percent, coast, region)
			}
		}
	}
	if got := d.OrderRegions(netip.MustParseAddr("198.51.100.1"), []string{"east", "west", "north"}); !slices.Equal(got, []string{"west", "east", "north"}) {
		t.Errorf("order %v", got)
	}
}

func TestClientAffinityKeepsTheEndpoint(t *testing.T) {
	groups := []EndpointGroup{
		{Region: "a", TrafficDial: 50, Endpoints: weightedEndpoints(map[string]int{"u": 128, "v": 128, "w": 128})},
		{Region: "b", TrafficDial: 50, Endpoints: weightedEndpoints(map[string]int{"x": 128, "y": 128, "z": 128})},
	}
	differ := func(l AcceleratorListener, change func(*anycastFlow)) int {
		n := 0
		for _, f := range flowsFromClients(1000) {
			before, _ := l.chooseEndpoint(f, Distances{})
			change(&f)
			after, _ := l.chooseEndpoint(f, Distances{})
			if before.endpoint.ID != after.endpoint.ID {
				n++
			}
		}
		return n
	}
	changes := map[string]func(*anycastFlow){
		"port of the client":   func(f *anycastFlow) { f.client = netip.AddrPortFrom(f.client.Addr(), f.client.Port()+1) },
		"port of the listener": func(f *anycastFlow) { f.destination = netip.AddrPortFrom(f.destination.Addr(), 80) },
		"protocol":             func(f *anycastFlow) { f.udp = true },
		"static address":       func(f *anycastFlow) { f.destination = netip.MustParseAddrPort("99.83.3.4:443") },
		"nothing":              func(*anycastFlow) {},
	}
	for name, change := range changes {
		together := name == "nothing"
		if n := differ(AcceleratorListener{EndpointGroups: groups}, change); (n == 0) != together {
			t.Errorf("%s: without affinity %d of 1000 flows move", name, n)
		}
		together = together || name != "static address"
		if n := differ(AcceleratorListener{EndpointGroups: groups, ClientAffinity: true}, change); (n == 0) != together {
			t.Errorf("%s: with affinity %d of 1000 flows move", name, n)
		}
	}
}

func TestWeightChangeMovesFewFlows(t *testing.T) {
	before := AcceleratorListener{EndpointGroups: []EndpointGroup{{Region: "a", TrafficDial: 100, Endpoints: weightedEndpoints(map[string]int{"x": 100, "y": 100})}}}
	moved := func(weights map[string]int) int {
		after := AcceleratorListener{EndpointGroups: []EndpointGroup{{Region: "a", TrafficDial: 100, Endpoints: weightedEndpoints(weights)}}}
		n := 0
		for _, f := range flowsFromClients(3000) {
			a, _ := before.chooseEndpoint(f, Distances{})
			b, _ := after.chooseEndpoint(f, Distances{})
			if a.endpoint.ID != b.endpoint.ID {
				n++
			}
		}
		return n
	}
	if n := moved(map[string]int{"x": 100, "y": 100, "z": 0}); n != 0 {
		t.Errorf("%d flows move to an endpoint of weight 0", n)
	}
	if n := moved(map[string]int{"x": 100, "y": 100, "z": 100}); n < 900 || n > 1100 {
		t.Errorf("%d of 3000 flows move to a third endpoint, want those that it gets", n)
	}
}

func TestPortOverrideChangesThePort(t *testing.T) {
	g := endpointGroupInRegion("a", 100, true)
	g.PortOverrides = map[uint16]uint16{443: 8443}
	l := AcceleratorListener{EndpointGroups: []EndpointGroup{g}}
	f := flowOf("192.0.2.1:1024")
	for port, want := range map[uint16]uint16{443: 8443, 80: 80} {
		f.destination = netip.AddrPortFrom(f.destination.Addr(), port)
		if c, ok := l.chooseEndpoint(f, Distances{}); !ok || c.port != want {
			t.Errorf("port %d leads to %d, want %d", port, c.port, want)
		}
	}
}
