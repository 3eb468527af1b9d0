package rules

import (
	"cmp"
	"fmt"
	"slices"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
)

// portSpan is a port range with the indexes of its listener and of the range in this listener.
type portSpan struct {
	from, to        int32
	listener, index int
}

func (s portSpan) field() string {
	return fmt.Sprintf("%s.portRanges[%d]", listenerPath(s.listener), s.index)
}

func (s portSpan) String() string {
	if s.from == s.to {
		return fmt.Sprint(s.from)
	}
	return fmt.Sprintf("%d-%d", s.from, s.to)
}

// portSpans are port ranges, sorted by their first port.
type portSpans struct {
	sorted []portSpan
	// widest has, for each index of sorted, the port range with the highest last port up to that index.
	widest []portSpan
}

// portSpansOf returns the valid port ranges of the listeners for which the function counts returns true.
func portSpansOf(s Subject, counts func(aga.Listener) bool) portSpans {
	var out portSpans
	for i, l := range s.Spec.Listeners {
		if !counts(l) {
			continue
		}
		for k, r := range l.PortRanges {
			if r.FromPort <= r.ToPort {
				out.sorted = append(out.sorted, portSpan{r.FromPort, r.ToPort, i, k})
			}
		}
	}
	slices.SortStableFunc(out.sorted, func(a, b portSpan) int { return cmp.Compare(a.from, b.from) })
	out.widest = slices.Clone(out.sorted)
	for i := 1; i < len(out.widest); i++ {
		if out.widest[i-1].to >= out.widest[i].to {
			out.widest[i] = out.widest[i-1]
		}
	}
	return out
}

// spanContaining returns a port range that contains a port, or false if there is none.
func (s portSpans) spanContaining(port int32) (portSpan, bool) {
	n, _ := slices.BinarySearchFunc(s.sorted, port, func(r portSpan, p int32) int {
		if r.from <= p {
			return -1
		}
		return 1
	})
	if n == 0 || s.widest[n-1].to < port {
		return portSpan{}, false
	}
	return s.widest[n-1], true
}

// overlappingPairs returns a pair for each port range that overlaps other port ranges: this port range and one of the
// others. The pairs are in the order of the spec.
func (s portSpans) overlappingPairs() [][2]portSpan {
	var out [][2]portSpan
	for i, r := range s.sorted {
		switch {
		case i > 0 && s.widest[i-1].to >= r.from:
			out = append(out, [2]portSpan{r, s.widest[i-1]})
		case i+1 < len(s.sorted) && s.sorted[i+1].from <= r.to:
			out = append(out, [2]portSpan{r, s.sorted[i+1]})
		}
	}
	slices.SortFunc(out, func(a, b [2]portSpan) int {
		return cmp.Or(cmp.Compare(a[0].listener, b[0].listener), cmp.Compare(a[0].index, b[0].index))
	})
	return out
}

// overlappingPortRanges returns a violation for each port range that overlaps another one of the same protocol.
// Listeners without a protocol are not checked, because their endpoint determines the protocol.
func overlappingPortRanges(s Subject) (out []Violation) {
	for _, protocol := range []aga.Protocol{aga.ProtocolTCP, aga.ProtocolUDP} {
		for _, pair := range portSpansOf(s, func(l aga.Listener) bool { return l.Protocol == protocol }).overlappingPairs() {
			r, other := pair[0], pair[1]
			out = append(out, Violation{
				Check: OverlappingPortRanges, Field: r.field(), Value: r.String(), identity: string(protocol) + " " + r.String(),
				Message: fmt.Sprintf("%s ports %q overlap %s ports %q of %s", protocol, r, protocol, other, other.field()),
				Fix:     "a port of a protocol can be in only one range; change one of the ranges",
			})
		}
	}
	return out
}

func overridePath(i, j, k int) string {
	return fmt.Sprintf("%s.portOverrides[%d]", endpointGroupPath(i, j), k)
}

// duplicateOverrides returns a violation for each port that an earlier override of the same endpoint group already has.
func duplicateOverrides(s Subject) (out []Violation) {
	eachEndpointGroup(s, func(i, j int, group *aga.EndpointGroup) {
		listener, endpoint := map[int32]int{}, map[int32]int{}
		note := func(first map[int32]int, k int, port int32, name string) {
			at, twice := first[port]
			if !twice {
				first[port] = k
				return
			}
			out = append(out, Violation{
				Check: DuplicateOverrides, Field: overridePath(i, j, k) + "." + name, Value: fmt.Sprint(port), identity: fmt.Sprintf("%s %d", name, port),
				Message: fmt.Sprintf("%s %q is already used by portOverrides[%d]", name, fmt.Sprint(port), at), Fix: "remove one of the overrides",
			})
		}
		for k, o := range group.PortOverrides {
			note(listener, k, o.ListenerPort, "listenerPort")
			note(endpoint, k, o.EndpointPort, "endpointPort")
		}
	})
	return out
}

// invalidPortOverrides returns violations for port overrides whose listener port is not a port of the listener, or whose
// endpoint port is a port of a listener or is in an override of another listener. For listeners without port ranges, the
// listener port is not checked, because their endpoint determines the ports.
func invalidPortOverrides(s Subject) (out []Violation) {
	all := portSpansOf(s, func(aga.Listener) bool { return true })
	type use struct{ listener, group, index int }
	used := map[int32]use{} // first override by endpoint port
	add := func(i, j, k int, name string, port int32, message, fix string) {
		out = append(out, Violation{
			Check: PortOverrides, Field: overridePath(i, j, k) + "." + name, Value: fmt.Sprint(port), identity: fmt.Sprintf("%s %d", name, port), IsAdvice: true,
			Message: fmt.Sprintf("%s %q %s", name, fmt.Sprint(port), message), Fix: fix,
		})
	}
	eachEndpointGroup(s, func(i, j int, group *aga.EndpointGroup) {
		for k, o := range group.PortOverrides {
			ranges := s.Spec.Listeners[i].PortRanges
			if len(ranges) > 0 && !slices.ContainsFunc(ranges[:min(len(ranges), MaxPortRanges)], func(r aga.PortRange) bool { return r.FromPort <= o.ListenerPort && o.ListenerPort <= r.ToPort }) {
				add(i, j, k, "listenerPort", o.ListenerPort, "is not in the port ranges of its listener", "set a port of the listener")
			}
			if r, in := all.spanContaining(o.EndpointPort); in {
				add(i, j, k, "endpointPort", o.EndpointPort, "is in "+r.field()+", and no listener of the accelerator may have this port", "use another port")
			}
			first, again := used[o.EndpointPort]
			if !again {
				used[o.EndpointPort] = use{i, j, k}
			} else if first.listener != i {
				add(i, j, k, "endpointPort", o.EndpointPort, "is used by "+overridePath(first.listener, first.group, first.index)+" of another listener", "use another port")
			}
		}
	})
	return out
}
