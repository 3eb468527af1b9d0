package attach_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
)

// evaluate returns the result of attach.Evaluate for the first object, which must be a Gateway.
func evaluate(t *testing.T, kind model.Kind, opt attach.Options, objs ...cluster.Object) attach.Result {
	t.Helper()
	src, err := cluster.NewMemory(clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	if err := src.Put(objs...); err != nil {
		t.Fatal(err)
	}
	return attach.Evaluate(cluster.NewView(src), objs[0].(*gatewayv1.Gateway), kind, opt)
}

func ptr[T any](x T) *T { return &x }

func gateway(listeners ...gatewayv1.Listener) *gatewayv1.Gateway {
	return &gatewayv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "g"}, Spec: gatewayv1.GatewaySpec{Listeners: listeners}}
}

func listener(name string, protocol gatewayv1.ProtocolType, port int32, host string) gatewayv1.Listener {
	l := gatewayv1.Listener{Name: gatewayv1.SectionName(name), Protocol: protocol, Port: port}
	if host != "" {
		l.Hostname = ptr(gatewayv1.Hostname(host))
	}
	return l
}

func route(namespace, name string, hosts []gatewayv1.Hostname, parents ...gatewayv1.ParentReference) *gatewayv1.HTTPRoute {
	return &gatewayv1.HTTPRoute{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: gatewayv1.HTTPRouteSpec{CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: parents}, Hostnames: hosts}}
}

// TestHostnamesOfRouteOnTwoListeners checks the hostnames of a route that attaches to a listener
// with a hostname and to one without. A route with hostnames serves all its hostnames, a route without hostnames serves
// any hostname.
func TestHostnamesOfRouteOnTwoListeners(t *testing.T) {
	gw := gateway(listener("one", "HTTP", 80, "*.a.com"), listener("any", "HTTP", 80, ""))
	named := evaluate(t, model.ALBGateway, attach.Options{}, gw,
		route("a", "r", []gatewayv1.Hostname{"x.a.com", "b.com"}, gatewayv1.ParentReference{Name: "g"}))
	if got := named.RoutesOnPort(80)[0].Hostnames; !slices.Equal(got, []string{"b.com", "x.a.com"}) {
		t.Errorf("hostnames %q", got)
	}
	open := evaluate(t, model.ALBGateway, attach.Options{}, gw, route("a", "r", nil, gatewayv1.ParentReference{Name: "g"}))
	if got := open.RoutesOnPort(80)[0].Hostnames; !slices.Equal(got, []string{"", "*.a.com"}) {
		t.Errorf("hostnames %q", got)
	}
}

// TestHostnamesOfInvalidListenersAreIgnored checks that routes do not get the hostname of an invalid listener on the same
// port.
func TestHostnamesOfInvalidListenersAreIgnored(t *testing.T) {
	r := evaluate(t, model.ALBGateway, attach.Options{}, gateway(listener("http", "HTTP", 80, ""), listener("https", "HTTPS", 80, "a.example.com")),
		route("a", "r", nil, gatewayv1.ParentReference{Name: "g"}),
		route("a", "s", nil, gatewayv1.ParentReference{Name: "g", SectionName: ptr(gatewayv1.SectionName("https"))}))
	if got := r.Listeners[1].Problem.Reason; got != "ProtocolConflict" {
		t.Errorf("problem %q", got)
	}
	if on := r.RoutesOnPort(80); len(on) != 1 || !slices.Equal(on[0].Hostnames, []string{""}) {
		t.Errorf("on port 80: %+v", on)
	}
	// The route that selects only the invalid listener is attached, as the Gateway API specification requires.
	if p := r.Routes[1].Parents[0]; p.Problem.Reason != "" || len(p.Attachments) != 1 || r.Listeners[1].AttachedRoutes != 2 {
		t.Errorf("parent %+v, attached %d", p, r.Listeners[1].AttachedRoutes)
	}
}

func TestReasonsOfInvalidListeners(t *testing.T) {
	kinds := func(all ...gatewayv1.Kind) *gatewayv1.AllowedRoutes {
		out := &gatewayv1.AllowedRoutes{}
		for _, k := range all {
			out.Kinds = append(out.Kinds, gatewayv1.RouteGroupKind{Kind: k})
		}
		return out
	}
	mixed, foreign, malformed := listener("mixed", "HTTP", 80, ""), listener("foreign", "HTTP", 81, ""), listener("malformed", "HTTP", 82, "")
	mixed.AllowedRoutes, foreign.AllowedRoutes = kinds("HTTPRoute", "TLSRoute"), kinds("TLSRoute")
	malformed.AllowedRoutes = &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: ptr(gatewayv1.NamespacesFromSelector),
		Selector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Odd"}}}}}
	gw := gateway(mixed, foreign, malformed, listener("udp", "UDP", 83, ""), listener("zero", "HTTP", 0, ""), listener("address", "HTTP", 84, "10.0.0.1"),
		listener("long", "HTTP", 84, strings.Repeat("a", 64)+".com"))
	r := evaluate(t, model.ALBGateway, attach.Options{}, gw)
	var got []string
	for _, l := range r.Listeners {
		got = append(got, fmt.Sprintf("%s %s/%s %d", l.Spec.Name, l.Problem.Reason, l.RefProblem.Reason, len(l.RouteKinds)))
	}
	want := []string{
		"mixed /InvalidRouteKinds 1", "foreign InvalidRouteKinds/InvalidRouteKinds 0", "malformed UnsupportedValue/ 1",
		"udp UnsupportedProtocol/ 0", "zero PortUnavailable/ 1", "address UnsupportedValue/ 1", "long UnsupportedValue/ 1",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestPassthroughConflictsWithTermination checks that a listener with TLS termination and a listener with TLS
// passthrough cannot share a port.
func TestPassthroughConflictsWithTermination(t *testing.T) {
	one, two := listener("one", "TLS", 443, "a.com"), listener("two", "TLS", 443, "b.com")
	one.TLS, two.TLS = &gatewayv1.ListenerTLSConfig{Mode: ptr(gatewayv1.TLSModeTerminate)}, &gatewayv1.ListenerTLSConfig{Mode: ptr(gatewayv1.TLSModePassthrough)}
	r := evaluate(t, model.NLBGateway, attach.Options{}, gateway(one, two))
	if !r.Listeners[0].IsValid() || r.Listeners[1].Problem.Reason != "ProtocolConflict" {
		t.Errorf("problems %v, %v", r.Listeners[0].Problem, r.Listeners[1].Problem)
	}
}

// TestBothConflictsAreReportedAsHostnameConflict checks the reason of a listener that has the hostname of an earlier listener
// of its port and another protocol, also one that the load balancer does not support.
func TestBothConflictsAreReportedAsHostnameConflict(t *testing.T) {
	r := evaluate(t, model.ALBGateway, attach.Options{}, gateway(listener("one", "HTTP", 80, "a.com"), listener("two", "HTTPS", 80, "a.com"), listener("three", "TLS", 80, "a.com"), listener("four", "HTTPS", 80, "b.com")))
	var got []string
	for _, l := range r.Listeners {
		got = append(got, l.Problem.Reason)
	}
	if want := []string{"", "HostnameConflict", "HostnameConflict", "ProtocolConflict"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// TestProtocolsOfOtherLoadBalancersConflict checks that a listener with another protocol on the same port is reported as a
// conflict, even if the load balancer does not support that protocol.
func TestProtocolsOfOtherLoadBalancersConflict(t *testing.T) {
	r := evaluate(t, model.ALBGateway, attach.Options{}, gateway(listener("http", "HTTP", 80, ""), listener("tcp", "TCP", 80, ""), listener("alone", "TCP", 81, "")))
	if !r.Listeners[0].IsValid() || r.Listeners[1].Problem.Reason != "ProtocolConflict" || r.Listeners[2].Problem.Reason != "UnsupportedProtocol" {
		t.Errorf("problems %v, %v, %v", r.Listeners[0].Problem, r.Listeners[1].Problem, r.Listeners[2].Problem)
	}
}

func TestListenerSets(t *testing.T) {
	gw := gateway(listener("http", "HTTP", 80, ""))
	gw.Spec.AllowedListeners = &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{From: ptr(gatewayv1.NamespacesFromSame)}}
	set := func(namespace string) *gatewayv1.ListenerSet {
		s := &gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s"}}
		s.Spec.ParentRef = gatewayv1.ParentGatewayReference{Name: "g", Namespace: ptr(gatewayv1.Namespace("a"))}
		s.Spec.Listeners = []gatewayv1.ListenerEntry{gatewayv1.ListenerEntry(listener("http", "HTTP", 81, ""))}
		return s
	}
	to := func(namespace string) gatewayv1.ParentReference {
		return gatewayv1.ParentReference{Kind: ptr(gatewayv1.Kind("ListenerSet")), Name: "s", Namespace: ptr(gatewayv1.Namespace(namespace))}
	}
	objs := []cluster.Object{gw, set("a"), set("b"), route("a", "r", nil, to("a"), to("b"), to("c"))}
	r := evaluate(t, model.ALBGateway, attach.Options{ListenerSets: true}, objs...)
	if len(r.Sets) != 2 || !r.Sets[0].Accepted || r.Sets[1].Accepted || len(r.Listeners) != 2 {
		t.Fatalf("sets %+v", r.Sets)
	}
	p := r.Routes[0].Parents
	if len(p) != 2 || p[0].Problem.Reason != "" || p[1].Problem.Reason != "NoMatchingParent" || p[1].Index != 1 {
		t.Errorf("parents %+v", p)
	}
	off := evaluate(t, model.ALBGateway, attach.Options{}, objs...)
	if len(off.Sets) != 0 || len(off.Listeners) != 1 || len(off.Routes) != 0 {
		t.Errorf("without ListenerSets: %+v", off)
	}
}

func grant(namespace, name string, from gatewayv1.ReferenceGrantFrom, to gatewayv1.ReferenceGrantTo) *gatewayv1beta1.ReferenceGrant {
	return &gatewayv1beta1.ReferenceGrant{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: gatewayv1.ReferenceGrantSpec{
		From: []gatewayv1.ReferenceGrantFrom{from}, To: []gatewayv1.ReferenceGrantTo{to},
	}}
}

func TestCertificateRefs(t *testing.T) {
	l := listener("https", "HTTPS", 443, "")
	ref := func(namespace, name string) gatewayv1.SecretObjectReference {
		return gatewayv1.SecretObjectReference{Name: gatewayv1.ObjectName(name), Namespace: ptr(gatewayv1.Namespace(namespace))}
	}
	from := gatewayv1.ReferenceGrantFrom{Group: gatewayv1.GroupName, Kind: "Gateway", Namespace: "a"}
	for _, c := range []struct {
		name    string
		refs    []gatewayv1.SecretObjectReference
		grants  []cluster.Object
		reason  string
		secrets []attach.SecretRef
	}{
		{"own", []gatewayv1.SecretObjectReference{{Name: "own"}}, nil, "", []attach.SecretRef{{Namespace: "a", Name: "own"}}},
		{"kind", []gatewayv1.SecretObjectReference{{Name: "x", Kind: ptr(gatewayv1.Kind("ConfigMap"))}, {Name: "own"}}, nil, "InvalidCertificateRef", []attach.SecretRef{{Namespace: "a", Name: "own"}}},
		{"group", []gatewayv1.SecretObjectReference{{Name: "x", Group: ptr(gatewayv1.Group("x.io"))}}, nil, "InvalidCertificateRef", nil},
		{"no grant", []gatewayv1.SecretObjectReference{ref("b", "x")}, nil, "RefNotPermitted", nil},
		{"grant", []gatewayv1.SecretObjectReference{ref("b", "x")}, []cluster.Object{
			grant("b", "g", from, gatewayv1.ReferenceGrantTo{Kind: "Secret", Name: ptr(gatewayv1.ObjectName("x"))})}, "", []attach.SecretRef{{Namespace: "b", Name: "x"}}},
		{"grant of another", []gatewayv1.SecretObjectReference{ref("b", "x")}, []cluster.Object{
			grant("b", "g", from, gatewayv1.ReferenceGrantTo{Kind: "Secret", Name: ptr(gatewayv1.ObjectName("y"))}),
			grant("a", "h", from, gatewayv1.ReferenceGrantTo{Kind: "Secret"}),
			grant("b", "i", gatewayv1.ReferenceGrantFrom{Group: gatewayv1.GroupName, Kind: "ListenerSet", Namespace: "a"}, gatewayv1.ReferenceGrantTo{Kind: "Secret"}),
		}, "RefNotPermitted", nil},
		{"grant of all", []gatewayv1.SecretObjectReference{ref("b", "x")}, []cluster.Object{
			grant("b", "g", from, gatewayv1.ReferenceGrantTo{Kind: "Secret"})}, "", []attach.SecretRef{{Namespace: "b", Name: "x"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			l.TLS = &gatewayv1.ListenerTLSConfig{CertificateRefs: c.refs}
			got := evaluate(t, model.ALBGateway, attach.Options{}, append([]cluster.Object{gateway(l)}, c.grants...)...).Listeners[0]
			if got.RefProblem.Reason != c.reason || !slices.Equal(got.Certificates, c.secrets) || !got.IsValid() {
				t.Errorf("%v %v %v", got.RefProblem, got.Certificates, got.Problem)
			}
		})
	}
}

// TestNumberOfServedListenersIsLimited checks that at most 1024 listeners are served if a namespace creates very many
// ListenerSets and routes. The listener of the Gateway must be one of them.
func TestNumberOfServedListenersIsLimited(t *testing.T) {
	gw := gateway(listener("http", "HTTP", 80, ""))
	gw.Spec.Listeners[0].AllowedRoutes = &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: ptr(gatewayv1.NamespacesFromAll)}}
	gw.Spec.AllowedListeners = &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{From: ptr(gatewayv1.NamespacesFromAll)}}
	objs := []cluster.Object{gw}
	for i := range 200 {
		s := &gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: "evil", Name: fmt.Sprintf("s%d", i)}}
		s.Spec.ParentRef = gatewayv1.ParentGatewayReference{Name: "g", Namespace: ptr(gatewayv1.Namespace("a"))}
		for j := range 64 {
			s.Spec.Listeners = append(s.Spec.Listeners, gatewayv1.ListenerEntry(listener(fmt.Sprintf("l%d", j), "HTTP", 80, fmt.Sprintf("h%d-%d.com", i, j))))
		}
		objs = append(objs, s)
	}
	for i := range 1000 {
		r := route("evil", fmt.Sprintf("r%d", i), []gatewayv1.Hostname{"*.com"}, gatewayv1.ParentReference{Name: "g", Namespace: ptr(gatewayv1.Namespace("a"))})
		for p := range 31 {
			r.Spec.ParentRefs = append(r.Spec.ParentRefs, gatewayv1.ParentReference{Kind: ptr(gatewayv1.Kind("ListenerSet")), Name: gatewayv1.ObjectName(fmt.Sprintf("s%d", p))})
		}
		objs = append(objs, r)
	}
	got := evaluate(t, model.ALBGateway, attach.Options{ListenerSets: true}, objs...)
	served, refused := 0, 0
	for _, l := range got.Listeners {
		switch l.Problem.Reason {
		case "":
			served++
		case "TooManyListeners":
			refused++
		default:
			t.Fatalf("listener %s: %v", l.Spec.Name, l.Problem)
		}
	}
	if !got.Listeners[0].IsValid() || served != 1024 || served+refused != 1+200*64 {
		t.Errorf("%d listeners are served and %d are not", served, refused)
	}
	if n := len(got.RoutesOnPort(80)); n != 1000 {
		t.Errorf("%d routes on port 80", n)
	}
}

// TestSelectorsOfNoneAndOfAllDiffer checks that AdmittedNamespaces differs between a listener without a selector, which admits
// no namespace, and one with an empty selector, which admits all.
func TestSelectorsOfNoneAndOfAllDiffer(t *testing.T) {
	none, all := listener("none", "TCP", 80, ""), listener("all", "UDP", 80, "")
	none.AllowedRoutes = &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: ptr(gatewayv1.NamespacesFromSelector)}}
	all.AllowedRoutes = &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: ptr(gatewayv1.NamespacesFromSelector), Selector: &metav1.LabelSelector{}}}
	r := evaluate(t, model.NLBGateway, attach.Options{}, gateway(none, all))
	if a, b := r.Listeners[0].AdmittedNamespaces, r.Listeners[1].AdmittedNamespaces; a == b {
		t.Errorf("both are %q", a)
	}
}
