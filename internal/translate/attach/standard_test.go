package attach_test

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
	"github.com/fulcrum-lb/fulcrum/internal/translate/attach"
)

// TestAttachmentFollowsTheGatewayAPISpecification compares the attachments to a random Gateway with a literal implementation
// of the Gateway API specification, for each listener, route and request.
func TestAttachmentFollowsTheGatewayAPISpecification(t *testing.T) {
	seeds.Each(t, 400, func(t *testing.T, seed uint64) {
		s := newRandomGateway(t, seed)
		got := attach.Evaluate(cluster.NewView(&cluster.ReducedSource{Source: s.src}), s.gateway, s.kind, attach.Options{ListenerSets: true})
		s.checkSets(t, got)
		listeners := s.expectedListeners()
		if len(listeners) != len(got.Listeners) {
			t.Fatalf("%d listeners, want %d", len(got.Listeners), len(listeners))
		}
		valid := make([]bool, len(listeners))
		for i, l := range listeners {
			valid[i] = s.isValidListener(listeners, i)
			if g := got.Listeners[i]; g.Spec.Name != l.spec.Name || g.Parent.Name != l.parent || g.IsValid() != valid[i] {
				t.Errorf("listener %s of %s: valid %t, want %t of %s of %s (%v)", g.Spec.Name, g.Parent, g.IsValid(), valid[i], l.spec.Name, l.parent, g.Problem)
			}
		}
		s.checkRoutes(t, got, listeners)
		s.checkRequests(t, got, listeners, valid)
	})
}

// TestAttachmentDoesNotDependOnTheOrderOfInputs checks that the result is the same for any order of the listed objects, and
// in a second evaluation.
func TestAttachmentDoesNotDependOnTheOrderOfInputs(t *testing.T) {
	seeds.Each(t, 60, func(t *testing.T, seed uint64) {
		s := newRandomGateway(t, seed)
		opt := attach.Options{ListenerSets: true}
		want := attach.Evaluate(cluster.NewView(s.src), s.gateway, s.kind, opt)
		for n := range uint64(3) {
			got := attach.Evaluate(cluster.NewView(enginetest.NewShuffledSource(s.src, n)), s.gateway, s.kind, opt)
			if diff := gocmp.Diff(want, got, cmpopts.IgnoreUnexported(attach.Result{}), cmpopts.IgnoreFields(attach.Result{}, "Grants")); diff != "" {
				t.Fatal(diff)
			}
			for _, port := range want.Ports() {
				if diff := gocmp.Diff(want.RoutesOnPort(port), got.RoutesOnPort(port)); diff != "" {
					t.Fatal(diff)
				}
			}
		}
	})
}

// TestAttachmentDependsOnlyOnRecordedReads checks that the result depends only on objects that the view has recorded as
// read, because changes of other objects start no new evaluation.
func TestAttachmentDependsOnlyOnRecordedReads(t *testing.T) {
	seeds.Each(t, 60, func(t *testing.T, seed uint64) {
		s := newRandomGateway(t, seed)
		opt := attach.Options{ListenerSets: true}
		v := cluster.NewView(s.src)
		want := attach.Evaluate(v, s.gateway, s.kind, opt)
		got := attach.Evaluate(cluster.NewView(enginetest.NewViewedSource(s.src, v)), s.gateway, s.kind, opt)
		if diff := gocmp.Diff(want, got, cmpopts.IgnoreUnexported(attach.Result{}), cmpopts.IgnoreFields(attach.Result{}, "Grants")); diff != "" {
			t.Fatal(diff)
		}
	})
}

// randomGateway is a random Gateway with the objects that may attach to it.
type randomGateway struct {
	rnd     *rand.Rand
	src     *cluster.Memory
	kind    model.Kind
	gateway *gatewayv1.Gateway
	sets    []*gatewayv1.ListenerSet
	routes  []cluster.Object
}

var (
	possibleNamespaces   = []string{"n0", "n1", "n2"} // namespace "n1" has the label team=a
	possibleHosts        = []string{"", "*.o", "*.a.o", "a.o", "b.a.o", "*.b.a.o", "c.b.a.o", "x"}
	possibleRequestHosts = []string{"o", "a.o", "b.o", "b.a.o", "c.a.o", "c.b.a.o", "d.c.b.a.o", "x", "y"}
	possibleProtocols    = map[model.Kind][]gatewayv1.ProtocolType{
		model.ALBGateway: {"HTTP", "HTTP", "HTTP", "HTTPS", "TCP"}, model.NLBGateway: {"TCP", "UDP", "TLS", "HTTP"},
	}
)

func newRandomGateway(t *testing.T, seed uint64) *randomGateway {
	t.Helper()
	src, err := cluster.NewMemory(clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	s := &randomGateway{rnd: rand.New(rand.NewPCG(seed, 1)), src: src, kind: []model.Kind{model.ALBGateway, model.NLBGateway}[seed%2]}
	put := func(obj cluster.Object) {
		if err := src.Put(obj); err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range possibleNamespaces {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: n}}
		if i == 1 {
			ns.Labels = map[string]string{"team": "a"}
		}
		put(ns)
	}
	s.gateway = &gatewayv1.Gateway{ObjectMeta: s.meta("n0", "g")}
	for i := range s.rnd.IntN(4) {
		s.gateway.Spec.Listeners = append(s.gateway.Spec.Listeners, gatewayv1.Listener(s.randomListener(i)))
	}
	if from, sel := s.randomAllowedNamespaces(true); from != nil {
		s.gateway.Spec.AllowedListeners = &gatewayv1.AllowedListeners{Namespaces: &gatewayv1.ListenerNamespaces{From: from, Selector: sel}}
	}
	put(s.gateway)
	for i := range s.rnd.IntN(4) {
		set := &gatewayv1.ListenerSet{ObjectMeta: s.meta(s.randomNamespace(), fmt.Sprintf("s%d", i))}
		ns := gatewayv1.Namespace("n0")
		set.Spec.ParentRef = gatewayv1.ParentGatewayReference{Name: "g", Namespace: &ns}
		if s.rnd.IntN(6) == 0 {
			set.Spec.ParentRef.Name = "other"
		}
		for j := range 1 + s.rnd.IntN(3) {
			set.Spec.Listeners = append(set.Spec.Listeners, s.randomListener(j))
		}
		s.sets = append(s.sets, set)
		put(set)
	}
	for i := range 1 + s.rnd.IntN(5) {
		r := s.randomRoute(i)
		s.routes = append(s.routes, r)
		put(r)
	}
	return s
}

func (s *randomGateway) randomNamespace() string {
	return possibleNamespaces[s.rnd.IntN(len(possibleNamespaces))]
}

func (s *randomGateway) meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name, CreationTimestamp: metav1.Unix(int64(1000+s.rnd.IntN(3)), 0)}
}

// randomAllowedNamespaces returns random values for the fields from and selector of allowed namespaces; nil if a field is
// not set. If none is true, from can be "None".
func (s *randomGateway) randomAllowedNamespaces(none bool) (*gatewayv1.FromNamespaces, *metav1.LabelSelector) {
	all := []gatewayv1.FromNamespaces{"All", "Same", "Selector", "Selector", "All"}
	if none {
		all = append(all, "None")
	}
	switch f := all[s.rnd.IntN(len(all))]; {
	case s.rnd.IntN(5) == 0:
		return nil, nil
	case f == "Selector" && s.rnd.IntN(4) > 0:
		return &f, &metav1.LabelSelector{MatchLabels: map[string]string{"team": "a"}}
	default:
		return &f, nil
	}
}

func (s *randomGateway) randomListener(i int) gatewayv1.ListenerEntry {
	protocols := possibleProtocols[s.kind]
	l := gatewayv1.ListenerEntry{
		Name: gatewayv1.SectionName(fmt.Sprintf("l%d", i)), Port: gatewayv1.PortNumber(80 + s.rnd.IntN(2)),
		Protocol: protocols[s.rnd.IntN(len(protocols))],
	}
	if h := gatewayv1.Hostname(possibleHosts[s.rnd.IntN(len(possibleHosts))]); h != "" && l.Protocol != "TCP" && l.Protocol != "UDP" {
		l.Hostname = &h
	}
	if l.Protocol == "TLS" {
		mode := []gatewayv1.TLSModeType{"Terminate", "Passthrough"}[s.rnd.IntN(2)]
		l.TLS = &gatewayv1.ListenerTLSConfig{Mode: &mode}
	}
	if s.rnd.IntN(6) == 0 {
		return l
	}
	from, sel := s.randomAllowedNamespaces(false)
	l.AllowedRoutes = &gatewayv1.AllowedRoutes{Namespaces: &gatewayv1.RouteNamespaces{From: from, Selector: sel}}
	for range s.rnd.IntN(5) - 2 {
		kinds := append(slices.Clone(cluster.RouteKinds), "FooRoute")
		l.AllowedRoutes.Kinds = append(l.AllowedRoutes.Kinds, gatewayv1.RouteGroupKind{Kind: gatewayv1.Kind(kinds[s.rnd.IntN(len(kinds))])})
	}
	return l
}

func (s *randomGateway) randomRoute(i int) cluster.Object {
	meta := s.meta(s.randomNamespace(), fmt.Sprintf("r%d", i))
	var spec gatewayv1.CommonRouteSpec
	for range 1 + s.rnd.IntN(3) {
		p := gatewayv1.ParentReference{Name: "g"}
		ns := gatewayv1.Namespace("n0")
		if s.rnd.IntN(3) == 0 && len(s.sets) > 0 {
			set := s.sets[s.rnd.IntN(len(s.sets))]
			kind := gatewayv1.Kind("ListenerSet")
			p.Kind, p.Name, ns = &kind, gatewayv1.ObjectName(set.Name), gatewayv1.Namespace(set.Namespace)
		}
		p.Namespace = &ns
		if s.rnd.IntN(3) == 0 {
			name := gatewayv1.SectionName(fmt.Sprintf("l%d", s.rnd.IntN(3)))
			p.SectionName = &name
		}
		if s.rnd.IntN(4) == 0 {
			port := gatewayv1.PortNumber(80 + s.rnd.IntN(2))
			p.Port = &port
		}
		spec.ParentRefs = append(spec.ParentRefs, p)
	}
	var hosts []gatewayv1.Hostname
	for range s.rnd.IntN(4) {
		if h := possibleHosts[s.rnd.IntN(len(possibleHosts))]; h != "" {
			hosts = append(hosts, gatewayv1.Hostname(h))
		}
	}
	switch s.rnd.IntN(8) {
	case 0:
		return &gatewayv1.TCPRoute{ObjectMeta: meta, Spec: gatewayv1.TCPRouteSpec{CommonRouteSpec: spec}}
	case 1:
		return &gatewayv1.UDPRoute{ObjectMeta: meta, Spec: gatewayv1.UDPRouteSpec{CommonRouteSpec: spec}}
	case 2, 3:
		return &gatewayv1.TLSRoute{ObjectMeta: meta, Spec: gatewayv1.TLSRouteSpec{CommonRouteSpec: spec, Hostnames: hosts}}
	case 4:
		return &gatewayv1.GRPCRoute{ObjectMeta: meta, Spec: gatewayv1.GRPCRouteSpec{CommonRouteSpec: spec, Hostnames: hosts}}
	}
	return &gatewayv1.HTTPRoute{ObjectMeta: meta, Spec: gatewayv1.HTTPRouteSpec{CommonRouteSpec: spec, Hostnames: hosts}}
}

// The functions below implement the specification by brute force.

// hostMatches reports whether hostname matches the requested host. An empty hostname matches every host, and "*." at the
// beginning is a wildcard.
func hostMatches(hostname, request string) bool {
	if suffix, ok := strings.CutPrefix(hostname, "*."); ok {
		return len(request) > len(suffix)+1 && strings.HasSuffix(request, "."+suffix)
	}
	return hostname == "" || hostname == request
}

func isNamespaceAllowed(from *gatewayv1.FromNamespaces, sel *metav1.LabelSelector, def gatewayv1.FromNamespaces, own, namespace string) bool {
	if from == nil {
		from = &def
	}
	return *from == "All" || *from == "Same" && own == namespace || *from == "Selector" && sel != nil && namespace == "n1"
}

func (s *randomGateway) acceptsSet(set *gatewayv1.ListenerSet) bool {
	a := s.gateway.Spec.AllowedListeners
	return a != nil && isNamespaceAllowed(a.Namespaces.From, a.Namespaces.Selector, "None", "n0", set.Namespace)
}

// referencingSets returns the ListenerSets that reference the Gateway, in order of precedence.
func (s *randomGateway) referencingSets() []*gatewayv1.ListenerSet {
	out := slices.DeleteFunc(slices.Clone(s.sets), func(set *gatewayv1.ListenerSet) bool { return set.Spec.ParentRef.Name != "g" })
	slices.SortFunc(out, func(a, b *gatewayv1.ListenerSet) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), strings.Compare(a.Namespace+"/"+a.Name, b.Namespace+"/"+b.Name))
	})
	return out
}

func (s *randomGateway) checkSets(t *testing.T, got attach.Result) {
	want := s.referencingSets()
	if len(got.Sets) != len(want) {
		t.Fatalf("%d sets, want %d", len(got.Sets), len(want))
	}
	for i, set := range want {
		if g := got.Sets[i]; g.Object.Name != set.Name || g.Accepted != s.acceptsSet(set) {
			t.Errorf("set %s accepted: %t; want %s: %t", g.Object.Name, g.Accepted, set.Name, s.acceptsSet(set))
		}
	}
}

type expectedListener struct {
	kind, namespace, parent string
	spec                    gatewayv1.ListenerEntry
}

func (s *randomGateway) expectedListeners() (out []expectedListener) {
	for _, l := range s.gateway.Spec.Listeners {
		out = append(out, expectedListener{"Gateway", "n0", "g", gatewayv1.ListenerEntry(l)})
	}
	for _, set := range s.referencingSets() {
		for _, l := range set.Spec.Listeners {
			if s.acceptsSet(set) {
				out = append(out, expectedListener{"ListenerSet", set.Namespace, set.Name, l})
			}
		}
	}
	return out
}

func (l expectedListener) host() string {
	if l.spec.Hostname == nil {
		return ""
	}
	return string(*l.spec.Hostname)
}

// supportsKind reports whether a listener supports routes of a kind, according to the type of the load balancer, the
// protocol of the listener, and allowedRoutes.kinds.
func (s *randomGateway) supportsKind(l expectedListener, kind string) bool {
	layer := map[model.Kind]string{model.ALBGateway: " HTTPRoute GRPCRoute ", model.NLBGateway: " TCPRoute UDPRoute TLSRoute "}[s.kind]
	of := map[gatewayv1.ProtocolType]string{
		"HTTP": " HTTPRoute ", "HTTPS": " HTTPRoute GRPCRoute ", "TCP": " TCPRoute ", "UDP": " UDPRoute ", "TLS": " TLSRoute TCPRoute ",
	}[l.spec.Protocol]
	if a := l.spec.AllowedRoutes; a != nil && len(a.Kinds) > 0 {
		of = ""
		for _, k := range a.Kinds {
			of += " " + string(k.Kind) + " "
		}
	}
	return strings.Contains(layer, " "+kind+" ") && strings.Contains(of, " "+kind+" ")
}

func (s *randomGateway) isServable(l expectedListener) bool {
	layer := map[model.Kind]string{model.ALBGateway: " HTTP HTTPS ", model.NLBGateway: " TCP UDP TLS "}[s.kind]
	if a := l.spec.AllowedRoutes; a != nil && len(a.Kinds) > 0 &&
		!slices.ContainsFunc(cluster.RouteKinds, func(k cluster.Kind) bool { return s.supportsKind(l, string(k)) }) {
		return false
	}
	return strings.Contains(layer, " "+string(l.spec.Protocol)+" ")
}

func (s *randomGateway) isValidListener(all []expectedListener, i int) bool {
	name := func(l expectedListener) string {
		if l.spec.TLS != nil {
			return "TLS" + string(*l.spec.TLS.Mode)
		}
		return string(l.spec.Protocol)
	}
	l := all[i]
	if !s.isServable(l) {
		return false
	}
	for j, o := range all[:i] {
		if o.spec.Port != l.spec.Port || !s.isValidListener(all, j) {
			continue
		}
		layer4 := l.spec.Protocol == "TCP" || l.spec.Protocol == "UDP"
		pair := name(o) + name(l)
		switch {
		case s.kind == model.NLBGateway && (o.kind != l.kind || o.namespace != l.namespace || o.parent != l.parent):
			return false // an NLB has one route per port
		case name(o) != name(l) && pair != "TCPUDP" && pair != "UDPTCP":
			return false
		case name(o) == name(l) && (layer4 || o.host() == l.host()):
			return false // not distinct
		}
	}
	return true
}

// selectsListener reports whether a parentRef selects a listener.
func selectsListener(p gatewayv1.ParentReference, l expectedListener) bool {
	kind := "Gateway"
	if p.Kind != nil {
		kind = string(*p.Kind)
	}
	return kind == l.kind && string(p.Name) == l.parent && string(*p.Namespace) == l.namespace &&
		(p.SectionName == nil || *p.SectionName == l.spec.Name) && (p.Port == nil || *p.Port == l.spec.Port)
}

// refusalReason returns the reason why a listener does not accept a route; "" if it accepts the route.
func (s *randomGateway) refusalReason(l expectedListener, obj cluster.Object) string {
	kind, _ := cluster.KindOf(obj)
	var from *gatewayv1.FromNamespaces
	var sel *metav1.LabelSelector
	if a := l.spec.AllowedRoutes; a != nil {
		from, sel = a.Namespaces.From, a.Namespaces.Selector
	}
	if !isNamespaceAllowed(from, sel, "Same", l.namespace, obj.GetNamespace()) || !s.supportsKind(l, string(kind)) {
		return "NotAllowedByListeners"
	}
	if kind != cluster.KindTCPRoute && kind != cluster.KindUDPRoute &&
		!slices.ContainsFunc(possibleRequestHosts, func(r string) bool { return hostMatches(l.host(), r) && s.routeMatchesHost(obj, r) }) {
		return "NoMatchingListenerHostname"
	}
	return ""
}

// routeMatchesHost reports whether the hostnames of a route match a requested host.
func (s *randomGateway) routeMatchesHost(obj cluster.Object, request string) bool {
	hosts := attach.Hostnames(obj)
	return len(hosts) == 0 || slices.ContainsFunc(hosts, func(h string) bool { return hostMatches(h, request) })
}

func (s *randomGateway) checkRoutes(t *testing.T, got attach.Result, listeners []expectedListener) {
	counted := make([]int, len(listeners))
	for _, obj := range s.routes {
		parents, _ := cluster.RouteParents(obj)
		i := slices.IndexFunc(got.Routes, func(r attach.Route) bool { return r.Object.GetName() == obj.GetName() })
		attachedTo := map[int]bool{}
		for n, p := range parents {
			var want []int
			refusal := ""
			for i, l := range listeners {
				if !selectsListener(p, l) {
					continue
				}
				switch why := s.refusalReason(l, obj); {
				case why == "":
					want = append(want, i)
					attachedTo[i] = true
				case refusal == "":
					refusal = why
				}
			}
			var g attach.RouteParent
			if i >= 0 {
				if at := slices.IndexFunc(got.Routes[i].Parents, func(p attach.RouteParent) bool { return p.Index == n }); at >= 0 {
					g = got.Routes[i].Parents[at]
				}
			}
			var have []int
			for _, a := range g.Attachments {
				have = append(have, a.Listener)
			}
			if !slices.Equal(have, want) {
				t.Errorf("parent %d of %s is attached to %v, want %v", n, obj.GetName(), have, want)
			}
			if refusal != "" && len(want) == 0 && g.Problem.Reason != refusal || len(want) > 0 && g.Problem.Reason != "" {
				t.Errorf("parent %d of %s: %v, want %q", n, obj.GetName(), g.Problem, refusal)
			}
		}
		for i := range attachedTo {
			counted[i]++
		}
	}
	for i, l := range got.Listeners {
		if l.AttachedRoutes != counted[i] {
			t.Errorf("listener %d has %d routes, want %d", i, l.AttachedRoutes, counted[i])
		}
	}
}

// checkRequests checks which routes serve which requested hosts on each port, according to RoutesOnPort: without listener
// isolation, where each listener that matches the host counts, and with listener isolation, where only the most specific
// listener counts.
func (s *randomGateway) checkRequests(t *testing.T, got attach.Result, listeners []expectedListener, valid []bool) {
	for _, port := range []int32{80, 81} {
		for i, r := range got.Routes {
			if r.Kind == cluster.KindTCPRoute || r.Kind == cluster.KindUDPRoute {
				continue // no hostnames
			}
			parents, _ := cluster.RouteParents(r.Object)
			for _, request := range possibleRequestHosts {
				best := -1 // length of the most specific hostname
				anyListener, want := false, false
				for n, l := range listeners {
					if !valid[n] || int32(l.spec.Port) != port || !hostMatches(l.host(), request) {
						continue
					}
					on := s.refusalReason(l, r.Object) == "" && s.routeMatchesHost(r.Object, request) &&
						slices.ContainsFunc(parents, func(p gatewayv1.ParentReference) bool { return selectsListener(p, l) })
					anyListener = anyListener || on
					switch {
					case len(l.host()) > best:
						best, want = len(l.host()), on
					case len(l.host()) == best:
						want = want || on
					}
				}
				open, isolated := servesRequest(got.RoutesOnPort(port), i, request)
				if open != anyListener || isolated != want {
					t.Errorf("port %d, %s, request %q: served %t, want %t; with isolation %t, want %t\n%+v",
						port, r.Object.GetName(), request, open, anyListener, isolated, want, got.RoutesOnPort(port))
				}
			}
		}
	}
}

// servesRequest reports whether the route with index route serves a requested host. open is the result without listener
// isolation, isolated the result with listener isolation.
func servesRequest(all []attach.PortRoute, route int, request string) (open, isolated bool) {
	for _, p := range all {
		if p.Route != route {
			continue
		}
		best := -1
		for _, h := range p.Hostnames {
			if !hostMatches(h, request) {
				continue
			}
			open = true
			if !slices.Contains(p.IsolatedHostnames, h) {
				best = max(best, len(h))
			}
		}
		isolated = best >= 0 && !slices.ContainsFunc(p.CoveredHostnames, func(c string) bool { return hostMatches(c, request) && len(c) > best })
	}
	return open, isolated
}
