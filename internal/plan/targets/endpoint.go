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
	ID   string // address or instance ID
	Port int32
	Pod  *corev1.Pod  // nil for a node
	Node *corev1.Node // nil for a pod
	// ServerID is the QUIC server ID, for targets of QUIC target groups; empty if the pod has none.
	ServerID string

	cachedIdentity string // cached result of Identity
}

// Identity returns the text by which an endpoint and a registered target are matched: "id:port", followed by the QUIC server
// ID if there is one. IPv6 addresses have no brackets.
func (e Endpoint) Identity() string {
	if e.cachedIdentity != "" {
		return e.cachedIdentity
	}
	return identity(e.ID, e.Port, e.ServerID)
}

// IdentityOf returns the identity of a registered target.
func IdentityOf(t *observed.Target) string { return identity(t.ID, t.Port, t.ServerID) }

// CanonicalIdentity returns the canonical form of an identity, in which equal addresses and server IDs have equal texts.
func CanonicalIdentity(s string) string {
	rest, server := s, ""
	if i := strings.LastIndexByte(s, ':'); i >= 0 && strings.HasPrefix(s[i+1:], "0x") {
		rest, server = s[:i], s[i:]
	}
	i := strings.LastIndexByte(rest, ':')
	if i < 0 {
		return s
	}
	return cluster.CanonicalIP(rest[:i]) + rest[i:] + strings.ToLower(server)
}

// identity returns the identity of an ID, a port and a QUIC server ID.
func identity(id string, port int32, server string) string {
	out := id + ":" + strconv.FormatInt(int64(port), 10)
	if server != "" {
		out += ":" + server
	}
	return out
}

// identityWithTime returns the identity of an endpoint and the creation time of its pod or node in Unix milliseconds.
// Therefore a pod with the address of an earlier pod is a new endpoint.
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

// canonicalKey returns the canonical identity of an endpoint.
func (e Endpoint) canonicalKey() string {
	if e.Node != nil {
		return e.Identity() // an instance ID has one form
	}
	return CanonicalIdentity(e.Identity())
}

// canonicalTargetKey returns the canonical identity of a registered target.
func canonicalTargetKey(t *observed.Target) string {
	if strings.HasPrefix(t.ID, "i-") && t.ServerID == "" {
		return IdentityOf(t) // an instance ID has one form
	}
	return CanonicalIdentity(IdentityOf(t))
}

// Resolution has the endpoints of a binding in the cluster.
type Resolution struct {
	// endpoints is ascending by identity. It is empty if the endpoints are nodes whose list is in order
	// (NodeList.isInOrder).
	endpoints []Endpoint
	// Nodes has the endpoints that are nodes, nil if the endpoints are pods. NodePort is the port of each node.
	Nodes    *NodeList
	NodePort int32
	// BackendMissing is set if the Service or its port does not exist. In this case, there are no endpoints.
	BackendMissing bool
	// Faulty is set if the endpoints cannot be determined, so that registered targets are retained. In this case Nodes has
	// the nodes that may be endpoints, whose security group rules are retained.
	Faulty bool
	// SourceMissing is set if there are no nodes or EndpointSlices at all, so that the endpoints are unknown. Registered
	// targets are retained while their pod or node exists.
	SourceMissing bool
	// ViewInconsistent is set if an endpoint was omitted because the view is not consistent yet. The view has subscribed to
	// the missing object, so that its event triggers another run.
	ViewInconsistent bool
	// NoEndpointsReason is the reason why there is no endpoint, nil if there is an endpoint or the reason is unknown.
	NoEndpointsReason *NoEndpointsReason
	Findings          finding.List
}

// Endpoints returns the endpoints, ascending by identity. An identity may occur several times. The endpoints must not
// be changed.
func (r Resolution) Endpoints() []Endpoint {
	if r.Nodes.isInOrder() {
		return r.Nodes.endpointsAt(r.NodePort)
	}
	return r.endpoints
}

// setSourceMissing records that the endpoints are unknown, because their source is missing. An empty list of objects may be
// a fault of the API server or of a controller, and is not treated as the desired state.
func (r *Resolution) setSourceMissing(b *elbv2.TargetGroupBinding, message, fix string) {
	r.SourceMissing = true
	r.Findings.Add(finding.Finding{
		Object: BindingRef(b), Field: "spec.serviceRef", Reason: finding.RemovalNotTrusted, Severity: finding.Error,
		Message: message, Fix: fix,
	})
}

// Resolve returns the endpoints of a binding whose target type is set.
func Resolve(v *cluster.View, b *elbv2.TargetGroupBinding, o Options) Resolution {
	var r Resolution
	svc, port, ok := resolveServicePort(v, b, &r)
	if !ok {
		return r
	}
	if HasInstanceTargets(b) {
		resolveNodes(v, b, svc, port, o, &r)
		if r.Nodes.isInOrder() {
			return r
		}
		r.endpoints = r.Nodes.endpointsAt(r.NodePort)
	} else {
		resolvePods(v, b, svc, port, o, &r)
		if IsQUIC(b) {
			for i, e := range r.endpoints {
				r.endpoints[i].ServerID = serverID(e.Pod, e.Port, o.QUICVariable)
			}
		}
	}
	for i, e := range r.endpoints {
		r.endpoints[i].cachedIdentity = identity(e.ID, e.Port, e.ServerID)
	}
	slices.SortStableFunc(r.endpoints, func(a, b Endpoint) int { return cmp.Compare(a.cachedIdentity, b.cachedIdentity) })
	return r
}

// sortedBy sorts a list stably by a text. It computes the text only once for each element, because this computation is slow.
func sortedBy[T any](list []T, text func(T) string) []T {
	type item struct {
		text  string
		value T
	}
	items := make([]item, len(list))
	for i, value := range list {
		items[i] = item{text(value), value}
	}
	slices.SortStableFunc(items, func(a, b item) int { return cmp.Compare(a.text, b.text) })
	for i := range items {
		list[i] = items[i].value
	}
	return list
}

// HasInstanceTargets reports whether the targets of a binding are instances, so that its endpoints are nodes.
func HasInstanceTargets(b *elbv2.TargetGroupBinding) bool {
	return b.Spec.TargetType != nil && *b.Spec.TargetType == elbv2.TargetTypeInstance
}

// BindingRef returns the reference of a binding in findings.
func BindingRef(b *elbv2.TargetGroupBinding) finding.Ref {
	return finding.Ref{Kind: cluster.KindBinding, Namespace: b.Namespace, Name: b.Name}
}
