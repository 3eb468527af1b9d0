package attach

import (
	"maps"
	"slices"
	"strings"
)

// PortRoute is a route that is attached to valid listeners of a port.
type PortRoute struct {
	// Route is the index in Result.Routes.
	Route int
	// Listeners are the indexes in Result.Listeners, in ascending order, of the valid listeners of the port to which the
	// route is attached.
	Listeners []int
	// Hostnames are the hostnames of the route on the port, sorted. "" means any hostname. There is at least one.
	Hostnames []string
	// IsolatedHostnames are the elements of Hostnames that the route does not serve: a more specific listener of the
	// port gets all requests for them, and the route is not attached to it. Listener isolation in the Gateway API
	// requires this.
	IsolatedHostnames []string
	// CoveredHostnames are the hostnames of more specific listeners of the port to which the route is not attached, but
	// which get some of the requests for Hostnames.
	CoveredHostnames []string
}

// Ports returns the ports of valid listeners in ascending order.
func (r Result) Ports() []int32 {
	all := map[int32]bool{}
	for _, l := range r.Listeners {
		if l.IsValid() {
			all[l.Spec.Port] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// RoutesOnPort returns the routes that are attached to valid listeners of a port, in the order of Routes.
func (r Result) RoutesOnPort(port int32) []PortRoute { return r.routesByPort[port] }

// portHosts has the listeners of one port to which a route is attached, and the hostnames of the route on the port.
type portHosts struct {
	listeners []int
	hosts     map[string]bool
}

func (e *evaluation) portRoutes() map[int32][]PortRoute {
	out := map[int32][]PortRoute{}
	for n, r := range e.out.Routes {
		byPort := map[int32]*portHosts{}
		for _, p := range r.Parents {
			for _, a := range p.Attachments {
				e.addPortHosts(byPort, a)
			}
		}
		for _, port := range slices.Sorted(maps.Keys(byPort)) {
			out[port] = append(out[port], e.portRoute(n, byPort[port], e.hostTables[port]))
		}
	}
	return out
}

func (e *evaluation) addPortHosts(byPort map[int32]*portHosts, a Attachment) {
	l := &e.out.Listeners[a.Listener]
	if !l.IsValid() {
		return
	}
	s := byPort[l.Spec.Port]
	if s == nil {
		s = &portHosts{hosts: map[string]bool{}}
		byPort[l.Spec.Port] = s
	}
	if slices.Contains(s.listeners, a.Listener) {
		return
	}
	s.listeners = append(s.listeners, a.Listener)
	for _, h := range a.HostnamesOrAny() {
		s.hosts[h] = true
	}
}

// hostTable has the hostnames of the valid listeners of one port.
type hostTable struct {
	hosts        []string // sorted, without ""
	hasHost      map[string]bool
	moreSpecific map[string][]string // cached results of moreSpecificHosts
	// listeners has the indexes in Result.Listeners of the listeners of the port by hostname. For hostname "", these include
	// duplicates (Listener.IsDuplicate), because existing rules for their routes are held.
	listeners map[string][]int
}

// newHostTables returns the hostTable of each port that has a valid listener.
func (e *evaluation) newHostTables() map[int32]*hostTable {
	out := map[int32]*hostTable{}
	for i := range e.out.Listeners {
		l, h := &e.out.Listeners[i], e.out.Listeners[i].Hostname()
		if !l.IsValid() && (!l.IsDuplicate || h != "") {
			continue
		}
		t := out[l.Spec.Port]
		if t == nil {
			t = &hostTable{hasHost: map[string]bool{}, moreSpecific: map[string][]string{}, listeners: map[string][]int{}}
			out[l.Spec.Port] = t
		}
		t.listeners[h] = append(t.listeners[h], i)
		if h != "" {
			t.hasHost[h] = true
		}
	}
	for _, t := range out {
		t.hosts = slices.Sorted(maps.Keys(t.hasHost))
	}
	return out
}

// owningHost returns the hostname of the most specific listener that matches all requests for a hostname. It returns ""
// if only a listener without a hostname can match them.
func (t *hostTable) owningHost(host string) string {
	if t.hasHost[host] {
		return host
	}
	rest := strings.TrimPrefix(host, "*.")
	if rest == host {
		_, rest, _ = strings.Cut(host, ".")
	} else {
		_, rest, _ = strings.Cut(rest, ".")
	}
	for rest != "" {
		if t.hasHost["*."+rest] {
			return "*." + rest
		}
		_, rest, _ = strings.Cut(rest, ".")
	}
	return ""
}

// moreSpecificHosts returns the hostnames of listeners that match some, but not all, of the requests for a hostname.
func (t *hostTable) moreSpecificHosts(host string) []string {
	if host != "" && !strings.HasPrefix(host, "*.") {
		return nil
	}
	out, ok := t.moreSpecific[host]
	if !ok {
		for _, l := range t.hosts {
			if coversHost(host, l) {
				out = append(out, l)
			}
		}
		t.moreSpecific[host] = out
	}
	return out
}

// portRoute returns the PortRoute for the route with index n in Result.Routes. s has its listeners and hostnames on the
// port, and t the hostnames of all listeners of the port.
func (e *evaluation) portRoute(n int, s *portHosts, t *hostTable) PortRoute {
	out := PortRoute{Route: n, Listeners: slices.Sorted(slices.Values(s.listeners)), Hostnames: slices.Sorted(maps.Keys(s.hosts))}
	attached := map[string]bool{"": true} // hostnames of the listeners that the route is attached to
	for _, i := range s.listeners {
		attached[e.out.Listeners[i].Hostname()] = true
	}
	for _, h := range out.Hostnames {
		if !attached[t.owningHost(h)] {
			out.IsolatedHostnames = append(out.IsolatedHostnames, h)
			continue
		}
		below := t.moreSpecificHosts(h)
		if taken := func(l string) bool { return attached[l] }; slices.ContainsFunc(below, taken) {
			below = slices.DeleteFunc(slices.Clone(below), taken)
		}
		switch {
		case len(out.CoveredHostnames) == 0:
			out.CoveredHostnames = below // all routes with the hostname share this slice
		case len(below) > 0:
			merged := slices.Concat(out.CoveredHostnames, below)
			slices.Sort(merged)
			out.CoveredHostnames = slices.Compact(merged)
		}
	}
	return out
}
