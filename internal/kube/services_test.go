package kube

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

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
	before  func() // an answer
}

func (s *serviceServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := strings.Split(r.URL.Path, "/") // /api/v1/namespaces/n/services/name
	name := path[len(path)-1]
	s.mu.Lock()
	s.asked = append(s.asked, path[4]+"/"+name)
	present, failing, hangs, before := s.present[name], s.failing, s.hangs, s.before
	s.mu.Unlock()
	if before != nil {
		before()
	}
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

func (s *serviceServer) change(set func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set()
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
	var passed atomic.Int64
	now := func() time.Time { return time.Unix(0, passed.Load()) }
	return NewServices(c, now), func(d time.Duration) { passed.Add(int64(d)) }
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
	pass(answerFor)
	s.change(func() { s.present["web"] = true })
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
	services.calls = rate.NewLimiter(0, 0)
	if obj, err := services.get(t.Context(), serviceRef("web")); obj != nil || err != nil || s.requests() != "" {
		t.Errorf("beyond the rate: got %v, %v, asked for %s", obj, err, s.requests())
	}
	for i := range maxShares + 10 {
		services.mayAsk(fmt.Sprintf("n%d", i), services.now())
	}
	if got := len(services.shares); got > maxShares {
		t.Errorf("the shares of %d namespaces are remembered", got)
	}
	for i := range maxAnswers + 10 {
		services.keep(serviceRef(fmt.Sprintf("s%d", i)), serviceAnswer{at: services.now()})
	}
	if got := len(services.answers); got > maxAnswers {
		t.Errorf("%d names are remembered", got)
	}
}

// A tenant who names many Services that do not exist, in some namespaces and without a pause, takes no calls from others.
func TestEachNamespaceHasAShareOfTheCalls(t *testing.T) {
	t.Parallel()
	s := &serviceServer{present: map[string]bool{"made": true}}
	services, pass := newServices(t, s)
	get := func(namespace, name string) cluster.Object {
		t.Helper()
		obj, err := services.get(t.Context(), cluster.Ref{Kind: cluster.KindService, Namespace: namespace, Name: name})
		if err != nil {
			t.Fatal(err)
		}
		return obj
	}
	const namespaces, rounds, names = 9, 5, 60
	for round := range rounds {
		for n := range namespaces {
			for i := range names {
				get(fmt.Sprintf("tenant%d", n), fmt.Sprintf("s%d-%d", round, i))
			}
		}
		if get(fmt.Sprintf("other%d", round), "made") == nil {
			t.Errorf("round %d: another namespace has no call left", round)
		}
		pass(time.Second)
	}
	if got, most := strings.Count(s.requests(), "tenant0/"), shareBurst+rounds*shareRate; got < shareBurst || got > most {
		t.Errorf("%d requests for the names of one namespace; want %d to %d", got, shareBurst, most)
	}
}

// An Ingress may name the same new Service on each of its paths: it exists for all of them, or for none.
func TestServiceIsThereForAllPaths(t *testing.T) {
	t.Parallel()
	s := &serviceServer{present: map[string]bool{"made": true}}
	services, pass := newServices(t, s)
	const paths = 3 * shareBurst
	found := func() (n int) {
		t.Helper()
		for range paths {
			obj, err := services.get(t.Context(), serviceRef("made"))
			if err != nil {
				t.Fatal(err)
			}
			if obj != nil {
				n++
			}
		}
		return n
	}
	if got := found(); got != paths || s.requests() != "n/made" {
		t.Errorf("found for %d of %d paths; asked for %s", got, paths, s.requests())
	}
	pass(answerFor)
	for services.mayAsk("n", services.now()) { // until no call is left
	}
	if got := found(); got != 0 {
		t.Errorf("without a call left: found for %d of %d paths", got, paths)
	}
}

// A Service that goes is not found for the time that an answer counts, also if it goes while the API server answers.
func TestServiceThatGoesIsNotRemembered(t *testing.T) {
	t.Parallel()
	s := &serviceServer{present: map[string]bool{"made": true}}
	services, _ := newServices(t, s)
	made := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "made"}}
	look := func() bool {
		t.Helper()
		obj, err := services.get(t.Context(), serviceRef("made"))
		if err != nil {
			t.Fatal(err)
		}
		return obj != nil
	}
	if !look() {
		t.Fatal("not found")
	}
	handler{notify: func(Event) {}, services: services}.OnDelete(made)
	s.change(func() { s.before = func() { services.gone(made) } })
	if !look() {
		t.Fatal("not found once more")
	}
	s.change(func() { s.present["made"] = false })
	if look() {
		t.Error("found after it has gone")
	}
}

// An API server that is slow holds up the runs of a namespace for a part of the time, however many names there are.
func TestSlowAnswersHoldUpANamespaceForATime(t *testing.T) {
	t.Parallel()
	s := &serviceServer{present: map[string]bool{}}
	services, pass := newServices(t, s)
	const slow = 3 * time.Second
	s.change(func() { s.before = func() { pass(slow) } })
	for i := range 60 {
		if _, err := services.get(t.Context(), serviceRef(fmt.Sprintf("s%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	if got, most := strings.Count(s.requests(), "n/"), waitsBurst/int(slow.Milliseconds())+2; got > most {
		t.Errorf("%d calls of %s; want at most %d", got, slow, most)
	}
}

// Those who cannot wait read what the informers hold.
func TestInformedAsksForNothing(t *testing.T) {
	t.Parallel()
	_, source, synced := informing(t, cluster.KindService, rights.Kubernetes)
	s := &serviceServer{present: map[string]bool{"made": true}}
	source.Services, _ = newServices(t, s)
	<-synced
	v := cluster.NewView(source.Informed())
	if _, ok := cluster.Get[*corev1.Service](v, cluster.KindService, "n", "made"); ok || v.Err() != nil || s.requests() != "" {
		t.Errorf("found: %v, %v; asked for %q", ok, v.Err(), s.requests())
	}
}

func TestNamesOfServicesAreForgotten(t *testing.T) {
	t.Parallel()
	services, pass := newServices(t, &serviceServer{})
	for i := range maxAnswers {
		services.keep(serviceRef(fmt.Sprintf("s%d", i)), serviceAnswer{at: services.now()})
	}
	pass(answerFor)
	services.keep(serviceRef("new"), serviceAnswer{at: services.now()})
	if got := len(services.answers); got != 1 {
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
			services, pass := newServices(t, c.server)
			if c.server.hangs {
				services.timeout = 50 * time.Millisecond
			}
			obj, err := services.get(t.Context(), serviceRef("web"))
			if obj != nil || (err != nil) != c.fails {
				t.Errorf("got %v, %v", obj, err)
			}
			// Another name of the namespace waits no longer.
			if obj, err := services.get(t.Context(), serviceRef("other")); obj != nil || (err != nil) != c.fails {
				t.Errorf("another name: got %v, %v", obj, err)
			}
			if got := strings.Count(c.server.requests(), "n/"); c.fails && got != 1 {
				t.Errorf("%d calls, want 1", got)
			}
			pass(failedFor)
			services.timeout = time.Minute
			c.server.change(func() { c.server.hangs, c.server.failing = false, 0 })
			if obj, err := services.get(t.Context(), serviceRef("other")); obj != nil || err != nil {
				t.Errorf("afterwards: got %v, %v", obj, err)
			}
		})
	}
}
