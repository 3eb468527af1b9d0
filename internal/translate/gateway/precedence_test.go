package gateway_test

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// TestRequestsReachTheRouteThatTheSpecificationNames checks that the rules of an ALB forward each request to the route that
// the Gateway API specification selects. The test implements the specification literally. It selects the listener by its
// hostname. From the matches of all routes that are attached to this listener, it selects the match with the highest
// precedence.
func TestRequestsReachTheRouteThatTheSpecificationNames(t *testing.T) {
	t.Parallel()
	seeds.Each(t, 600, func(t *testing.T, seed uint64) {
		w := newRandomRouteSet(seed)
		stack, _ := enginetest.Translate(t, gateway.New(model.ALBGateway, gateway.Options{Options: assemble.Options{Cluster: "rig"}}), w.newStore(t),
			model.StackID{Kind: model.ALBGateway, Namespace: "infra", Name: "edge"}, nil)
		var rules []model.Rule
		for _, l := range stack.LoadBalancer.Listeners {
			rules = l.Rules
		}
		for range 60 {
			req := w.randomRequest()
			want := w.expectedMatch(req)
			got := "404"
			if i, ok := model.FirstMatchingRule(rules, req); ok {
				if _, forwards := rules[i].Actions[0].(model.Forward); forwards {
					at := rules[i].Origin
					got, _, _ = strings.Cut(at.Object.String()+" "+at.Field, " for ")
				}
			}
			if got != want {
				t.Fatalf("seed %d: %s %q on host %q with %v goes to %s, and the Gateway API says %s\n%s", seed, req.Method, req.Path+"?"+req.Query, req.Host, req.Header, got, want, goldentest.Dump(rules))
			}
		}
	})
}

var (
	hostNames      = []string{"", "a.com", "x.a.com", "y.x.a.com", "b.com", "*.a.com", "*.x.a.com", "*.com"}
	pathValues     = []string{"/", "/v", "/v/w", "/v/", "/vw", "/v/w/z"}
	requestMethods = []gwv1.HTTPMethod{"GET", "POST"}
	grpcServices   = []string{"", "pkg.Cart", "pkg.Cartage"}
	grpcMethods    = []string{"", "Get", "Put"}
)

// randomRouteSet is a Gateway with random routes.
type randomRouteSet struct {
	rnd        *rand.Rand
	gw         *gwv1.Gateway
	controller gwv1.GatewayController
	routes     []cluster.Object
}

func pick[T any](r *rand.Rand, of []T) T { return of[r.IntN(len(of))] }

func newRandomRouteSet(seed uint64) *randomRouteSet {
	rnd := rand.New(rand.NewPCG(seed, 7))
	w := &randomRouteSet{rnd: rnd, controller: pick(rnd, []gwv1.GatewayController{"gateway.k8s.aws/alb", "gateway.fulcrum.dev/aws"})}
	w.gw = &gwv1.Gateway{ObjectMeta: metav1.ObjectMeta{Namespace: "infra", Name: "edge", UID: "1"}, Spec: gwv1.GatewaySpec{GatewayClassName: "c"}}
	taken := map[string]bool{}
	for i := range 1 + rnd.IntN(4) {
		h := pick(rnd, hostNames)
		if taken[h] {
			continue
		}
		taken[h] = true
		l := gwv1.Listener{
			Name: gwv1.SectionName(fmt.Sprintf("l%d", i)), Protocol: gwv1.HTTPSProtocolType, Port: 443,
			AllowedRoutes: &gwv1.AllowedRoutes{Namespaces: &gwv1.RouteNamespaces{From: new(gwv1.NamespacesFromAll)}},
		}
		if h != "" {
			l.Hostname = new(gwv1.Hostname(h))
		}
		w.gw.Spec.Listeners = append(w.gw.Spec.Listeners, l)
	}
	for i := range 1 + rnd.IntN(5) {
		meta := metav1.ObjectMeta{
			Namespace: pick(rnd, []string{"a", "b"}), Name: fmt.Sprintf("r%d", i),
			CreationTimestamp: metav1.NewTime(time.Date(2026, 1, 1, rnd.IntN(3), 0, 0, 0, time.UTC)),
		}
		common := gwv1.CommonRouteSpec{ParentRefs: []gwv1.ParentReference{{Namespace: new(gwv1.Namespace("infra")), Name: "edge"}}}
		if rnd.IntN(2) == 0 {
			common.ParentRefs[0].SectionName = new(pick(rnd, w.gw.Spec.Listeners).Name)
		}
		var hosts []gwv1.Hostname
		for range rnd.IntN(3) {
			if h := pick(rnd, hostNames); h != "" {
				hosts = append(hosts, gwv1.Hostname(h))
			}
		}
		if rnd.IntN(4) == 0 {
			w.routes = append(w.routes, w.grpcRoute(meta, common, hosts))
		} else {
			w.routes = append(w.routes, w.httpRoute(meta, common, hosts))
		}
	}
	return w
}

func webBackend() gwv1.BackendRef {
	return gwv1.BackendRef{BackendObjectReference: gwv1.BackendObjectReference{Name: "web", Port: new(gwv1.PortNumber(80))}}
}

func (w *randomRouteSet) httpRoute(meta metav1.ObjectMeta, common gwv1.CommonRouteSpec, hosts []gwv1.Hostname) *gwv1.HTTPRoute {
	o := &gwv1.HTTPRoute{ObjectMeta: meta, Spec: gwv1.HTTPRouteSpec{CommonRouteSpec: common, Hostnames: hosts}}
	for range 1 + w.rnd.IntN(3) {
		r := gwv1.HTTPRouteRule{BackendRefs: []gwv1.HTTPBackendRef{{BackendRef: webBackend()}}}
		for range 1 + w.rnd.IntN(3) {
			r.Matches = append(r.Matches, w.httpMatch())
		}
		o.Spec.Rules = append(o.Spec.Rules, r)
	}
	return o
}

func (w *randomRouteSet) httpMatch() gwv1.HTTPRouteMatch {
	m := gwv1.HTTPRouteMatch{Path: &gwv1.HTTPPathMatch{Type: new(gwv1.PathMatchPathPrefix), Value: new(pick(w.rnd, pathValues))}}
	switch w.rnd.IntN(5) {
	case 0:
		m.Path.Type = new(gwv1.PathMatchExact)
	case 1:
		m.Path = &gwv1.HTTPPathMatch{Type: new(gwv1.PathMatchRegularExpression), Value: new(pick(w.rnd, []string{"^/v.*$", "^/[a-z]+$"}))}
	}
	if w.rnd.IntN(4) == 0 {
		m.Method = new(pick(w.rnd, requestMethods))
	}
	for _, name := range []gwv1.HTTPHeaderName{"x-a", "x-b"} {
		if w.rnd.IntN(5) == 0 {
			m.Headers = append(m.Headers, gwv1.HTTPHeaderMatch{Name: name, Value: pick(w.rnd, []string{"1", "2"})})
		}
	}
	for _, name := range []gwv1.HTTPHeaderName{"p", "q"} {
		if w.rnd.IntN(6) == 0 {
			m.QueryParams = append(m.QueryParams, gwv1.HTTPQueryParamMatch{Name: name, Value: pick(w.rnd, []string{"1", "2"})})
		}
	}
	// AWS permits five condition values in a rule: one for the hostname, two for a path prefix, and two others.
	if len(m.Headers)+len(m.QueryParams)+boolToInt(m.Method != nil) > 2 {
		m.QueryParams = nil
	}
	if len(m.Headers)+boolToInt(m.Method != nil) > 2 {
		m.Method = nil
	}
	return m
}

func (w *randomRouteSet) grpcRoute(meta metav1.ObjectMeta, common gwv1.CommonRouteSpec, hosts []gwv1.Hostname) *gwv1.GRPCRoute {
	o := &gwv1.GRPCRoute{ObjectMeta: meta, Spec: gwv1.GRPCRouteSpec{CommonRouteSpec: common, Hostnames: hosts}}
	for range 1 + w.rnd.IntN(3) {
		r := gwv1.GRPCRouteRule{BackendRefs: []gwv1.GRPCBackendRef{{BackendRef: webBackend()}}}
		for range w.rnd.IntN(3) {
			var m gwv1.GRPCRouteMatch
			service, procedure := pick(w.rnd, grpcServices), pick(w.rnd, grpcMethods)
			if service+procedure != "" {
				m.Method = &gwv1.GRPCMethodMatch{Type: new(gwv1.GRPCMethodMatchExact)}
				if service != "" {
					m.Method.Service = &service
				}
				if procedure != "" {
					m.Method.Method = &procedure
				}
			}
			if w.rnd.IntN(4) == 0 {
				m.Headers = []gwv1.GRPCHeaderMatch{{Name: "x-a", Value: "1"}}
			}
			r.Matches = append(r.Matches, m)
		}
		o.Spec.Rules = append(o.Spec.Rules, r)
	}
	return o
}

func (w *randomRouteSet) newStore(t *testing.T) cluster.Source {
	t.Helper()
	m, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	objs := []cluster.Object{&gwv1.GatewayClass{ObjectMeta: metav1.ObjectMeta{Name: "c"}, Spec: gwv1.GatewayClassSpec{ControllerName: w.controller}}, w.gw}
	for _, ns := range []string{"a", "b"} {
		objs = append(objs, &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "web"},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80, NodePort: 30080}}},
		})
	}
	if err := m.Put(append(objs, w.routes...)...); err != nil {
		t.Fatal(err)
	}
	return m
}

// randomRequest returns a random request that some of the matches may select.
func (w *randomRouteSet) randomRequest() model.Request {
	req := model.Request{
		Host: pick(w.rnd, []string{"a.com", "x.a.com", "y.x.a.com", "z.y.x.a.com", "b.com", "c.org", "q.com"}), Method: string(pick(w.rnd, requestMethods)),
		Path: pick(w.rnd, []string{"/", "/v", "/v/", "/v/w", "/v/w/", "/v/w/z", "/vw", "/vww", "/9", "/pkg.Cart/Get", "/pkg.Cart/Put", "/pkg.Cartage/Get", "/pkg.Cartage/Other"}),
	}
	for _, name := range []string{"x-a", "x-b"} {
		if v := w.rnd.IntN(3); v > 0 {
			req.Header = append(req.Header, model.HeaderField{Name: name, Value: fmt.Sprint(v)})
		}
	}
	var query []string
	for _, name := range []string{"p", "q"} {
		if v := w.rnd.IntN(3); v > 0 {
			query = append(query, fmt.Sprintf("%s=%d", name, v))
		}
	}
	req.Query = strings.Join(query, "&")
	return req
}

// candidate is a match that selects the request, with the keys by which the Gateway API compares matches.
type candidate struct {
	at      string
	keys    []int // compared in turn; a greater key has precedence
	created time.Time
	name    string
}

func (c candidate) hasPrecedenceOver(o candidate) bool {
	for i := range c.keys[:6] {
		if c.keys[i] != o.keys[i] {
			return c.keys[i] > o.keys[i]
		}
	}
	switch {
	case !c.created.Equal(o.created):
		return c.created.Before(o.created)
	case c.name != o.name:
		return c.name < o.name
	}
	for i := 6; i < len(c.keys); i++ { // the first rule, then its first match
		if c.keys[i] != o.keys[i] {
			return c.keys[i] < o.keys[i]
		}
	}
	return false
}

// hostSpecificity returns how specifically a hostname, which may be a wildcard, matches a host; 0 if it does not match.
func hostSpecificity(pattern, host string) int {
	switch {
	case pattern == "":
		return 1
	case pattern == host:
		return 1000
	case strings.HasPrefix(pattern, "*.") && strings.HasSuffix(host, pattern[1:]) && len(host) > len(pattern[1:]):
		return 1 + len(pattern)
	}
	return 0
}

// expectedMatch returns the match that serves a request according to the Gateway API specification; "404" if there is none.
func (w *randomRouteSet) expectedMatch(req model.Request) string {
	listener, best := -1, 0
	for i, l := range w.gw.Spec.Listeners {
		host := ""
		if l.Hostname != nil {
			host = string(*l.Hostname)
		}
		if n := hostSpecificity(host, req.Host); n > best {
			listener, best = i, n
		}
	}
	if listener < 0 {
		return "404"
	}
	var won *candidate
	for _, o := range w.routes {
		parents, _ := cluster.RouteParents(o)
		if s := parents[0].SectionName; s != nil && *s != w.gw.Spec.Listeners[listener].Name {
			continue
		}
		host := routeHostSpecificity(o, req.Host)
		if host == 0 {
			continue
		}
		// If the hostname of the listener is more specific than that of the route, the match gets the specificity of the
		// listener.
		for _, c := range candidates(o, req, max(host, best)) {
			if won == nil || c.hasPrecedenceOver(*won) {
				won = &c
			}
		}
	}
	if won == nil {
		return "404"
	}
	return won.at
}

func boolToInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// routeHostSpecificity returns how specifically the hostnames of a route match a host.
func routeHostSpecificity(o cluster.Object, host string) int {
	var all []gwv1.Hostname
	switch o := o.(type) {
	case *gwv1.HTTPRoute:
		all = o.Spec.Hostnames
	case *gwv1.GRPCRoute:
		all = o.Spec.Hostnames
	}
	if len(all) == 0 {
		return 1
	}
	best := 0
	for _, h := range all {
		best = max(best, hostSpecificity(string(h), host))
	}
	return best
}

// candidates returns the matches of a route that a request satisfies. host is the specificity of the hostname that matches
// the request.
func candidates(o cluster.Object, req model.Request, host int) []candidate {
	header := map[string]string{}
	for _, h := range req.Header {
		header[h.Name] = h.Value
	}
	var out []candidate
	add := func(kind cluster.Kind, i, j, path, length, second, method, headers, queries int) {
		at := fmt.Sprintf("%s %s/%s spec.rules[%d]", kind, o.GetNamespace(), o.GetName(), i)
		if j >= 0 {
			at += fmt.Sprintf(".matches[%d]", j)
		}
		order := []int{i, j}
		out = append(out, candidate{
			at: at, keys: append([]int{host, path*10000 + length, second, method, headers, queries}, order...),
			created: o.GetCreationTimestamp().Time, name: o.GetNamespace() + "/" + o.GetName(),
		})
	}
	switch o := o.(type) {
	case *gwv1.HTTPRoute:
		for i, r := range o.Spec.Rules {
			for j, m := range r.Matches {
				if path, length := httpPathRank(*m.Path, req.Path); path > 0 && matchesMethodHeadersAndQuery(m, req, header) {
					add(cluster.KindHTTPRoute, i, j, path, length, 0, boolToInt(m.Method != nil), len(m.Headers), len(m.QueryParams))
				}
			}
		}
	case *gwv1.GRPCRoute:
		for i, r := range o.Spec.Rules {
			if len(r.Matches) == 0 {
				add(cluster.KindGRPCRoute, i, -1, 0, 0, 0, 0, 0, 0)
			}
			for j, m := range r.Matches {
				if path, service, procedure := grpcPathRank(m, req.Path); path >= 0 && (len(m.Headers) == 0 || header["x-a"] == "1") {
					add(cluster.KindGRPCRoute, i, j, path, service, procedure, 0, len(m.Headers), 0)
				}
			}
		}
	}
	return out
}

// httpPathRank returns the rank of the type of a path match, and the length of its value. The rank is 0 if the path does not
// match.
func httpPathRank(m gwv1.HTTPPathMatch, path string) (rank, length int) {
	v := *m.Value
	switch *m.Type {
	case gwv1.PathMatchExact:
		if path == v {
			return 3, len(v)
		}
	case gwv1.PathMatchPathPrefix:
		// Compare element by element, without a trailing slash.
		want, have := strings.Split(strings.Trim(v, "/"), "/"), strings.Split(strings.TrimPrefix(path, "/"), "/")
		if v == "/" {
			return 2, 1
		}
		if len(have) < len(want) {
			return 0, 0
		}
		for i := range want {
			if want[i] != have[i] {
				return 0, 0
			}
		}
		return 2, len(v)
	case gwv1.PathMatchRegularExpression:
		if regexp.MustCompile(v).MatchString(path) {
			return 1, len(v)
		}
	}
	return 0, 0
}

func matchesMethodHeadersAndQuery(m gwv1.HTTPRouteMatch, req model.Request, header map[string]string) bool {
	if m.Method != nil && string(*m.Method) != req.Method {
		return false
	}
	for _, h := range m.Headers {
		if header[string(h.Name)] != h.Value {
			return false
		}
	}
	for _, q := range m.QueryParams {
		if !strings.Contains("&"+req.Query+"&", "&"+string(q.Name)+"="+q.Value+"&") {
			return false
		}
	}
	return true
}

// grpcPathRank returns the rank of a method match, and the lengths of its service and method. The rank is -1 if the path
// does not match.
func grpcPathRank(m gwv1.GRPCRouteMatch, path string) (rank, service, procedure int) {
	if m.Method == nil {
		return 0, 0, 0
	}
	s, p, ok := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	if m.Method.Service != nil {
		if ok = ok && *m.Method.Service == s; !ok {
			return -1, 0, 0
		}
		service = len(s)
	}
	if m.Method.Method != nil {
		if ok = ok && *m.Method.Method == p; !ok {
			return -1, 0, 0
		}
		procedure = len(p)
	}
	return 3, service, procedure
}
