package targets

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Endpoint is one target to register: a port of a pod's address, or a node port of a node.
type Endpoint struct {
	ID   string // address or instance id
	Port int32
	Pod  *corev1.Pod  // nil for a node
	Node *corev1.Node // nil for a pod
	// ServerID is the QUIC server id, for targets of QUIC target groups; empty if the pod has none.
	ServerID string

	text string // the identity, once it is made
}

// Identity returns what an endpoint and a registered target are matched by: "id:port", and the QUIC
// server id where there is one. IPv6 addresses have no brackets.
func (e Endpoint) Identity() string {
	if e.text != "" {
		return e.text
	}
	return identity(e.ID, e.Port, e.ServerID)
}

// IdentityOf returns the identity of a registered target.
func IdentityOf(t *observed.Target) string { return identity(t.ID, t.Port, t.ServerID) }

// CanonicalIdentity brings an identity into the form in which equal addresses, and server ids, are
// equal texts.
func CanonicalIdentity(s string) string {
	rest, server := s, ""
	if i := strings.LastIndexByte(s, ':'); i >= 0 && strings.HasPrefix(s[i+1:], "0x") {
		rest, server = s[:i], s[i:]
	}
	i := strings.LastIndexByte(rest, ':')
	if i < 0 {
		return s
	}
	return canonicalIP(rest[:i]) + rest[i:] + strings.ToLower(server)
}

func identity(id string, port int32, server string) string {
	out := id + ":" + strconv.FormatInt(int64(port), 10)
	if server != "" {
		out += ":" + server
	}
	return out
}

// identityWithTime returns the identity with the creation time in milliseconds, so that a pod that comes back
// with the address of another is a new endpoint.
func (e Endpoint) identityWithTime() string {
	var at int64
	switch {
	case e.Pod != nil:
		at = e.Pod.CreationTimestamp.UnixMilli()
	case e.Node != nil:
		at = e.Node.CreationTimestamp.UnixMilli()
	}
	return e.Identity() + ":" + strconv.FormatInt(at, 10)
}

func (e Endpoint) key() string {
	if e.Node != nil {
		return e.Identity() // an instance id has one form
	}
	return CanonicalIdentity(e.Identity())
}

func targetKey(t *observed.Target) string {
	if strings.HasPrefix(t.ID, "i-") && t.ServerID == "" {
		return IdentityOf(t) // an instance id has one form
	}
	return CanonicalIdentity(IdentityOf(t))
}

// Resolution is what the cluster has as endpoints of a binding.
type Resolution struct {
	// endpoints in ascending order of identity; empty where they are nodes that are in this order already.
	endpoints []Endpoint
	// Nodes are the nodes that are endpoints, nil where these are pods, and NodePort is the port of each.
	Nodes    *NodeList
	NodePort int32
	// NotFound is set if the Service or its port does not exist: nothing is to be registered.
	NotFound bool
	// Faulty is set if the endpoints cannot be determined, and those given are only where they
	// may be: what is registered stays.
	Faulty bool
	// SourceMissing is set if the objects that endpoints are read from are missing as a whole, so that the endpoints
	// are unknown: registered targets stay while their pod or node exists.
	SourceMissing bool
	// Unknown is set if an endpoint was omitted because the view is not consistent yet. The view
	// has been asked for what is missing, so its appearance triggers another run.
	Unknown bool
	// NoEndpoints is why there is no endpoint, nil if there is one or that is not known.
	NoEndpoints *NoEndpoints
	Findings    finding.List
}

// Endpoints returns the endpoints in ascending order of identity. One identity may appear more than once. They are not
// to be changed.
func (r Resolution) Endpoints() []Endpoint {
	if r.Nodes.inOrder() {
		return r.Nodes.at(r.NodePort)
	}
	return r.endpoints
}

// setUnknown records that the endpoints are unknown. An empty answer counts as desired state only where
// it can be intended.
func (r *Resolution) setUnknown(b *elbv2.TargetGroupBinding, message, fix string) {
	r.SourceMissing = true
	r.Findings.Add(finding.Finding{
		Object: Ref(b), Field: "spec.serviceRef", Reason: finding.RemovalNotTrusted, Severity: finding.Error,
		Message: message, Fix: fix,
	})
}

// Resolve finds the endpoints of a binding whose target type is known.
func Resolve(v *cluster.View, b *elbv2.TargetGroupBinding, o Options) Resolution {
	var r Resolution
	svc, port, ok := servicePort(v, b, &r)
	if !ok {
		return r
	}
	if IsInstance(b) {
		resolveNodes(v, b, svc, port, o, &r)
		if r.Nodes.inOrder() {
			return r
		}
		r.endpoints = r.Nodes.at(r.NodePort)
	} else {
		resolvePods(v, b, svc, port, o, &r)
		if IsQUIC(b) {
			for i, e := range r.endpoints {
				r.endpoints[i].ServerID = serverID(e.Pod, e.Port, o.QUICVariable)
			}
		}
	}
	for i, e := range r.endpoints {
		r.endpoints[i].text = identity(e.ID, e.Port, e.ServerID)
	}
	slices.SortStableFunc(r.endpoints, func(a, b Endpoint) int { return cmp.Compare(a.text, b.text) })
	return r
}

// sortedBy sorts by a text that takes some work to make, and keeps the order of those with the same.
func sortedBy[T any](list []T, text func(T) string) []T {
	type item struct {
		text string
		is   T
	}
	items := make([]item, len(list))
	for i, is := range list {
		items[i] = item{text(is), is}
	}
	slices.SortStableFunc(items, func(a, b item) int { return cmp.Compare(a.text, b.text) })
	for i := range items {
		list[i] = items[i].is
	}
	return list
}

// IsInstance reports whether nodes are registered rather than pods.
func IsInstance(b *elbv2.TargetGroupBinding) bool {
	return b.Spec.TargetType != nil && *b.Spec.TargetType == elbv2.TargetTypeInstance
}

// Ref names a binding in findings.
func Ref(b *elbv2.TargetGroupBinding) finding.Ref {
	return finding.Ref{Kind: string(cluster.KindBinding), Namespace: b.Namespace, Name: b.Name}
}
