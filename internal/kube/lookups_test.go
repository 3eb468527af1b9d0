package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/config/rights"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// serviceServer is an API server for Services and one Ingress.
type serviceServer struct {
	mu              sync.Mutex
	presentServices map[string]bool
	failureCode     int // HTTP status code of each answer; 0 for success
	requestedNames  []string
	hangs           bool
	beforeAnswer    func() // called before each answer
	ingress         *networkingv1.Ingress
}

func (s *serviceServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// The path is /api/v1/namespaces/n/services/NAME or /apis/networking.k8s.io/v1/namespaces/n/ingresses/NAME.
	_, path, _ := strings.Cut(r.URL.Path, "/namespaces/")
	part := strings.Split(path, "/")
	name := part[2]
	s.mu.Lock()
	s.requestedNames = append(s.requestedNames, part[0]+"/"+name)
	present, failing, hangs, before, ingress := s.presentServices[name], s.failureCode, s.hangs, s.beforeAnswer, s.ingress
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
	case part[1] == "ingresses" && ingress != nil:
		_ = json.NewEncoder(w).Encode(ingress)
	case !present:
		fail(http.StatusNotFound, metav1.StatusReasonNotFound)
	default:
		_ = json.NewEncoder(w).Encode(corev1.Service{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Service"},
			ObjectMeta: metav1.ObjectMeta{Namespace: part[0], Name: name, Annotations: map[string]string{"others/note": "x"}},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		})
	}
}

func (s *serviceServer) update(set func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	set()
}

func (s *serviceServer) requests() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.requestedNames, " ")
}

// RoundTrip answers a request without a network, so that a test in virtual time can wait for a request that hangs.
func (s *serviceServer) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	if err := context.Cause(r.Context()); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// newLookups returns Lookups that read from the server s, and a function that advances their clock.
func newLookups(t *testing.T, s *serviceServer) (*Lookups, func(time.Duration)) {
	t.Helper()
	scheme, err := cluster.NewScheme()
	if err != nil {
		t.Fatal(err)
	}
	mapper := meta.NewDefaultRESTMapper(nil)
	for _, kind := range []cluster.Kind{cluster.KindService, cluster.KindIngress} {
		typ, _ := cluster.TypeOf(kind)
		mapper.Add(typ.GVK, meta.RESTScopeNamespace)
	}
	c, err := client.New(&rest.Config{Host: "http://api.test", QPS: -1, Transport: s}, client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		t.Fatal(err)
	}
	clock := clocktesting.NewFakePassiveClock(time.Unix(0, 0))
	return NewLookups(c, clock), func(d time.Duration) { clock.SetTime(clock.Now().Add(d)) }
}

// newLookupSource returns a Source whose informer has no Service, and whose Lookups read from the server s.
func newLookupSource(t *testing.T, s *serviceServer) *Source {
	t.Helper()
	_, source, synced := startInformer(t, cluster.KindService, rights.KubernetesRoles)
	source.Lookups, _ = newLookups(t, s)
	<-synced
	return source
}

func serviceRef(name string) cluster.Ref {
	return cluster.Ref{Kind: cluster.KindService, Namespace: "n", Name: name}
}

// TestServiceMissingInTheInformerIsLookedUp checks that a Service that the informer has not received yet is read from the
// API server.
func TestServiceMissingInTheInformerIsLookedUp(t *testing.T) {
	t.Parallel()
	s := &serviceServer{presentServices: map[string]bool{"made": true}}
	source := newLookupSource(t, s)
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

func TestAbsentServiceIsRequestedRarely(t *testing.T) {
	t.Parallel()
	s := &serviceServer{presentServices: map[string]bool{}}
	lookups, advance := newLookups(t, s)
	look := func(name string) bool {
		t.Helper()
		obj, err := lookups.lookUp(t.Context(), serviceRef(name))
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
	advance(durations.BriefWait)
	s.update(func() { s.presentServices["web"] = true })
	if !look("web") {
		t.Error("the Service was not found once its absence had to be looked at again")
	}
}

// TestLookupsOfServiceNamesAreBounded checks that invalid names of Services cause neither an error nor a request, that no
// request is sent beyond the rate limit, and that the memory for names and namespaces is limited.
func TestLookupsOfServiceNamesAreBounded(t *testing.T) {
	t.Parallel()
	s := &serviceServer{presentServices: map[string]bool{}}
	lookups, _ := newLookups(t, s)
	for _, name := range []string{"", "a/b", "..", "a b", "A", "a%2fb", strings.Repeat("a", 64)} {
		if obj, err := lookups.lookUp(t.Context(), serviceRef(name)); obj != nil || err != nil {
			t.Errorf("%q: got %v, %v", name, obj, err)
		}
	}
	if obj, err := lookups.lookUp(t.Context(), cluster.Ref{Kind: cluster.KindService, Namespace: "a/b", Name: "web"}); obj != nil || err != nil {
		t.Errorf("namespace a/b: got %v, %v", obj, err)
	}
	if got := s.requests(); got != "" {
		t.Errorf("asked for %s", got)
	}
	lookups.callLimiter = rate.NewLimiter(0, 0)
	if obj, err := lookups.lookUp(t.Context(), serviceRef("web")); obj != nil || err != nil || s.requests() != "" {
		t.Errorf("beyond the rate: got %v, %v, asked for %s", obj, err, s.requests())
	}
	for i := range maxNamespaces + 10 {
		_, _ = lookups.reserveCall(cluster.Ref{Namespace: fmt.Sprintf("n%d", i)}, lookups.clock.Now())
	}
	if got := len(lookups.limitsByNamespace); got > maxNamespaces {
		t.Errorf("the limits of %d namespaces are remembered", got)
	}
	for i := range maxAnswers + 10 {
		lookups.storeAnswer(serviceRef(fmt.Sprintf("s%d", i)), lookupAnswer{at: lookups.clock.Now()})
	}
	if got := len(lookups.answers); got > maxAnswers {
		t.Errorf("%d names are remembered", got)
	}
}

// TestCallsAreLimitedPerNamespace checks that tenants who reference many missing Services do not use up the calls of other
// tenants.
func TestCallsAreLimitedPerNamespace(t *testing.T) {
	t.Parallel()
	s := &serviceServer{presentServices: map[string]bool{"made": true}}
	lookups, advance := newLookups(t, s)
	get := func(namespace, name string) cluster.Object {
		t.Helper()
		obj, err := lookups.lookUp(t.Context(), cluster.Ref{Kind: cluster.KindService, Namespace: namespace, Name: name})
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
		advance(time.Second)
	}
	if got, most := strings.Count(s.requests(), "tenant0/"), namespaceCallsBurst+rounds*namespaceCallsRate; got < namespaceCallsBurst || got > most {
		t.Errorf("%d requests for the names of one namespace; want %d to %d", got, namespaceCallsBurst, most)
	}
}

// TestServiceIsFoundForAllPaths checks that if many paths of an Ingress reference a new Service, the Service is found either
// for all of these paths or for none.
func TestServiceIsFoundForAllPaths(t *testing.T) {
	t.Parallel()
	s := &serviceServer{presentServices: map[string]bool{"made": true}}
	lookups, advance := newLookups(t, s)
	const paths = 3 * namespaceCallsBurst
	found := func() (n int) {
		t.Helper()
		for range paths {
			obj, err := lookups.lookUp(t.Context(), serviceRef("made"))
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
	advance(durations.BriefWait)
	for more := true; more; { // until the limits admit no call
		more, _ = lookups.reserveConfirmation(serviceRef("made"))
	}
	if got := found(); got != 0 {
		t.Errorf("without a call left: found for %d of %d paths", got, paths)
	}
}

// TestDeletedServiceIsNotRemembered checks that a Service is not cached any more after its deletion, also if it is deleted
// during the lookup.
func TestDeletedServiceIsNotRemembered(t *testing.T) {
	t.Parallel()
	s := &serviceServer{presentServices: map[string]bool{"made": true}}
	lookups, _ := newLookups(t, s)
	made := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "made"}}
	look := func() bool {
		t.Helper()
		obj, err := lookups.lookUp(t.Context(), serviceRef("made"))
		if err != nil {
			t.Fatal(err)
		}
		return obj != nil
	}
	if !look() {
		t.Fatal("not found")
	}
	informerHandler{watcher: watcher{notify: func(Event) {}}, lookups: lookups}.OnDelete(made)
	s.update(func() { s.beforeAnswer = func() { lookups.recordDeleted(made) } })
	if !look() {
		t.Fatal("not found once more")
	}
	s.update(func() { s.presentServices["made"] = false })
	if look() {
		t.Error("found after it has gone")
	}
}

// TestWaitsForSlowAnswersAreBounded checks that a slow API server delays the runs of a namespace only for a limited time.
func TestWaitsForSlowAnswersAreBounded(t *testing.T) {
	t.Parallel()
	s := &serviceServer{presentServices: map[string]bool{}}
	lookups, advance := newLookups(t, s)
	const slow = 3 * time.Second
	s.update(func() { s.beforeAnswer = func() { advance(slow) } })
	for i := range 60 {
		if _, err := lookups.lookUp(t.Context(), serviceRef(fmt.Sprintf("s%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	if got, most := strings.Count(s.requests(), "n/"), waitsBurst/int(slow.Milliseconds())+2; got > most {
		t.Errorf("%d calls of %s; want at most %d", got, slow, most)
	}
}

// TestConfirmBeforeAServiceCountsAsMissing checks that a view has the error StaleError if a referenced Service is missing
// and the Ingress that references it was edited, deleted or created again. The deletion of the Service may arrive before the
// edit that removed the reference.
func TestConfirmBeforeAServiceCountsAsMissing(t *testing.T) {
	t.Parallel()
	s := &serviceServer{presentServices: map[string]bool{}}
	read := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "web", UID: "1", ResourceVersion: "1", Generation: 1}}
	stored := func(edit func(*networkingv1.Ingress)) {
		ing := read.DeepCopy()
		ing.APIVersion, ing.Kind = "networking.k8s.io/v1", "Ingress"
		ing.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}}
		edit(ing)
		s.update(func() { s.ingress = ing })
	}
	for _, c := range []struct {
		name  string
		edit  func(*networkingv1.Ingress)
		stale bool
	}{
		{"same", func(*networkingv1.Ingress) {}, false},
		{"field that is not read", func(i *networkingv1.Ingress) {
			i.ResourceVersion, i.Annotations = "2", map[string]string{"others/note": "x"}
		}, false},
		{"edited", func(i *networkingv1.Ingress) { i.ResourceVersion, i.Generation = "2", 2 }, true},
		{"made again", func(i *networkingv1.Ingress) { i.ResourceVersion, i.UID = "2", "2" }, true},
	} {
		source := newLookupSource(t, s)
		stored(c.edit)
		s.update(func() { s.requestedNames = nil })
		v := cluster.NewView(source)
		for range 3 {
			cluster.GetReferenced[*corev1.Service](v, read, cluster.KindService, "n", "gone")
		}
		var stale cluster.StaleError
		if errors.As(v.Err(), &stale) != c.stale || v.Err() != nil && !c.stale {
			t.Errorf("%s: error %v", c.name, v.Err())
		}
		if got := s.requests(); got != "n/gone n/web" {
			t.Errorf("%s: asked for %s", c.name, got)
		}
	}
	source := newLookupSource(t, s)
	s.update(func() { s.ingress = nil })
	if err := source.Confirm(read); err == nil {
		t.Error("deleted meanwhile: no error")
	}
	s.update(func() { s.failureCode = http.StatusForbidden })
	if err := source.Confirm(read); err != nil {
		t.Errorf("without the right: %v", err)
	}
	for more := true; more; {
		more, _ = source.Lookups.reserveConfirmation(serviceRef("web"))
	}
	s.update(func() { s.failureCode = 0 })
	if err := source.Confirm(read); err != nil {
		t.Errorf("without a call left: %v", err)
	}
	if err := source.CacheOnly().(cluster.Confirmer).Confirm(read); err != nil {
		t.Errorf("CacheOnly: %v", err)
	}
}

// TestWaitsForChangedObjectsAreBounded checks that a tenant who constantly edits an object delays only a limited number of
// runs, which may be shared with other tenants.
func TestWaitsForChangedObjectsAreBounded(t *testing.T) {
	t.Parallel()
	s := &serviceServer{ingress: &networkingv1.Ingress{
		TypeMeta:   metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "Ingress"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "web", UID: "1", ResourceVersion: "1", Generation: 2},
	}}
	lookups, advance := newLookups(t, s)
	read := s.ingress.DeepCopy()
	read.Generation, read.ResourceVersion = 1, "0"
	stale := 0
	const runs = 600
	for range runs {
		if err := lookups.confirmUnchanged(t.Context(), read); errors.As(err, new(cluster.StaleError)) {
			stale++
		}
		advance(time.Second)
	}
	if most := changesBurst + int(runs*changesRate) + 1; stale < changesBurst || stale > most {
		t.Errorf("%d of %d runs wait; want %d to %d", stale, runs, changesBurst, most)
	}
}

// TestCacheOnlySendsNoRequests checks that the source that CacheOnly returns reads only from the informer caches.
func TestCacheOnlySendsNoRequests(t *testing.T) {
	t.Parallel()
	s := &serviceServer{presentServices: map[string]bool{"made": true}}
	source := newLookupSource(t, s)
	v := cluster.NewView(source.CacheOnly())
	if _, ok := cluster.Get[*corev1.Service](v, cluster.KindService, "n", "made"); ok || v.Err() != nil || s.requests() != "" {
		t.Errorf("found: %v, %v; asked for %q", ok, v.Err(), s.requests())
	}
}

func TestCachedLookupsExpire(t *testing.T) {
	t.Parallel()
	lookups, advance := newLookups(t, &serviceServer{})
	for i := range maxAnswers {
		lookups.storeAnswer(serviceRef(fmt.Sprintf("s%d", i)), lookupAnswer{at: lookups.clock.Now()})
	}
	advance(durations.BriefWait)
	lookups.storeAnswer(serviceRef("new"), lookupAnswer{at: lookups.clock.Now()})
	if got := len(lookups.answers); got != 1 {
		t.Errorf("%d names are remembered; want the new one", got)
	}
}

// TestFailedReadOfAServiceIsAnError checks that a failed lookup is an error, and that other lookups in the namespace then
// fail without a request. A missing permission is not an error: the Service then counts as missing.
func TestFailedReadOfAServiceIsAnError(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		server *serviceServer
		fails  bool
	}{
		{"denied", &serviceServer{failureCode: http.StatusForbidden}, false},
		{"failing", &serviceServer{failureCode: http.StatusInternalServerError}, true},
		{"silent", &serviceServer{hangs: true}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				lookups, advance := newLookups(t, c.server)
				obj, err := lookups.lookUp(t.Context(), serviceRef("web"))
				if obj != nil || (err != nil) != c.fails {
					t.Errorf("got %v, %v", obj, err)
				}
				// Another lookup in the namespace does not wait.
				if obj, err := lookups.lookUp(t.Context(), serviceRef("other")); obj != nil || (err != nil) != c.fails {
					t.Errorf("another name: got %v, %v", obj, err)
				}
				if got := strings.Count(c.server.requests(), "n/"); c.fails && got != 1 {
					t.Errorf("%d calls, want 1", got)
				}
				advance(durations.ShortInterval)
				c.server.update(func() { c.server.hangs, c.server.failureCode = false, 0 })
				if obj, err := lookups.lookUp(t.Context(), serviceRef("other")); obj != nil || err != nil {
					t.Errorf("afterwards: got %v, %v", obj, err)
				}
			})
		})
	}
}
