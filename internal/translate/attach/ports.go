package attach

import (
	"maps"
	"slices"
	"strings"
)

// PortRoute is a route that valid listeners of a port serve.
type PortRoute struct {
	// Route is its place in Result.Routes.
	Route int
	// Listeners are the places in Result.Listeners of the valid listeners of the port that it is attached to, in order.
	Listeners []int
	// Hostnames are the hostnames of requests that the route serves on the port, in order; "" is any hostname. There is
	// at least one.
	Hostnames []string
	// Isolated are the hostnames, of Hostnames, that belong as a whole to a more specific listener of the port to which
	// the route is not attached. The Gateway API does not let the route serve them.
	Isolated []string
	// Covered are the hostnames of more specific listeners of the port to which the route is not attached and that a part
	// of the requests for the other Hostnames belongs to.
	Covered []string
}

// Ports returns the ports of valid listeners, in order.
func (r Result) Ports() []int32 {
	all := map[int32]bool{}
	for _, l := range r.Listeners {
		if l.Valid() {
			all[l.Spec.Port] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// OnPort returns the routes that valid listeners of a port serve, in the order of Routes.
func (r Result) OnPort(port int32) []PortRoute { return r.ports[port] }

// served is what listeners of one port contribute to a route: its hostnames by listener.
type served struct {
	listeners []int
	hosts     map[string]bool
}

func (e *evaluation) portRoutes() map[int32][]PortRoute {
	tables := e.hostTables()
	out := map[int32][]PortRoute{}
	for n, r := range e.out.Routes {
		byPort := map[int32]*served{}
		for _, p := range r.Parents {
			for _, a := range p.Attachments {
				e.serve(byPort, a)
			}
		}
		for _, port := range slices.Sorted(maps.Keys(byPort)) {
			out[port] = append(out[port], e.portRoute(n, byPort[port], tables[port]))
		}
	}
	return out
}

func (e *evaluation) serve(byPort map[int32]*served, a Attachment) {
	l := &e.out.Listeners[a.Listener]
	if !l.Valid() {
		return
	}
	s := byPort[l.Spec.Port]
	if s == nil {
		s = &served{hosts: map[string]bool{}}
		byPort[l.Spec.Port] = s
	}
	if slices.Contains(s.listeners, a.Listener) {
		return
	}
	s.listeners = append(s.listeners, a.Listener)
	hosts := a.Hostnames
	if len(hosts) == 0 {
		hosts = []string{""}
	}
	for _, h := range hosts {
		s.hosts[h] = true
	}
}

// hostTable are the hostnames of the valid listeners of one port.
type hostTable struct {
	all    []string // in order, without the empty one
	has    map[string]bool
	inside map[string][]string // what was asked of below
}

func (e *evaluation) hostTables() map[int32]*hostTable {
	out := map[int32]*hostTable{}
	for _, l := range e.out.Listeners {
		if !l.Valid() {
			continue
		}
		t := out[l.Spec.Port]
		if t == nil {
			t = &hostTable{has: map[string]bool{}, inside: map[string][]string{}}
			out[l.Spec.Port] = t
		}
		if h := l.Hostname(); h != "" {
			t.has[h] = true
		}
	}
	for _, t := range out {
		t.all = slices.Sorted(maps.Keys(t.has))
	}
	return out
}

// owner returns the hostname of the most specific listener to which all requests for a hostname belong; "" if only one
// without hostname takes them.
func (t *hostTable) owner(host string) string {
	if t.has[host] {
		return host
	}
	rest := strings.TrimPrefix(host, "*.")
	if rest == host {
		_, rest, _ = strings.Cut(host, ".")
	} else {
		_, rest, _ = strings.Cut(rest, ".")
	}
	for rest != "" {
		if t.has["*."+rest] {
			return "*." + rest
		}
		_, rest, _ = strings.Cut(rest, ".")
	}
	return ""
}

// moreSpecificHosts returns the hostnames of listeners to which a part of the requests for a hostname belongs.
func (t *hostTable) moreSpecificHosts(host string) []string {
	if host != "" && !strings.HasPrefix(host, "*.") {
		return nil
	}
	out, ok := t.inside[host]
	if !ok {
		for _, l := range t.all {
			if covers(host, l) {
				out = append(out, l)
			}
		}
		t.inside[host] = out
	}
	return out
}

// portRoute returns what of the hostnames of a route belongs to other listeners of the port.
func (e *evaluation) portRoute(n int, s *served, t *hostTable) PortRoute {
	out := PortRoute{Route: n, Listeners: slices.Sorted(slices.Values(s.listeners)), Hostnames: slices.Sorted(maps.Keys(s.hosts))}
	attached := map[string]bool{"": true} // hostnames of the listeners that the route is attached to
	for _, i := range s.listeners {
		attached[e.out.Listeners[i].Hostname()] = true
	}
	for _, h := range out.Hostnames {
		if !attached[t.owner(h)] {
			out.Isolated = append(out.Isolated, h)
			continue
		}
		below := t.moreSpecificHosts(h)
		if taken := func(l string) bool { return attached[l] }; slices.ContainsFunc(below, taken) {
			below = slices.DeleteFunc(slices.Clone(below), taken)
		}
		switch {
		case len(out.Covered) == 0:
			out.Covered = below // shared by all routes with this hostname
		case len(below) > 0:
			merged := slices.Concat(out.Covered, below)
			slices.Sort(merged)
			out.Covered = slices.Compact(merged)
		}
	}
	return out
}
