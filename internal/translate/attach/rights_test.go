package attach_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
)

// TestMayServe checks that a namespace may serve a hostname only if the most specific listener for the hostname admits
// the namespace. If the labels of a namespace are not known, a label selector admits it.
func TestMayServe(t *testing.T) {
	from := func(l gatewayv1.Listener, from gatewayv1.FromNamespaces, labels map[string]string) gatewayv1.Listener {
		l.AllowedRoutes = &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: &from}}
		if labels != nil {
			l.AllowedRoutes.Namespaces.Selector = &metav1.LabelSelector{MatchLabels: labels}
		}
		return l
	}
	edge := map[string]string{"edge": "allowed"}
	all := from(listener("all", "HTTP", 80, "*.example.com"), gatewayv1.NamespacesFromAll, nil)
	own := from(listener("own", "HTTP", 80, "shop.example.com"), gatewayv1.NamespacesFromSame, nil)
	chosen := from(listener("chosen", "HTTP", 80, ""), gatewayv1.NamespacesFromSelector, edge)
	namespace := func(name string, labels map[string]string) cluster.Object {
		return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	}
	for name, c := range map[string]struct {
		listeners []gatewayv1.Listener
		others    []cluster.Object
		namespace string
		host      string
		may       bool
	}{
		"a wildcard that admits all":           {[]gatewayv1.Listener{all}, nil, "b", "shop.example.com", true},
		"a more specific one does not":         {[]gatewayv1.Listener{all, own}, nil, "b", "shop.example.com", false},
		"a more specific one admits its own":   {[]gatewayv1.Listener{all, own}, nil, "a", "shop.example.com", true},
		"another hostname of the wildcard":     {[]gatewayv1.Listener{all, own}, nil, "b", "blog.example.com", true},
		"no listener could have the hostname":  {[]gatewayv1.Listener{all, own}, nil, "b", "shop.example.org", false},
		"a namespace with the label":           {[]gatewayv1.Listener{chosen}, []cluster.Object{namespace("b", edge)}, "b", "shop.example.com", true},
		"a namespace without the label":        {[]gatewayv1.Listener{chosen}, []cluster.Object{namespace("b", nil)}, "b", "shop.example.com", false},
		"a namespace that is not known":        {[]gatewayv1.Listener{chosen}, nil, "b", "shop.example.com", true},
		"one that is not known, and not meant": {[]gatewayv1.Listener{own}, nil, "b", "shop.example.com", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := evaluate(t, model.ALBGateway, attach.Options{}, append([]cluster.Object{gateway(c.listeners...)}, c.others...)...)
			if may := r.MayServe(c.namespace, "HTTPRoute", 80, c.host); may != c.may {
				t.Errorf("may serve: %t, want %t", may, c.may)
			}
		})
	}
}

// TestMayServeBuildsNoTable checks that a check of one hostname does not build a table of all hostnames of the port. Each
// existing rule is checked for each hostname that is more specific than its own.
func TestMayServeBuildsNoTable(t *testing.T) {
	all := []gatewayv1.Listener{listener("any", "HTTP", 80, "")}
	for i := range 500 {
		all = append(all, listener(fmt.Sprint("l", i), "HTTP", 80, fmt.Sprintf("h%d.example.com", i)))
	}
	r := evaluate(t, model.ALBGateway, attach.Options{}, gateway(all...))
	if hosts := r.MoreSpecificHosts(80, ""); len(hosts) != 500 {
		t.Errorf("more specific hosts: %q", hosts)
	}
	if n := testing.AllocsPerRun(10, func() { r.MayServe("b", "HTTPRoute", 80, "h7.example.com") }); n > 5 {
		t.Errorf("the check of one hostname makes %v allocations", n)
	}
}

// servingNamespace is the namespace whose routes the load balancer serves on port 80.
type servingNamespace string

// Serves implements attach.LiveRoutes.
func (s servingNamespace) Serves(port int32, route finding.Ref, _ []string) bool {
	return port == 80 && route.Namespace == string(s)
}

// TestServedRoutesKeepTheirPort checks that a ListenerSet whose routes an NLB serves on a port keeps the port, even if the
// Gateway has a listener for it. On an ALB, the listeners of the Gateway have precedence.
func TestServedRoutesKeepTheirPort(t *testing.T) {
	for name, c := range map[string]struct {
		kind model.Kind
		live servingNamespace
		has  string // namespace whose listener gets the port
	}{
		"nothing is live":            {model.NLBGateway, "", "a"},
		"the set of b serves":        {model.NLBGateway, "b", "b"},
		"the younger set of c":       {model.NLBGateway, "c", "c"},
		"the Gateway serves":         {model.NLBGateway, "a", "a"},
		"the set serves, of an ALB":  {model.ALBGateway, "b", "a"},
		"nothing is live, of an ALB": {model.ALBGateway, "", "a"},
	} {
		t.Run(name, func(t *testing.T) {
			kind, protocol := "TCPRoute", gatewayv1.TCPProtocolType
			if c.kind == model.ALBGateway {
				kind, protocol = "HTTPRoute", gatewayv1.HTTPProtocolType
			}
			l := listener("l", protocol, 80, "")
			l.AllowedRoutes = &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: ptr(gatewayv1.NamespacesFromAll)}}
			gw := gateway(l)
			gw.Spec.AllowedListeners = &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{From: ptr(gatewayv1.NamespacesFromAll)}}
			objs := []cluster.Object{gw}
			for i, namespace := range []string{"a", "b", "c"} {
				parent := gatewayv1.ParentReference{Name: "g"}
				if i > 0 {
					s := &gatewayv1.ListenerSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "s"}}
					s.Spec.ParentRef = gatewayv1.ParentGatewayReference{Name: "g", Namespace: ptr(gatewayv1.Namespace("a"))}
					s.Spec.Listeners = []gatewayv1.ListenerEntry{gatewayv1.ListenerEntry(l)}
					objs = append(objs, s)
					parent = gatewayv1.ParentReference{Kind: ptr(gatewayv1.Kind("ListenerSet")), Name: "s"}
				}
				r := route(namespace, "r", nil, parent)
				if kind == "HTTPRoute" {
					objs = append(objs, r)
				} else {
					objs = append(objs, &gatewayv1.TCPRoute{ObjectMeta: r.ObjectMeta, Spec: gatewayv1.TCPRouteSpec{CommonRouteSpec: r.Spec.CommonRouteSpec}})
				}
			}
			var has []string
			for _, l := range evaluate(t, c.kind, attach.Options{ListenerSets: true, Live: c.live}, objs...).Listeners {
				if l.IsValid() {
					has = append(has, l.Parent.Namespace)
				}
			}
			if len(has) != 1 || has[0] != c.has {
				t.Errorf("%q have the port, want %q", has, c.has)
			}
		})
	}
}
