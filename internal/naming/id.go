package naming

import (
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// IngressTargetGroupID returns the id in the model of a target group of an Ingress stack. The Service is in the namespace of
// the Ingress. port is the number or name of the port in the backend.
func IngressTargetGroupID(ns, ingress, service, port string) string {
	return shorten(ns+"/"+ingress+"-"+service+":"+port, MaxTagValue)
}

// IsTargetGroupOf reports whether id may be the id of a target group for rules of an object: an Ingress, the Service or
// Gateway of a stack, or a route of a Gateway. If Ingresses "a" and "a-b" exist in a namespace, the result for "a" may be
// true for a target group of "a-b". The result is never true for an Ingress of another namespace.
func IsTargetGroupOf(id string, ref finding.Ref) bool {
	end := ":"
	switch ref.Kind {
	case string(model.Ingress):
		end = "-"
	case "HTTPRoute", "GRPCRoute", "TCPRoute", "UDPRoute", "TLSRoute":
		gateway, _, _ := strings.Cut(id, ":")
		return mayHavePrefix(id, gateway+":"+ref.Namespace+"-"+ref.Name+":"+ref.Kind+"-")
	}
	return mayHavePrefix(id, ref.Namespace+"/"+ref.Name+end)
}

// mayHavePrefix reports whether id, which may be shortened, may be the id of a resource whose full id begins with begin.
func mayHavePrefix(id, begin string) bool {
	const kept = MaxTagValue - 9 - 11 // length of the beginning that neither shorten nor DistinctID changes
	return strings.HasPrefix(id, begin) || len(id) == MaxTagValue && len(begin) > kept && id[:kept] == begin[:kept]
}

// MayBeShortened reports whether an id is so long that it may have been shortened.
func MayBeShortened(id string) bool { return len(id) >= MaxTagValue }

// TargetGroupMayServe reports whether id may be the id of a target group for a Service, in a stack of the given kind. It is
// false for an id that was shortened so much that the name of the Service is not in it.
func TargetGroupMayServe(kind model.Kind, id, namespace, service string) bool {
	if kind.IsGateway() {
		return strings.Contains(id, "Route-"+namespace+"-"+service+":")
	}
	return strings.HasPrefix(id, namespace+"/") && strings.Contains(id, service+":")
}

// DistinctID returns another id for a resource whose id would be the same as that of another resource. parts are the texts
// in which the two resources differ.
func DistinctID(id string, parts ...string) string {
	return shorten(id, MaxTagValue-9) + ":" + hexHash(strings.Join(parts, "\x00"))[:8]
}

// ServiceTargetGroupID returns the id in the model of a target group of a Service stack. port is the number of the Service
// port.
func ServiceTargetGroupID(ns, service string, port int32) string {
	return shorten(ns+"/"+service+":"+formatNumber(port), MaxTagValue)
}

// GatewayTargetGroupID returns the id in the model of a target group of a Gateway stack. port is the number or name of the
// port in the backend.
func GatewayTargetGroupID(gateway, route, backend finding.Ref, port string) string {
	return shorten(gateway.Namespace+"/"+gateway.Name+":"+route.Namespace+"-"+route.Name+":"+route.Kind+"-"+
		backend.Namespace+"-"+backend.Name+":"+port, MaxTagValue)
}

// FrontendTargetGroupID returns the id in the model of the target group to which a port of a frontend NLB forwards.
func FrontendTargetGroupID(port int32) string {
	return model.FrontendNLBID + "-tg-TCP-" + formatNumber(port)
}

// FrontendListenerID returns the id in the model of the listener on a port of a frontend NLB.
func FrontendListenerID(port int32) string {
	return model.FrontendNLBID + "-ls-TCP-" + formatNumber(port)
}

// ListenerID returns the id in the model of the listener on a port.
func ListenerID(port int32) string { return formatNumber(port) }

// RuleID returns the id in the model of a listener rule.
func RuleID(port, priority int32) string { return formatNumber(port) + ":" + formatNumber(priority) }

// GatewayTargetGroupParts are the objects that the id of a target group of a Gateway stack names. A hyphen joins namespace
// and name of each object in the id. If namespace or name contain hyphens, the id can mean several objects.
type GatewayTargetGroupParts struct {
	// Routes and Backends are all possible routes and backends.
	Routes, Backends []finding.Ref
	Port             string // number or name of the port in the backend
}

// GatewayTargetGroupPartsOf parses the id of a target group of a Gateway stack; false if id is no such id, or if it was
// shortened.
func GatewayTargetGroupPartsOf(id string) (out GatewayTargetGroupParts, ok bool) {
	parts := strings.Split(id, ":")
	if len(parts) < 4 { // a fifth part is the hash of DistinctID
		return out, false
	}
	kind, backend, ok := strings.Cut(parts[2], "-")
	return GatewayTargetGroupParts{Routes: possibleObjects(kind, parts[1]), Backends: possibleObjects("", backend), Port: parts[3]}, ok
}

// RoutesWithSameIDs returns all other possible routes whose target groups can have the same ids as the target groups of the
// given route.
func RoutesWithSameIDs(route finding.Ref) []finding.Ref {
	return slices.DeleteFunc(possibleObjects(route.Kind, route.Namespace+"-"+route.Name), func(r finding.Ref) bool { return r == route })
}

// possibleObjects returns all objects of a kind whose namespace and name give the text joined if a hyphen joins them.
func possibleObjects(kind, joined string) (out []finding.Ref) {
	for i, c := range joined {
		if c == '-' && i > 0 && i < len(joined)-1 {
			out = append(out, finding.Ref{Kind: kind, Namespace: joined[:i], Name: joined[i+1:]})
		}
	}
	return out
}

// TargetGroupMayBeOfRoute reports whether id, which may be shortened, may be the id of a target group for a route of a
// Gateway.
func TargetGroupMayBeOfRoute(id string, gateway, route finding.Ref) bool {
	return mayHavePrefix(id, gateway.Namespace+"/"+gateway.Name+":"+route.Namespace+"-"+route.Name+":"+route.Kind+"-")
}

// BackendNamespaces returns the possible namespaces of the backend of a target group of a Gateway stack, according to the id
// of the target group. There may be several, because a hyphen joins namespace and name in the id.
func BackendNamespaces(id string) []string {
	parts, _ := GatewayTargetGroupPartsOf(id)
	var out []string
	for _, b := range parts.Backends {
		out = append(out, b.Namespace)
	}
	return out
}

// ServiceNamespaces returns the possible namespaces of the Service of a target group, according to the id of the target
// group. The stack may be of any kind.
func ServiceNamespaces(id string) []string {
	if of := BackendNamespaces(id); of != nil {
		return of
	}
	return namespacesOfID(id)
}

// TargetGroupMayServeNamespace reports whether id may be the id of a target group for a Service in a namespace. The stack may
// be of any kind. If id was shortened so much that the Service is not in it, the Service may be in the namespace of the
// Gateway or of the route.
func TargetGroupMayServeNamespace(id, namespace string) bool {
	of := ServiceNamespaces(id)
	return of == nil || slices.Contains(of, namespace) ||
		MayBeShortened(id) && (strings.Contains(id, ":"+namespace+"-") || strings.Contains(id, "Route-"+namespace+"-"))
}

// ObjectNamespaces returns the possible namespaces of the Ingress, Service or route of a target group, according to the id
// of the target group. The stack may be of any kind.
func ObjectNamespaces(id string) (out []string) {
	parts, ofRoute := GatewayTargetGroupPartsOf(id)
	if !ofRoute {
		return namespacesOfID(id)
	}
	for _, r := range parts.Routes {
		out = append(out, r.Namespace)
	}
	return out
}

// namespacesOfID returns the namespace at the beginning of the id of a target group of an Ingress or Service stack; nil if
// there is none.
func namespacesOfID(id string) []string {
	if namespace, _, ok := strings.Cut(id, "/"); ok {
		return []string{namespace}
	}
	return nil
}

// CertificateID returns the id in the model of a certificate that the controller requests for an Ingress. kind is
// amazon_issued or private; host is the first host of the certificate in lexical order.
func CertificateID(kind string, ingress finding.Ref, host string) string {
	domain := host
	if len(host) > 0 && host[0] == '*' {
		domain = "wildcard" + host[1:]
	}
	return shorten(kind+"/"+domain+"-"+hexHash(ingress.Namespace, "/", ingress.Name)[:8], MaxTagValue)
}

// importedCertificatePrefix is the prefix of the ids of certificates that the controller imports.
const importedCertificatePrefix = "imported/"

// ImportedCertificateID returns the id in the model of a certificate that the controller imports from the Secret with the
// given namespace and name.
func ImportedCertificateID(namespace, name string) string {
	return shorten(importedCertificatePrefix+namespace+"/"+name, MaxTagValue)
}

// SecretOfImport returns the Secret from which a certificate was imported, as "namespace/name", according to the id of the
// certificate; false if it was not imported. A name that is too long for an id is shortened.
func SecretOfImport(id string) (secret string, ok bool) {
	return strings.CutPrefix(id, importedCertificatePrefix)
}

// NamespaceOfImport returns the namespace of the Secret from which a certificate was imported, according to the id of the
// certificate; false if it was not imported.
func NamespaceOfImport(id string) (namespace string, ok bool) {
	rest, ok := strings.CutPrefix(id, importedCertificatePrefix)
	namespace, _, _ = strings.Cut(rest, "/")
	return namespace, ok
}

// IsImportedFrom reports whether a certificate was imported from a Secret in a namespace, according to the id of the
// certificate.
func IsImportedFrom(id, namespace string) bool {
	return strings.HasPrefix(id, importedCertificatePrefix+namespace+"/")
}
