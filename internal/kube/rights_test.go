package kube

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/config/rights"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// roleServer is an API server that allows only the requests that roles allow. It stores Leases and Secrets, and has no other
// objects.
type roleServer struct {
	roles []rights.Role

	mu             sync.Mutex
	deniedRequests chan string // "resource verb"
	objects        map[string]json.RawMessage
}

func (s *roleServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	fail := func(code int, reason metav1.StatusReason) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{Status: "Failure", Reason: reason, Code: int32(code)})
	}
	// The path is /api/v1/… or /apis/group/version/…, followed by namespaces/name/ for namespaced resources.
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	gv := schema.GroupVersion{Version: path[1]}
	rest := path[2:]
	if path[0] == "apis" {
		gv, rest = schema.GroupVersion{Group: path[1], Version: path[2]}, path[3:]
	}
	namespace, name := "", ""
	if len(rest) > 2 && rest[0] == "namespaces" {
		namespace, rest = rest[1], rest[2:]
	}
	if len(rest) > 1 {
		name = rest[1]
	}
	verb := map[string]string{http.MethodPost: "create", http.MethodPut: "update", http.MethodGet: "get"}[r.Method]
	switch {
	case verb == "get" && name == "" && r.URL.Query().Get("watch") != "":
		verb = "watch"
	case verb == "get" && name == "":
		verb = "list"
	}
	if !rights.RolesAllow(s.roles, gv.Group, rest[0], verb, namespace, name) {
		select {
		case s.deniedRequests <- rest[0] + " " + verb:
		default:
		}
		fail(http.StatusForbidden, metav1.StatusReasonForbidden)
		return
	}
	switch verb {
	case "watch":
		if r.URL.Query().Get("sendInitialEvents") == "true" {
			fail(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid) // an API server that cannot stream lists
			return
		}
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	case "list":
		_ = json.NewEncoder(w).Encode(map[string]any{"apiVersion": gv.String(), "kind": string(kindOf(gv.Group, rest[0])) + "List", "metadata": map[string]any{"resourceVersion": "1"}, "items": []any{}})
	case "get":
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.objects[name] == nil {
			fail(http.StatusNotFound, metav1.StatusReasonNotFound)
			return
		}
		_, _ = w.Write(s.objects[name])
	default:
		var in json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			fail(http.StatusBadRequest, metav1.StatusReasonBadRequest)
			return
		}
		var of struct{ Metadata struct{ Name string } }
		_ = json.Unmarshal(in, &of) // an error would leave the name empty, but each lease has a name
		s.mu.Lock()
		defer s.mu.Unlock()
		s.objects[of.Metadata.Name] = in
		_, _ = w.Write(in)
	}
}

func newRoleServer(t *testing.T, roles []rights.Role) (*roleServer, *rest.Config) {
	t.Helper()
	s := &roleServer{roles: roles, deniedRequests: make(chan string, 1), objects: map[string]json.RawMessage{}}
	server := httptest.NewServer(s)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return s, &rest.Config{Host: server.URL, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
}

// resourceOf returns the plural resource name of a kind.
func resourceOf(k cluster.Kind) string {
	name := strings.ToLower(string(k))
	switch {
	case strings.HasSuffix(name, "ss"):
		return name + "es"
	case strings.HasSuffix(name, "s"):
		return name
	}
	return name + "s"
}

// kindOf returns the kind of a resource; "" if the controller does not read the resource.
func kindOf(group, resource string) cluster.Kind {
	for _, typ := range cluster.Types() {
		if resourceOf(typ.Kind) == resource && typ.GVK.Group == group {
			return typ.Kind
		}
	}
	return ""
}

// startInformer starts the informer of a kind with the permissions of roles, against a new roleServer. done is closed after
// the first listing.
func startInformer(t *testing.T, k cluster.Kind, roles []rights.Role) (s *roleServer, source *Source, done chan struct{}) {
	t.Helper()
	s, cfg := newRoleServer(t, roles)
	scheme, err := cluster.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	typ, _ := cluster.TypeOf(k)
	mapper := meta.NewDefaultRESTMapper(nil)
	scope := meta.RESTScopeRoot
	if typ.Namespaced {
		scope = meta.RESTScopeNamespace
	}
	gvr := typ.GVK.GroupVersion().WithResource(resourceOf(k))
	mapper.AddSpecific(typ.GVK, gvr, gvr, scope)
	opts := CacheOptions(scheme, "", 0, "")
	opts.Mapper = mapper
	if k != cluster.KindPod {
		opts.ByObject = nil
	}
	ctx, stop := context.WithCancel(t.Context())
	c, err := cache.New(cfg, opts)
	if err != nil {
		t.Fatal(err)
	}
	source, err = NewSource(ctx, c, "", []cluster.Kind{k}, nil)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Start(ctx) }()
	done = make(chan struct{})
	go func() {
		if source.WaitForSync(ctx) == nil {
			close(done)
		}
	}()
	t.Cleanup(func() { stop(); <-ended })
	return s, source, done
}

// TestWithoutListOrWatch checks that every informer needs both verbs: without the permission to list, its first listing
// fails; without the permission to watch, the API server refuses the watch.
func TestWithoutListOrWatch(t *testing.T) {
	t.Parallel()
	for _, role := range rights.KubernetesRoles {
		for _, rule := range role.Rules {
			for _, resource := range rule.Resources {
				if !slices.Contains(rule.Verbs, "list") {
					continue
				}
				kind := kindOf(rule.Group, resource)
				if kind == "" {
					t.Errorf("%s is of no kind that is read", resource)
					continue
				}
				for _, verb := range []string{"list", "watch"} {
					t.Run(resource+"/"+verb, func(t *testing.T) {
						s, source, _ := startInformer(t, kind, rights.RolesWithoutVerb(role.Name, resource, verb))
						if got := <-s.deniedRequests; got != resource+" "+verb {
							t.Errorf("%s is denied", got)
						}
						if verb == "list" && source.Synced() {
							t.Error("the source is synced without a listing")
						}
					})
				}
				t.Run(resource+"/both", func(t *testing.T) {
					s, _, done := startInformer(t, kind, rights.KubernetesRoles)
					select {
					case <-done:
					case got := <-s.deniedRequests:
						t.Errorf("%s is denied", got)
					}
				})
			}
		}
	}
}

// TestWithoutVerbOfTheLease checks that a missing verb on leases is an error. Without get or create, the lease is not
// acquired, and the fence permits no write.
func TestWithoutVerbOfTheLease(t *testing.T) {
	t.Parallel()
	const name = "aws-load-balancer-controller-leader"
	for _, verb := range []string{"", "create", "get", "update"} {
		t.Run("leases/"+verb, func(t *testing.T) {
			_, cfg := newRoleServer(t, rights.RolesWithoutVerb("fulcrum-leader-election", "leases", verb))
			lease, err := NewLease(t.Context(), cfg, rights.Namespace, name, clock.RealClock{})
			if err != nil {
				t.Fatal(err)
			}
			mine := resourcelock.LeaderElectionRecord{HolderIdentity: lease.Identity()}
			_, _, err = lease.Get(t.Context())
			if apierrors.IsNotFound(err) {
				err = lease.Create(t.Context(), mine)
			}
			held := lease.CheckFence() == nil
			if err == nil {
				err = lease.Update(t.Context(), mine)
			}
			switch {
			case verb == "" && (err != nil || !held):
				t.Errorf("held %t: %v", held, err)
			case verb != "" && !apierrors.IsForbidden(err):
				t.Errorf("got %v", err)
			case (verb == "create" || verb == "get") && held:
				t.Error("the lease is held")
			}
		})
	}
}

// TestWithoutVerbOfTheCheckpoints checks that writing checkpoints fails with Forbidden if any verb on Secrets is missing.
// Reading checkpoints fails only without get.
func TestWithoutVerbOfTheCheckpoints(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"", "create", "get", "update"} {
		t.Run("secrets/"+verb, func(t *testing.T) {
			// Only the leader election role is used, because another role also allows creating Secrets.
			roles := slices.DeleteFunc(rights.RolesWithoutVerb("fulcrum-leader-election", "secrets", verb), func(r rights.Role) bool { return r.Name != "fulcrum-leader-election" })
			_, cfg := newRoleServer(t, roles)
			scheme, err := cluster.NewScheme()
			if err != nil {
				t.Fatal(err)
			}
			mapper := meta.NewDefaultRESTMapper(nil)
			mapper.Add(corev1.SchemeGroupVersion.WithKind("Secret"), meta.RESTScopeNamespace)
			live, err := client.New(cfg, client.Options{Scheme: scheme, Mapper: mapper})
			if err != nil {
				t.Fatal(err)
			}
			store := SecretStore{API: ClientAPI{live}, Namespace: rights.Namespace, Name: CheckpointsName}
			err = store.Write(t.Context(), "one")
			if err == nil {
				err = store.Write(t.Context(), "two")
			}
			text, unavailable := store.Read(t.Context())
			switch {
			case verb == "" && (err != nil || unavailable != nil || text != "two"):
				t.Errorf("got %q, %v, %v", text, err, unavailable)
			case verb != "" && !apierrors.IsForbidden(err):
				t.Errorf("got %v", err)
			case apierrors.IsForbidden(unavailable) != (verb == "get"):
				t.Errorf("reading gives %v", unavailable)
			}
		})
	}
}

// TestWithoutVerbOfTheVersions checks that BundleVersions returns an error if the permission to read the CRDs of the Gateway
// API is missing.
func TestWithoutVerbOfTheVersions(t *testing.T) {
	t.Parallel()
	for _, verb := range []string{"", "get"} {
		t.Run("customresourcedefinitions/"+verb, func(t *testing.T) {
			_, cfg := newRoleServer(t, rights.RolesWithoutVerb("fulcrum-gateway-versions", "customresourcedefinitions", verb))
			definitions, err := metadata.NewForConfig(cfg)
			if err != nil {
				t.Fatal(err)
			}
			_, err = BundleVersions(t.Context(), definitions, []cluster.Kind{cluster.KindGateway})
			if denied := apierrors.IsForbidden(err); denied != (verb != "") {
				t.Errorf("got %v", err)
			}
		})
	}
}

// TestLeaseShowsTheFlagsOfItsHolder checks that PublishedFlags returns the flags of the holder of the Lease, and not those
// of another controller. Writing the flags needs no further permissions.
func TestLeaseShowsTheFlagsOfItsHolder(t *testing.T) {
	t.Parallel()
	const name = "aws-load-balancer-controller-leader"
	server, cfg := newRoleServer(t, rights.RolesWithoutVerb("fulcrum-leader-election", "leases", ""))
	lease, err := NewLease(t.Context(), cfg, rights.Namespace, name, clock.RealClock{})
	if err != nil {
		t.Fatal(err)
	}
	flags := []string{"--cluster-name=prod", "--default-target-type=ip"}
	lease.PublishFlags(flags)
	mine := resourcelock.LeaderElectionRecord{HolderIdentity: lease.Identity()}
	shown := func() (*coordinationv1.Lease, []string, bool) {
		t.Helper()
		var out coordinationv1.Lease
		for _, raw := range server.objects {
			if err := json.Unmarshal(raw, &out); err != nil {
				t.Fatal(err)
			}
		}
		flags, known := PublishedFlags(&out)
		return &out, flags, known
	}
	_, _, err = lease.Get(t.Context())
	if apierrors.IsNotFound(err) {
		err = lease.Create(t.Context(), mine)
	}
	if err == nil {
		err = lease.Update(t.Context(), mine)
	}
	stored, got, known := shown()
	if err != nil || !known || !slices.Equal(got, flags) {
		t.Errorf("%q, %v, %v", got, known, err)
	}
	if err := lease.Update(t.Context(), resourcelock.LeaderElectionRecord{}); err != nil {
		t.Fatal(err)
	}
	if _, _, known := shown(); known {
		t.Error("the flags of a Lease without a holder are known")
	}
	another := "another"
	stored.Spec.HolderIdentity = &another
	if _, known := PublishedFlags(stored); known {
		t.Error("the flags of the previous holder are returned for another holder")
	}
	lease.PublishFlags([]string{"--default-tags=" + strings.Repeat("x", maxFlagsBytes)})
	stored.Annotations[FlagsAnnotation] = strings.Repeat(" ", maxFlagsBytes) + `{"holder":"another","flags":["--x"]}`
	if _, known := PublishedFlags(stored); known || lease.flags.value != `{"holder":"`+lease.Identity()+`","flags":["--cluster-name=prod","--default-target-type=ip"]}` {
		t.Error("flags longer than maxFlagsBytes are published or read")
	}
}
