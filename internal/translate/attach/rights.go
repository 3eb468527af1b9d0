package attach

import (
	"slices"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// The methods of Result in this file report which hostnames, ports and Secrets of a Gateway the routes of a namespace
// may use. The results do not depend on the content of the routes.

// MayServe reports whether routes of a kind and namespace may serve a hostname on a port. The most specific valid
// listener of the port that matches all requests for the hostname must admit the routes. host is "" for rules for any
// host. If no listener of the port matches the hostname, no route may serve it.
func (r Result) MayServe(namespace string, kind cluster.Kind, port int32, host string) bool {
	t := r.evaluation.hostTables[port]
	return t != nil && slices.ContainsFunc(t.listeners[t.owningHost(host)], func(i int) bool { return r.listenerAdmits(i, namespace, kind) })
}

// MoreSpecificHosts returns the hostnames of valid listeners of a port that match some, but not all, of the requests for
// host. "" means any hostname.
func (r Result) MoreSpecificHosts(port int32, host string) []string {
	if t := r.evaluation.hostTables[port]; t != nil {
		return t.moreSpecificHosts(host)
	}
	return nil
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

// MayUseSecret reports whether a valid listener of a port may refer to a Secret. domains are the domains of the
// certificate in the Secret, one of which must match the hostname of the listener. If domains is empty, they are unknown
// and not checked.
func (r Result) MayUseSecret(port int32, secret SecretRef, domains []string) bool {
	for i := range r.Listeners {
		l := &r.Listeners[i]
		if !l.IsValid() || int32(l.Spec.Port) != port || len(domains) > 0 && !slices.ContainsFunc(domains, func(d string) bool { return mayMatchDomain(l.Hostname(), d) }) {
			continue
		}
		from := Referrer{gatewayv1.GroupName, l.Parent.Kind, l.Parent.Namespace}
		if r.Grants.Permits(from, Referent{"", cluster.KindSecret, secret.Namespace, secret.Name}) {
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

// listenerAdmits reports whether a listener admits routes of a kind and namespace. A namespace with routes cannot have been
// deleted. So if the namespace is not found, its labels are not known yet, and it counts as admitted by a label selector.
func (r Result) listenerAdmits(listener int, namespace string, kind cluster.Kind) bool {
	e := r.evaluation
	s := e.namespaces[listener]
	known := s.from != gatewayv1.NamespacesFromSelector || e.labelsOf(namespace).exists
	return (!known || e.isNamespaceSelected(s, namespace)) && allowsKind(e.out.Listeners[listener].RouteKinds, kind)
}
