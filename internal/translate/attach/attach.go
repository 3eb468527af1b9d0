package attach

import (
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Options are switches of the operator.
type Options struct {
	// ListenerSets reports whether ListenerSets are read.
	ListenerSets bool
	// Live is what serves now; nil: nothing is known to be live.
	Live Live
}

// Live is what is live of a Gateway.
type Live interface {
	// Serves reports whether a route has a part of what a port serves now: the port as a whole if it is one of a network
	// load balancer, otherwise one of some hostnames, of which "" is any. It is asked only where listeners of several
	// owners want the same; what is live stays with who has it.
	Serves(port int32, route finding.Ref, hosts []string) bool
}

// Result is what is attached to a Gateway.
type Result struct {
	// Listeners are the listeners of the Gateway in their order, then those of accepted ListenerSets, oldest set first.
	Listeners []Listener
	// Sets are all ListenerSets that name the Gateway, in the order in which their listeners are validated.
	Sets []Set
	// Routes are all routes that name the Gateway or one of its ListenerSets: oldest first, then by
	// namespace, name and kind.
	Routes []Route
	// Grants answers which references to other namespaces are permitted.
	Grants *Grants

	ports  map[int32][]PortRoute
	rights *rights
}

// Problem is a reason of the Gateway API with a message in readable form. The zero Problem means that there is none.
type Problem struct{ Reason, Message string }

// Listener is a listener of a Gateway or of one of its ListenerSets.
type Listener struct {
	// Parent is the Gateway or the ListenerSet, and Index the place among its listeners.
	Parent finding.Ref
	Index  int
	Spec   gatewayv1.Listener
	// Problem puts the listener out of service.
	Problem Problem
	// Repeats reports that it is out of service because another listener has its port and protocol, or its hostname there.
	Repeats bool
	// Refs is why not all that the listener refers to is usable. It may serve without.
	Refs Problem
	// Kinds are the kinds of routes that may attach.
	Kinds []gatewayv1.RouteGroupKind
	// Admits is which namespaces routes may be of, so that it can be compared with another listener of the Gateway.
	Admits string
	// Certificates are the Secrets that the listener refers to and may read, in order.
	Certificates []Secret
	// Attached counts the routes that are attached, each once.
	Attached int
}

// Secret names a Secret.
type Secret struct{ Namespace, Name string }

// Valid reports whether the listener takes part in the load balancer.
func (l Listener) Valid() bool { return l.Problem == Problem{} }

// Hostname returns the hostname of a listener, "" for any.
func (l Listener) Hostname() string {
	if l.Spec.Hostname == nil {
		return ""
	}
	return string(*l.Spec.Hostname)
}

// Set is a ListenerSet that names the Gateway.
type Set struct {
	Object *gatewayv1.ListenerSet
	// Accepted reports whether the Gateway admits it.
	Accepted bool
}

// Route is a route with those of its parents that are the Gateway or one of its ListenerSets.
type Route struct {
	Object  cluster.Object
	Kind    cluster.Kind
	Parents []Parent
}

// Parent is one parentRef of a route.
type Parent struct {
	// Index is its place in spec.parentRefs.
	Index int
	// Problem is why it is attached to no listener.
	Problem     Problem
	Attachments []Attachment
}

// Attachment is a listener, by its place in Result.Listeners, to which a route is attached. The listener may be invalid.
type Attachment struct {
	Listener int
	// Hostnames are the hostnames of requests that the route serves on the listener; nil for any.
	Hostnames []string
}

// Of evaluates a Gateway whose load balancer is of a kind of stack.
func Of(v *cluster.View, gw *gatewayv1.Gateway, kind model.Kind, opt Options) Result {
	e := &evaluation{view: v, gateway: gw, kind: kind, live: opt.Live, kinds: kindsOf(kind), protocols: protocolsOf(kind), byParent: map[parentKey][]int{}, rejected: map[parentKey]bool{}}
	e.out.Grants = NewGrants(v)
	if opt.ListenerSets {
		e.loadSets()
	}
	e.loadListeners()
	e.loadRoutes()
	e.validate()
	e.out.ports = e.portRoutes()
	e.out.rights = &rights{e}
	return e.out
}

// evaluation is one run of Of.
type evaluation struct {
	view      *cluster.View
	gateway   *gatewayv1.Gateway
	kind      model.Kind
	live      Live
	kinds     []cluster.Kind // of routes that the load balancer can serve
	protocols []gatewayv1.ProtocolType
	out       Result
	// byParent are the places of the listeners of the Gateway and of each accepted ListenerSet.
	byParent map[parentKey][]int
	rejected map[parentKey]bool // ListenerSets that name the Gateway and are not admitted
	// namespaces from which routes may attach, by place of a listener.
	namespaces []selection
	labels     map[string]labelled
}

// parentKey names a parent of routes.
type parentKey struct {
	kind            cluster.Kind
	namespace, name string
}

func (k parentKey) ref() finding.Ref {
	return finding.Ref{Kind: string(k.kind), Namespace: k.namespace, Name: k.name}
}

// kindsOf returns the kinds of routes that a kind of load balancer serves.
func kindsOf(kind model.Kind) []cluster.Kind {
	if kind == model.ALBGateway {
		return []cluster.Kind{cluster.KindHTTPRoute, cluster.KindGRPCRoute}
	}
	return []cluster.Kind{cluster.KindTCPRoute, cluster.KindUDPRoute, cluster.KindTLSRoute}
}

// protocolsOf returns the protocols of listeners that a kind of load balancer has.
func protocolsOf(kind model.Kind) []gatewayv1.ProtocolType {
	if kind == model.ALBGateway {
		return []gatewayv1.ProtocolType{gatewayv1.HTTPProtocolType, gatewayv1.HTTPSProtocolType}
	}
	return []gatewayv1.ProtocolType{gatewayv1.TCPProtocolType, gatewayv1.UDPProtocolType, gatewayv1.TLSProtocolType}
}
