package attach

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// The methods of Result in this file report what the routes of a namespace may use of a Gateway. The answers do not depend
// on the content of the routes, nor on whether the routes are valid.

// MayServe reports whether routes of a kind and namespace may serve a hostname on a port: the most specific valid listener
// of the port that matches all requests for the hostname must admit them. "" is the hostname of rules for any host. If no
// listener of the port matches the hostname, no route may serve it.
func (r Result) MayServe(namespace string, kind cluster.Kind, port int32, host string) bool {
	e := r.evaluation
	table := &hostTable{hasHost: map[string]bool{}}
	for i := range e.out.Listeners {
		if l := &e.out.Listeners[i]; l.IsValid() && int32(l.Spec.Port) == port {
			table.hasHost[l.Hostname()] = true
		}
	}
	owner := table.owningHost(host)
	for i := range e.out.Listeners {
		l := &e.out.Listeners[i]
		// Live rules of routes of a duplicate of a listener without hostname are held, see Listener.IsDuplicate.
		if (l.IsValid() || l.IsDuplicate && owner == "") && int32(l.Spec.Port) == port && l.Hostname() == owner && r.listenerAdmits(i, namespace, kind) {
			return true
		}
	}
	return false
}

// MoreSpecificHosts returns the hostnames of valid listeners of a port that match some of the requests for a hostname. ""
// means any hostname.
func (r Result) MoreSpecificHosts(port int32, host string) (out []string) {
	for i := range r.Listeners {
		if l := &r.Listeners[i]; l.IsValid() && int32(l.Spec.Port) == port && coversHost(host, l.Hostname()) {
			out = append(out, l.Hostname())
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// MayUsePort reports whether a valid listener of a port, with any hostname, admits routes of a kind and namespace.
func (r Result) MayUsePort(namespace string, kind cluster.Kind, port int32) bool {
	for i := range r.Listeners {
		if l := &r.Listeners[i]; l.IsValid() && int32(l.Spec.Port) == port && r.listenerAdmits(i, namespace, kind) {
			return true
		}
	}
	return false
}

// HasListener reports whether there is a valid listener with a port and a protocol.
func (r Result) HasListener(port int32, protocol gatewayv1.ProtocolType) bool {
	return slices.ContainsFunc(r.Listeners, func(l Listener) bool { return l.IsValid() && int32(l.Spec.Port) == port && l.Spec.Protocol == protocol })
}

// MayUseSecret reports whether a valid listener of a port may refer to a Secret with a certificate for domains, one of which
// matches the hostname of the listener. If the domains are not known, they are treated as matching.
func (r Result) MayUseSecret(port int32, secret SecretRef, domains []string) bool {
	for i := range r.Listeners {
		l := &r.Listeners[i]
		if !l.IsValid() || int32(l.Spec.Port) != port || len(domains) > 0 && !slices.ContainsFunc(domains, func(d string) bool { return mayMatchDomain(l.Hostname(), d) }) {
			continue
		}
		from := Referrer{gatewayv1.GroupName, l.Parent.Kind, l.Parent.Namespace}
		if r.Grants.Permits(from, Referent{"", string(cluster.KindSecret), secret.Namespace, secret.Name}) {
			return true
		}
	}
	return false
}

// mayMatchDomain reports whether some hosts match both the hostname of a listener and a domain of a certificate.
func mayMatchDomain(hostname, domain string) bool {
	_, ok := compatibleHosts(hostname, []string{domain})
	return ok
}

// listenerAdmits reports whether a listener admits routes of a kind and namespace. A namespace that is not found cannot have
// been deleted, because it has routes: its labels are only not known yet, so the permission is not withdrawn.
func (r Result) listenerAdmits(listener int, namespace string, kind cluster.Kind) bool {
	e := r.evaluation
	s := e.namespaces[listener]
	known := s.from != gatewayv1.NamespacesFromSelector || e.labelsOf(namespace).exists
	return (!known || e.isNamespaceSelected(s, namespace)) && allowsKind(e.out.Listeners[listener].Kinds, kind)
}
