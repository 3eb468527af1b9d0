package attach

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// rights answer what a namespace may have of a Gateway, whatever its routes ask for and whether or not they can be
// served.
type rights struct{ *evaluation }

// MayServe reports whether routes of a kind and namespace may serve a hostname on a port: the most specific valid
// listener of the port to which all requests for the hostname belong admits them. "" is the hostname of rules for any
// host. Where no listener of the port could serve the hostname, none may.
func (r Result) MayServe(namespace string, kind cluster.Kind, port int32, host string) bool {
	e := r.rights.evaluation
	table := &hostTable{has: map[string]bool{}}
	for i := range e.out.Listeners {
		if l := &e.out.Listeners[i]; l.Valid() && int32(l.Spec.Port) == port {
			table.has[l.Hostname()] = true
		}
	}
	owner := table.owner(host)
	for i := range e.out.Listeners {
		l := &e.out.Listeners[i]
		// What is live of a listener that repeats one without hostname is held, see Listener.Repeats.
		if (l.Valid() || l.Repeats && owner == "") && int32(l.Spec.Port) == port && l.Hostname() == owner && r.admits(i, namespace, kind) {
			return true
		}
	}
	return false
}

// MoreSpecificHosts returns the hostnames of valid listeners of a port to which a part of the requests for a hostname
// belongs. "" is any hostname.
func (r Result) MoreSpecificHosts(port int32, host string) (out []string) {
	for i := range r.Listeners {
		if l := &r.Listeners[i]; l.Valid() && int32(l.Spec.Port) == port && covers(host, l.Hostname()) {
			out = append(out, l.Hostname())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// MayUsePort reports whether a valid listener of a port admits routes of a kind and namespace, for whatever hostname.
func (r Result) MayUsePort(namespace string, kind cluster.Kind, port int32) bool {
	for i := range r.Listeners {
		if l := &r.Listeners[i]; l.Valid() && int32(l.Spec.Port) == port && r.admits(i, namespace, kind) {
			return true
		}
	}
	return false
}

// Listens reports whether a valid listener of a port has a protocol.
func (r Result) Listens(port int32, protocol gatewayv1.ProtocolType) bool {
	return slices.ContainsFunc(r.Listeners, func(l Listener) bool { return l.Valid() && int32(l.Spec.Port) == port && l.Spec.Protocol == protocol })
}

// MayUseSecret reports whether a valid listener of a port may refer to a Secret with a certificate for domains, of which
// one is in its hostname. Where the domains are not known, any may be.
func (r Result) MayUseSecret(port int32, secret Secret, domains []string) bool {
	for i := range r.Listeners {
		l := &r.Listeners[i]
		if !l.Valid() || int32(l.Spec.Port) != port || len(domains) > 0 && !slices.ContainsFunc(domains, func(d string) bool { return mayMatchDomain(l.Hostname(), d) }) {
			continue
		}
		from := From{gatewayv1.GroupName, l.Parent.Kind, l.Parent.Namespace}
		if r.Grants.Permits(from, To{"", string(cluster.KindSecret), secret.Namespace, secret.Name}) {
			return true
		}
	}
	return false
}

// mayMatchDomain reports whether requests for the hostname of a listener may be for a domain.
func mayMatchDomain(hostname, domain string) bool {
	_, ok := compatible(hostname, []string{domain})
	return ok
}

// admits reports whether a listener admits routes of a kind and namespace. A namespace that is not there has routes all
// the same, so that its labels are not known: that withdraws nothing.
func (r Result) admits(listener int, namespace string, kind cluster.Kind) bool {
	e := r.rights.evaluation
	s := e.namespaces[listener]
	known := s.from != gatewayv1.NamespacesFromSelector || e.labelsOf(namespace).exists
	return (!known || e.admits(s, namespace)) && allows(e.out.Listeners[listener].Kinds, kind)
}
