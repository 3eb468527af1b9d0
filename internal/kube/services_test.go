package kube

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/fulcrum-lb/fulcrum/config/rights"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// serviceServer is as much of an API server as reading a Service needs.
type serviceServer struct {
	mu      sync.Mutex
	present map[string]bool
	failing int // the status code of each answer; 0: it works
	asked   []string
	hangs   bool
}

func (s *serviceServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(r.URL.Path, "/") // /api/v1/namespaces/n/services/name
	name := path[len(path)-1]
	s.mu.Lock()
	s.asked = append(s.asked, path[4]+"/"+name)
	present, failing, hangs := s.present[name], s.failing, s.hangs
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	fail := func(code int, reason metav1.StatusReason) {
		w.WriteHeader(code)
		_ = json.NewEncoder(w).Encode(metav1.Status{Status: "Failure", Reason: reason, Code: int32(code)})
	}
	switch {
	case hangs:
		<-r.Context().Done()
	case failing == http.StatusForbidden:
		fail(failing, metav1.StatusReasonForbidden)
	case failing != 0:
		fail(failing, metav1.StatusReasonInternalError)
	case !present:
		fail(http.StatusNotFound, metav1.StatusReasonNotFound)
	default:
		_ = json.NewEncoder(w).Encode(corev1.Service{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: metav1.ObjectMeta{Namespace: path[4], Name: name, Annotations: map[string]string{"others/note": "x"}},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		})
	}
}

func (s *serviceServer) requests() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.asked, " ")
}

// newServices returns what reads Services of such a server, and a function that lets time pass.
func newServices(t *testing.T, s *serviceServer) (*Services, func(time.Duration)) {
	t.Helper()
	server := httptest.NewServer(s)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	c, err := corev1client.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	return NewServices(c, func() time.Time { return now }), func(d time.Duration) { now = now.Add(d) }
}

func serviceRef(name string) cluster.Ref {
	return cluster.Ref{Kind: cluster.KindService, Namespace: "n", Name: name}
}

// The informer has no Service; the API server knows one that was made a moment ago.
func TestServiceThatTheInformerDoesNotHoldYet(t *testing.T) {
	t.Parallel()
	_, source, synced := informing(t, cluster.KindService, rights.Kubernetes)
	s := &serviceServer{present: map[string]bool{"made": true}}
	source.Services, _ = newServices(t, s)
	<-synced
	v := cluster.NewView(source)
	svc, ok := cluster.Get[*corev1.Service](v, cluster.KindService, "n", "made")
	if !ok || len(svc.Spec.Ports) != 1 || len(svc.Annotations) != 0 {
		t.Errorf("got %v, %v, %v; want the Service as an informer holds it", svc, ok, v.Err())
	}
	if _, ok := cluster.Get[*corev1.Service](v, cluster.KindService, "n", "absent"); ok || v.Err() != nil {
		t.Errorf("a Service that does not exist was found, or an error: %v", v.Err())
	}
	if got := s.requests(); got != "n/made n/absent" {
		t.Errorf("asked for %s", got)
	}
}

func TestAbsentServiceIsAskedForOnceInAWhile(t *testing.T) {
	t.Parallel()
	s := &serviceServer{present: map[string]bool{}}
	services, pass := newServices(t, s)
	look := func(name string) bool {
		t.Helper()
		obj, err := services.get(t.Context(), serviceRef(name))
		if err != nil {
			t.Fatal(err)
		}
		return obj != nil
	}
	for range 3 {
		if look("web") {
			t.Fatal("a Service that does not exist was found")
		}
	}
	if got := s.requests(); got != "n/web" {
		t.Errorf("asked for %s; want one request", got)
	}
	pass(absentFor)
	s.mu.Lock()
	s.present["web"] = true
	s.mu.Unlock()
	if !look("web") {
		t.Error("the Service was not found once its absence had to be looked at again")
	}
}

// A user chooses names. They bring about neither an error, nor a request to another path, nor more than some requests.
func TestNamesOfServicesAreBounded(t *testing.T) {
	t.Parallel()
	s := &serviceServer{present: map[string]bool{}}
	services, _ := newServices(t, s)
	for _, name := range []string{"", "a/b", "..", "a b", "A", "a%2fb", strings.Repeat("a", 64)} {
		if obj, err := services.get(t.Context(), serviceRef(name)); obj != nil || err != nil {
			t.Errorf("%q: got %v, %v", name, obj, err)
		}
	}
	if obj, err := services.get(t.Context(), cluster.Ref{Kind: cluster.KindService, Namespace: "a/b", Name: "web"}); obj != nil || err != nil {
		t.Errorf("namespace a/b: got %v, %v", obj, err)
	}
	if got := s.requests(); got != "" {
		t.Errorf("asked for %s", got)
	}
	services.rate = flowcontrol.NewFakeNeverRateLimiter()
	if obj, err := services.get(t.Context(), serviceRef("web")); obj != nil || err != nil || s.requests() != "" {
		t.Errorf("beyond the rate: got %v, %v, asked for %s", obj, err, s.requests())
	}
	for i := range maxShares + 10 {
		services.mayAsk(fmt.Sprintf("n%d", i))
	}
	if got := len(services.shares); got > maxShares {
		t.Errorf("the shares of %d namespaces are remembered", got)
	}
	for i := range maxAbsent + 10 {
		services.noteAbsent(serviceRef(fmt.Sprintf("s%d", i)))
	}
	if got := len(services.absent); got > maxAbsent {
		t.Errorf("%d names are remembered", got)
	}
}

// A tenant who names many Services that do not exist takes no calls from others.
func TestEachNamespaceHasAShareOfTheCalls(t *testing.T) {
	t.Parallel()
	s := &serviceServer{present: map[string]bool{"made": true}}
	services, _ := newServices(t, s)
	const names = 1000
	for i := range names {
		if _, err := services.get(t.Context(), serviceRef(fmt.Sprintf("s%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	if got := strings.Count(s.requests(), "n/"); got < shareBurst || got == names {
		t.Errorf("%d requests for %d names; want the share of a namespace", got, names)
	}
	obj, err := services.get(t.Context(), cluster.Ref{Kind: cluster.KindService, Namespace: "other", Name: "made"})
	if obj == nil || err != nil {
		t.Errorf("another namespace got %v, %v", obj, err)
	}
}

func TestNamesOfServicesAreForgotten(t *testing.T) {
	t.Parallel()
	services, pass := newServices(t, &serviceServer{})
	for i := range maxAbsent {
		services.noteAbsent(serviceRef(fmt.Sprintf("s%d", i)))
	}
	pass(absentFor)
	services.noteAbsent(serviceRef("new"))
	if got := len(services.absent); got != 1 {
		t.Errorf("%d names are remembered; want the new one", got)
	}
}

// Nothing is decided from an API server that does not answer. Where the right is missing, what the informer holds counts.
func TestServiceThatCannotBeRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		server *serviceServer
		fails  bool
	}{
		{"denied", &serviceServer{failing: http.StatusForbidden}, false},
		{"failing", &serviceServer{failing: http.StatusInternalServerError}, true},
		{"silent", &serviceServer{hangs: true}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			services, _ := newServices(t, c.server)
			if c.server.hangs {
				services.timeout = 50 * time.Millisecond
			}
			obj, err := services.get(t.Context(), serviceRef("web"))
			if obj != nil || (err != nil) != c.fails {
				t.Errorf("got %v, %v", obj, err)
			}
		})
	}
}
