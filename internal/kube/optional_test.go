package kube

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// kindServer is an API server for discovery, lists and watches. Each installed kind has one object named "x", unless the
// kind is in empty.
type kindServer struct {
	mu              sync.Mutex
	installed       map[cluster.Kind]bool
	denied          map[cluster.Kind]bool
	empty           map[cluster.Kind]bool // kinds without objects
	dropConnections func()                // ends all connections
}

func (s *kindServer) setKinds(of map[cluster.Kind]bool, kinds ...cluster.Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, k := range kinds {
		of[k] = true
	}
}

func (s *kindServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	fail := func(code int, reason metav1.StatusReason) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{Status: "Failure", Reason: reason, Code: int32(code)})
	}
	resource := func(k cluster.Kind) string { return strings.ToLower(string(k)) + "s" }
	path := strings.Split(strings.TrimPrefix(r.URL.Path, "/apis/"), "/")
	for _, typ := range cluster.Types() {
		plural := resource(typ.Kind)
		if typ.Kind == cluster.KindGatewayClass {
			plural = "gatewayclasses"
		}
		if !s.installed[typ.Kind] || len(path) < 3 || path[0] != typ.GVK.Group || path[1] != typ.GVK.Version || path[len(path)-1] != plural {
			continue
		}
		switch {
		case s.denied[typ.Kind]:
			fail(http.StatusForbidden, metav1.StatusReasonForbidden)
		case r.URL.Query().Get("sendInitialEvents") == "true":
			fail(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid) // an API server that cannot stream lists
		case r.URL.Query().Get("watch") != "":
			w.(http.Flusher).Flush()
			s.mu.Unlock()
			<-r.Context().Done()
			s.mu.Lock()
		default:
			items := []any{map[string]any{"metadata": map[string]any{"namespace": "n", "name": "x", "uid": "u", "resourceVersion": "1"}}}
			if s.empty[typ.Kind] {
				items = []any{}
			}
			_ = json.NewEncoder(w).Encode(map[string]any{
				"apiVersion": typ.GVK.GroupVersion().String(), "kind": string(typ.Kind) + "List", "metadata": map[string]any{"resourceVersion": "1"},
				"items": items,
			})
		}
		return
	}
	if len(path) > 2 {
		fail(http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	}
	groups := map[string]*metav1.APIGroup{}
	lists := map[string]*metav1.APIResourceList{}
	all := &metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}, Groups: []metav1.APIGroup{}}
	for _, typ := range cluster.Types() {
		if !s.installed[typ.Kind] {
			continue
		}
		gv := typ.GVK.GroupVersion().String()
		if lists[gv] == nil {
			lists[gv] = &metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv}
			version := metav1.GroupVersionForDiscovery{GroupVersion: gv, Version: typ.GVK.Version}
			if g := groups[typ.GVK.Group]; g != nil {
				g.Versions = append(g.Versions, version)
			} else {
				groups[typ.GVK.Group] = &metav1.APIGroup{TypeMeta: metav1.TypeMeta{Kind: "APIGroup", APIVersion: "v1"}, Name: typ.GVK.Group,
					Versions: []metav1.GroupVersionForDiscovery{version}, PreferredVersion: version}
			}
		}
		plural := resource(typ.Kind)
		if typ.Kind == cluster.KindGatewayClass {
			plural = "gatewayclasses"
		}
		lists[gv].APIResources = append(lists[gv].APIResources, metav1.APIResource{
			Name: plural, Kind: string(typ.Kind), Namespaced: typ.Namespaced, Verbs: metav1.Verbs{"list", "watch"},
		})
	}
	for _, g := range groups {
		all.Groups = append(all.Groups, *g)
	}
	switch name := strings.TrimPrefix(r.URL.Path, "/apis/"); {
	case r.URL.Path == "/api":
		_ = json.NewEncoder(w).Encode(&metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions", APIVersion: "v1"}})
	case r.URL.Path == "/apis":
		_ = json.NewEncoder(w).Encode(all)
	case groups[name] != nil:
		_ = json.NewEncoder(w).Encode(groups[name])
	case lists[name] != nil:
		_ = json.NewEncoder(w).Encode(lists[name])
	default:
		fail(http.StatusNotFound, metav1.StatusReasonNotFound)
	}
}

// newKindServer starts an API server. It returns a source that reads from it, and a function that calls ReadInstallation.
func newKindServer(t *testing.T, s *kindServer) (*Source, func(kinds ...cluster.Kind) Installation) {
	t.Helper()
	server := httptest.NewServer(s)
	s.dropConnections = server.CloseClientConnections
	ctx, stop := context.WithCancel(t.Context())
	cfg := &rest.Config{Host: server.URL, QPS: -1}
	scheme, err := cluster.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	opts := CacheOptions(scheme, "", 0, "")
	opts.ByObject = nil // kindServer does not serve pods
	c, err := cache.New(cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	source, err := NewSource(ctx, c, "", []cluster.Kind{cluster.KindIngressClass}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	t.Cleanup(func() { stop(); server.CloseClientConnections(); <-ended; server.Close() })
	d, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	live, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return source, func(kinds ...cluster.Kind) Installation {
		t.Helper()
		out, err := ReadInstallation(ctx, d, live, "", kinds)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
}

func TestStartKindsAfterInstallation(t *testing.T) {
	s := &kindServer{installed: map[cluster.Kind]bool{}, denied: map[cluster.Kind]bool{}}
	s.setKinds(s.installed, cluster.KindIngressClass, cluster.KindGateway)
	source, find := newKindServer(t, s)
	gateways, routes := []cluster.Kind{cluster.KindGateway}, []cluster.Kind{cluster.KindTCPRoute, cluster.KindUDPRoute}
	source.AddOptionalKinds(append(gateways, routes...))

	if _, err := source.List(cluster.Query{Kind: cluster.KindGateway}); err == nil {
		t.Error("reading an optional kind before the source is synced is no error")
	}
	if err := source.StartKinds(t.Context(), gateways, nil); err != nil {
		t.Fatal(err)
	}
	if err := source.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := make(chan string, 10)
	if err := source.Watch(t.Context(), append(gateways, routes...), func(e Event) { events <- cluster.RefOf(e.New).String() }); err != nil {
		t.Fatal(err)
	}
	if got := <-events; got != "Gateway n/x" {
		t.Error(got)
	}
	list := func(k cluster.Kind) int {
		t.Helper()
		objs, err := source.List(cluster.Query{Kind: k})
		if err != nil {
			t.Fatal(err)
		}
		return len(objs)
	}
	if obj, err := source.Get(cluster.Ref{Kind: cluster.KindTCPRoute, Namespace: "n", Name: "x"}); obj != nil || err != nil {
		t.Error(obj, err)
	}
	if list(cluster.KindGateway) != 1 || list(cluster.KindTCPRoute) != 0 || !source.Installed(cluster.KindGateway) || source.Installed(cluster.KindTCPRoute) {
		t.Error("want only Gateways to be installed")
	}
	if _, err := source.List(cluster.Query{Kind: cluster.KindHTTPRoute}); err == nil {
		t.Error("a kind that was not asked for is empty")
	}

	found := find(append(gateways, routes...)...)
	if err := found.CheckServed(gateways); err != nil {
		t.Error(err)
	}
	if err := found.CheckServed(routes); err == nil || !strings.Contains(err.Error(), "TCPRoute of gateway.networking.k8s.io/v1, UDPRoute of") {
		t.Error(err)
	}
	s.setKinds(s.installed, routes...)
	s.setKinds(s.denied, cluster.KindUDPRoute)
	if err := find(routes...).CheckServed(routes); err == nil || !strings.Contains(err.Error(), "no permission to list kind UDPRoute; apply config/rbac") {
		t.Error(err)
	}
	if err := source.StartKinds(t.Context(), []cluster.Kind{cluster.KindTCPRoute}, gateways); err != nil {
		t.Fatal(err)
	}
	if list(cluster.KindTCPRoute) != 1 || list(cluster.KindUDPRoute) != 0 {
		t.Error("want objects of TCPRoute and none of UDPRoute")
	}
	if got := map[string]bool{<-events: true, <-events: true}; !got["Gateway n/x"] || !got["TCPRoute n/x"] {
		t.Error("events of", got)
	}
	if v := cluster.NewView(source); !v.Installed(cluster.KindTCPRoute) || v.Installed(cluster.KindUDPRoute) {
		t.Error("a view has wrong installed kinds")
	}
}

// TestStartKindsAfterAFailure checks that StartKinds starts none of its kinds while one of them cannot be listed, and that a
// later call starts all of them.
func TestStartKindsAfterAFailure(t *testing.T) {
	s := &kindServer{installed: map[cluster.Kind]bool{}, denied: map[cluster.Kind]bool{}}
	s.setKinds(s.installed, cluster.KindIngressClass, cluster.KindGateway)
	source, _ := newKindServer(t, s)
	kinds := []cluster.Kind{cluster.KindGateway, cluster.KindUDPRoute}
	source.AddOptionalKinds(kinds)
	if err := source.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := source.StartKinds(t.Context(), kinds, nil); err == nil || source.Installed(cluster.KindGateway) {
			t.Fatalf("started without UDPRoute: %v", err)
		}
	}
	s.setKinds(s.installed, cluster.KindUDPRoute)
	if err := source.StartKinds(t.Context(), kinds, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := source.List(cluster.Query{Kind: cluster.KindGateway}); err != nil || !source.Installed(cluster.KindUDPRoute) {
		t.Errorf("not started: %v", err)
	}
}

// TestStopKindsAfterRemoval checks that StopKinds stops the informer of a kind after its CRD was removed and its objects
// were deleted, but not while an object exists. After the CRD is installed again, StartKinds starts the kind again.
func TestStopKindsAfterRemoval(t *testing.T) {
	s := &kindServer{installed: map[cluster.Kind]bool{}, denied: map[cluster.Kind]bool{}, empty: map[cluster.Kind]bool{}}
	s.setKinds(s.installed, cluster.KindIngressClass, cluster.KindTCPRoute)
	source, find := newKindServer(t, s)
	routes := []cluster.Kind{cluster.KindTCPRoute}
	source.AddOptionalKinds(routes)
	if err := source.StartKinds(t.Context(), routes, nil); err != nil {
		t.Fatal(err)
	}
	if err := source.WaitForSync(t.Context()); err != nil {
		t.Fatal(err)
	}
	events := make(chan string, 10)
	if err := source.Watch(t.Context(), routes, func(e Event) {
		if e.New == nil {
			events <- "gone"
		} else {
			events <- "there"
		}
	}); err != nil {
		t.Fatal(err)
	}
	next := func(want string) {
		t.Helper()
		select {
		case got := <-events:
			if got != want {
				t.Fatalf("the event says %q, want %q", got, want)
			}
		case <-time.After(time.Minute):
			t.Fatalf("no event %q within a minute", want)
		}
	}
	next("there")
	typ, _ := cluster.TypeOf(cluster.KindTCPRoute)
	informer, err := source.cache.GetInformer(t.Context(), typ.New())
	if err != nil {
		t.Fatal(err)
	}
	stopKinds := func(want int) {
		t.Helper()
		ended, err := source.StopKinds(t.Context(), routes, nil)
		if err != nil || len(ended) != want {
			t.Fatal(ended, err)
		}
	}
	stopKinds(0) // the object of the kind still exists
	s.setKinds(s.empty, cluster.KindTCPRoute)
	s.dropConnections()
	next("gone")
	s.mu.Lock()
	delete(s.installed, cluster.KindTCPRoute)
	s.mu.Unlock()
	if find(routes...).ServedKinds[cluster.KindTCPRoute] {
		t.Fatal("TCPRoute is still served")
	}
	stopKinds(1)
	for deadline := time.Now().Add(time.Minute); !informer.IsStopped(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the informer of TCPRoute is not stopped")
		}
	}
	if objs, err := source.List(cluster.Query{Kind: cluster.KindTCPRoute}); len(objs) > 0 || err != nil || source.Installed(cluster.KindTCPRoute) {
		t.Error(objs, err)
	}
	stopKinds(0)
	s.mu.Lock()
	s.installed[cluster.KindTCPRoute], s.empty[cluster.KindTCPRoute] = true, false
	s.mu.Unlock()
	if err := source.StartKinds(t.Context(), routes, nil); err != nil {
		t.Fatal(err)
	}
	next("there")
}
