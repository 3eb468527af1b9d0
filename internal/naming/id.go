package naming

import (
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// tagValueLimit is AWS's limit of a tag value, in characters. Ids are tag values.
const tagValueLimit = 256

// IngressTargetGroupID returns the logical id of a target group of an Ingress stack. The Service lives
// in the Ingress' namespace, and port is as referenced: a number or a name.
func IngressTargetGroupID(ns, ingress, service, port string) string {
	return shorten(ns+"/"+ingress+"-"+service+":"+port, tagValueLimit)
}

// IsTargetGroupOf reports whether a logical id is one of a target group that rules of an object use: an
// Ingress, the Service or Gateway that a stack is of, or a route of a Gateway. Two Ingresses of one namespace can
// share ids, if the name of one begins with the other's and a hyphen; Ingresses of different namespaces cannot.
func IsTargetGroupOf(id string, ref finding.Ref) bool {
	end := ":"
	switch ref.Kind {
	case string(model.Ingress):
		end = "-"
	case "HTTPRoute", "GRPCRoute", "TCPRoute", "UDPRoute", "TLSRoute":
		return strings.Contains(id, ":"+ref.Namespace+"-"+ref.Name+":"+ref.Kind+"-")
	}
	return strings.HasPrefix(id, shorten(ref.Namespace+"/"+ref.Name+end, tagValueLimit))
}

// Shortened reports whether a logical id may have been shortened, so that not all of it shows.
func Shortened(id string) bool { return len(id) >= tagValueLimit }

// TargetGroupMayServe reports whether a logical id of a target group can be that of one for a Service. An id that was shortened
// is of none, if the Service is not in what is left of it.
func TargetGroupMayServe(kind model.Kind, id, namespace, service string) bool {
	if kind.OfGateway() {
		return strings.Contains(id, "Route-"+namespace+"-"+service+":")
	}
	return strings.HasPrefix(id, namespace+"/") && strings.Contains(id, service+":")
}

// DistinctID returns an id for a resource that would otherwise have the id of another; parts are what the
// two differ in.
func DistinctID(id string, parts ...string) string {
	return shorten(id, tagValueLimit-9) + ":" + hexHash(strings.Join(parts, "\x00"))[:8]
}

// ServiceTargetGroupID returns the logical id of a target group of a Service stack.
func ServiceTargetGroupID(ns, service string, port int32) string {
	return shorten(ns+"/"+service+":"+number(port), tagValueLimit)
}

// GatewayTargetGroupID returns the logical id of a target group of a Gateway stack; port is the port
// that identifies the backend.
func GatewayTargetGroupID(gateway, route, backend finding.Ref, port string) string {
	return shorten(gateway.Namespace+"/"+gateway.Name+":"+route.Namespace+"-"+route.Name+":"+route.Kind+"-"+
		backend.Namespace+"-"+backend.Name+":"+port, tagValueLimit)
}

// FrontendTargetGroupID returns the logical id of the target group behind a frontend NLB's port.
func FrontendTargetGroupID(port int32) string { return model.FrontendNLBID + "-tg-TCP-" + number(port) }

// FrontendListenerID returns the logical id of a frontend NLB's listener.
func FrontendListenerID(port int32) string { return model.FrontendNLBID + "-ls-TCP-" + number(port) }

// ListenerID returns the logical id of a listener.
func ListenerID(port int32) string { return number(port) }

// RuleID returns the logical id of a listener rule.
func RuleID(port, priority int32) string { return number(port) + ":" + number(priority) }

// GatewayTargetGroupParts are the names in the logical id of a target group of a Gateway stack. The id joins
// namespaces and names by hyphens, so that it may mean several objects.
type GatewayTargetGroupParts struct {
	// Routes and Backends may be any of these, by namespace and name.
	Routes, Backends []finding.Ref
}

// GatewayTargetGroupPartsOf takes the logical id of a target group of a Gateway stack apart; false where it is none, or
// was shortened.
func GatewayTargetGroupPartsOf(id string) (out GatewayTargetGroupParts, ok bool) {
	parts := strings.Split(id, ":")
	if len(parts) < 4 { // and one more where the id had to be made distinct
		return out, false
	}
	kind, backend, ok := strings.Cut(parts[2], "-")
	return GatewayTargetGroupParts{Routes: possibleObjects(kind, parts[1]), Backends: possibleObjects("", backend)}, ok
}

// possibleObjects returns the objects that a namespace and a name joined by a hyphen may mean.
func possibleObjects(kind, joined string) (out []finding.Ref) {
	for i, c := range joined {
		if c == '-' && i > 0 && i < len(joined)-1 {
			out = append(out, finding.Ref{Kind: kind, Namespace: joined[:i], Name: joined[i+1:]})
		}
	}
	return out
}

// MayBeOfRoute reports whether a logical id, which may be shortened, can be one of a target group of a route on a Gateway.
func MayBeOfRoute(id string, gateway, route finding.Ref) bool {
	begin := gateway.Namespace + "/" + gateway.Name + ":" + route.Namespace + "-" + route.Name + ":" + route.Kind + "-"
	const kept = tagValueLimit - 11 // of a text that is shortened, see fit
	if len(id) == tagValueLimit && len(begin) > kept {
		return id[:kept] == begin[:kept]
	}
	return strings.HasPrefix(id, begin)
}

// BackendNamespaces returns the namespaces of which one has the backend of a target group of a Gateway stack, by its
// logical id. The id does not show where the namespace ends and the name begins.
func BackendNamespaces(id string) []string {
	parts, _ := GatewayTargetGroupPartsOf(id)
	var out []string
	for _, b := range parts.Backends {
		out = append(out, b.Namespace)
	}
	return out
}

// ServiceNamespaces returns the namespaces of which one has the Service of a target group, by its logical id in a stack
// of any kind.
func ServiceNamespaces(id string) []string {
	if of := BackendNamespaces(id); of != nil {
		return of
	}
	return namespacesOfID(id)
}

// ObjectNamespaces returns the namespaces of which one has the Ingress, Service or route that a target group was made
// for, by its logical id.
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

// namespacesOfID returns the namespace with which the id of a target group of an Ingress or a Service begins.
func namespacesOfID(id string) []string {
	if namespace, _, ok := strings.Cut(id, "/"); ok {
		return []string{namespace}
	}
	return nil
}

// CertificateID returns the logical id of a certificate that the controller requests for an Ingress;
// kind is amazon_issued or private, host the first of its hosts in lexical order.
func CertificateID(kind string, ingress finding.Ref, host string) string {
	domain := host
	if len(host) > 0 && host[0] == '*' {
		domain = "wildcard" + host[1:]
	}
	return shorten(kind+"/"+domain+"-"+hexHash(ingress.Namespace, "/", ingress.Name)[:8], tagValueLimit)
}

// importedCertificate begins the ids of certificates that the controller imports.
const importedCertificate = "imported/"

// ImportedCertificateID returns the logical id of a certificate that the controller imports from a Secret.
func ImportedCertificateID(namespace, name string) string {
	return shorten(importedCertificate+namespace+"/"+name, tagValueLimit)
}

// SecretOfImport returns namespace and name, with a slash between them, of the Secret that a certificate was imported from,
// by its logical id. A name that is too long for an id is cut.
func SecretOfImport(id string) (secret string, ok bool) {
	return strings.CutPrefix(id, importedCertificate)
}

// NamespaceOfImport returns the namespace of the Secret that a certificate was imported from, by its logical id.
func NamespaceOfImport(id string) (namespace string, ok bool) {
	rest, ok := strings.CutPrefix(id, importedCertificate)
	namespace, _, _ = strings.Cut(rest, "/")
	return namespace, ok
}

// ImportedFrom reports whether a certificate was imported from a Secret of a namespace, by its logical id.
func ImportedFrom(id, namespace string) bool {
	return strings.HasPrefix(id, importedCertificate+namespace+"/")
}
