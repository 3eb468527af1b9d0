package attach

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Options are the settings of the operator that affect attachment.
type Options struct {
	// ListenerSets reports whether ListenerSets are read.
	ListenerSets bool
	// Live reports which routes the load balancer in AWS serves. It is nil if this is not known.
	Live LiveRoutes
}

// LiveRoutes reports which routes the load balancer of a Gateway serves in AWS.
type LiveRoutes interface {
	// Serves reports whether the load balancer serves a route on a port. An application load balancer must serve the
	// route for one of the hosts; "" means any host. Serves is called only if listeners of several owners conflict. Then
	// the owner whose routes are served keeps the port or hostname.
	Serves(port int32, route finding.Ref, hosts []string) bool
}

// Result has the listeners, ListenerSets and routes of a Gateway.
type Result struct {
	// Listeners are the listeners of the Gateway in their order, and then the listeners of accepted ListenerSets,
	// beginning with the oldest ListenerSet.
	Listeners []Listener
	// Sets are all ListenerSets that name the Gateway, in the order in which their listeners are validated.
	Sets []ListenerSet
	// Routes are all routes that name the Gateway or one of its ListenerSets, the oldest first, then by namespace, name and
	// kind.
	Routes []Route
	// Grants reports which references to other namespaces are permitted.
	Grants *Grants

	routesByPort map[int32][]PortRoute
	// evaluation has the data for methods such as MayServe and MayUsePort.
	evaluation *evaluation
}

// Problem is the reason and the message of a condition of the Gateway API. The zero Problem means that there is no problem.
type Problem struct{ Reason, Message string }

// Listener is a listener of a Gateway or of one of its ListenerSets.
type Listener struct {
	// Parent is the Gateway or ListenerSet of the listener, and Index the index of the listener in spec.listeners of the
	// parent.
	Parent finding.Ref
	Index  int
	Spec   gatewayv1.Listener
	// Problem is the reason why the listener is not served. It is zero if the listener is served.
	Problem Problem
	// IsDuplicate reports whether the listener is not served because another listener has the same port and hostname.
	// For listeners that hostnames do not distinguish, it means the same port and protocol.
	IsDuplicate bool
	// RefProblem is the reason why the listener cannot use one of its Secrets or kinds of routes. The listener may still
	// be served.
	RefProblem Problem
	// RouteKinds are the kinds of routes that may attach to the listener.
	RouteKinds []gatewayv1.RouteGroupKind
	// AdmittedNamespaces is a text that describes the namespaces from which routes may attach. Two listeners with the
	// same text admit the same namespaces.
	AdmittedNamespaces string
	// Certificates are the Secrets that the listener refers to and may use, in the order of its certificateRefs.
	Certificates []SecretRef
	// AttachedRoutes is the number of routes that are attached to the listener.
	AttachedRoutes int
}

// SecretRef names a Secret.
type SecretRef struct{ Namespace, Name string }

// IsValid reports whether the listener has no Problem, which means that it is served.
func (l Listener) IsValid() bool { return l.Problem == Problem{} }

// Hostname returns the hostname of the listener. "" means any hostname.
func (l Listener) Hostname() string {
	if l.Spec.Hostname == nil {
		return ""
	}
	return string(*l.Spec.Hostname)
}

// ListenerSet is a ListenerSet that names the Gateway.
type ListenerSet struct {
	Object *gatewayv1.ListenerSet
	// Accepted reports whether the Gateway admits the ListenerSet.
	Accepted bool
}

// Route is a route with its parentRefs that name the Gateway or one of its ListenerSets.
type Route struct {
	Object  cluster.Object
	Kind    cluster.Kind
	Parents []RouteParent
}

// RouteParent is one parentRef of a route.
type RouteParent struct {
	// Index is the index of the parentRef in spec.parentRefs.
	Index int
	// Problem is the reason why the route is attached to no listener of this parent. It is zero if the route is
	// attached.
	Problem     Problem
	Attachments []Attachment
}

// Attachment is a listener to which a route is attached. Listener is the index in Result.Listeners. The listener may be
// invalid.
type Attachment struct {
	Listener int
	// Hostnames are the hostnames for which the route serves requests on the listener. nil means any hostname.
	Hostnames []string
}

// HostnamesOrAny returns Hostnames. If there are none, it returns a list with "", which means any hostname.
func (a Attachment) HostnamesOrAny() []string {
	if len(a.Hostnames) == 0 {
		return []string{""}
	}
	return a.Hostnames
}

// Evaluate determines which ListenerSets and routes are attached to a Gateway. kind is the kind of the stack of the Gateway.
func Evaluate(v *cluster.View, gw *gatewayv1.Gateway, kind model.Kind, opt Options) Result {
	e := &evaluation{view: v, gateway: gw, kind: kind, liveRoutes: opt.Live, servedRouteKinds: servedRouteKindsOf(kind), protocols: protocolsOf(kind), byParent: map[cluster.Ref][]int{}, rejectedSets: map[cluster.Ref]bool{}}
	e.out.Grants = NewGrants(v)
	if opt.ListenerSets {
		e.loadSets()
	}
	e.loadListeners()
	e.loadRoutes()
	e.validateListeners()
	e.hostTables = e.newHostTables()
	e.out.routesByPort = e.portRoutes()
	e.out.evaluation = e
	return e.out
}

// evaluation is the state of one call of Evaluate.
type evaluation struct {
	view             *cluster.View
	gateway          *gatewayv1.Gateway
	kind             model.Kind
	liveRoutes       LiveRoutes
	servedRouteKinds []cluster.Kind // kinds of routes that the load balancer can serve
	protocols        []gatewayv1.ProtocolType
	out              Result
	// byParent has the indexes in Result.Listeners of the listeners of the Gateway and of each accepted ListenerSet.
	byParent     map[cluster.Ref][]int
	rejectedSets map[cluster.Ref]bool // ListenerSets that name the Gateway but that the Gateway does not admit
	// namespaces has the namespaces from which routes may attach, by index of the listener.
	namespaces []namespaceSelection
	labels     map[string]namespaceLabels
	hostTables map[int32]*hostTable // by port
}

// servedRouteKindsOf returns the kinds of routes that the load balancer of a kind of stack can serve.
func servedRouteKindsOf(kind model.Kind) []cluster.Kind {
	if kind == model.ALBGateway {
		return []cluster.Kind{cluster.KindHTTPRoute, cluster.KindGRPCRoute}
	}
	return []cluster.Kind{cluster.KindTCPRoute, cluster.KindUDPRoute, cluster.KindTLSRoute}
}

// protocolsOf returns the protocols that listeners can have on the load balancer of a kind of stack.
func protocolsOf(kind model.Kind) []gatewayv1.ProtocolType {
	if kind == model.ALBGateway {
		return []gatewayv1.ProtocolType{gatewayv1.HTTPProtocolType, gatewayv1.HTTPSProtocolType}
	}
	return []gatewayv1.ProtocolType{gatewayv1.TCPProtocolType, gatewayv1.UDPProtocolType, gatewayv1.TLSProtocolType}
}
