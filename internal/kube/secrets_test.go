package kube

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// secretServer is an API server for reads and watches of one Secret.
type secretServer struct {
	mu      sync.Mutex
	allowed bool
	present bool
	gets    int
	// requests is the number of all requests.
	requests int
	watches  []string // field selectors
	changes  chan string
}

func (s *secretServer) secret(value string) corev1.Secret {
	return corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s", UID: "u", ResourceVersion: value}, Data: map[string][]byte{"k": []byte(value)}}
}

func (s *secretServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	allowed, present := s.allowed, s.present
	watching := r.URL.Query().Get("watch") != ""
	s.requests++
	switch {
	case strings.HasSuffix(r.URL.Path, "/s"):
		s.gets++
	case watching:
		s.watches = append(s.watches, r.URL.Query().Get("fieldSelector"))
	}
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	answer := func(v any) { _ = json.NewEncoder(w).Encode(v) }
	switch {
	case !allowed:
		w.WriteHeader(http.StatusForbidden)
		answer(metav1.Status{Status: "Failure", Reason: metav1.StatusReasonForbidden, Code: 403})
	case strings.HasSuffix(r.URL.Path, "/s") && !present:
		w.WriteHeader(http.StatusNotFound)
		answer(metav1.Status{Status: "Failure", Reason: metav1.StatusReasonNotFound, Code: 404})
	case strings.HasSuffix(r.URL.Path, "/s"):
		answer(s.secret("1"))
	case r.URL.Query().Get("sendInitialEvents") == "true":
		w.WriteHeader(http.StatusUnprocessableEntity) // an API server that cannot stream lists
		answer(metav1.Status{Status: "Failure", Reason: metav1.StatusReasonInvalid, Code: 422})
	case !watching:
		list := corev1.SecretList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "SecretList"},
			ListMeta: metav1.ListMeta{ResourceVersion: "1"}, Items: []corev1.Secret{}}
		if present {
			list.Items = append(list.Items, s.secret("1"))
		}
		answer(list)
	default:
		w.(http.Flusher).Flush()
		for {
			select {
			case <-r.Context().Done():
				return
			case v := <-s.changes:
				if v == "" {
					return
				}
				answer(map[string]any{"type": "MODIFIED", "object": s.secret(v)})
				w.(http.Flusher).Flush()
			}
		}
	}
}

func newSecrets(t *testing.T, s *secretServer) *Secrets {
	t.Helper()
	server := httptest.NewServer(s)
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(func() { stop(); server.CloseClientConnections(); server.Close() })
	c, err := corev1client.NewForConfig(&rest.Config{Host: server.URL, QPS: -1})
	if err != nil {
		t.Fatal(err)
	}
	return NewSecrets(ctx, c, logr.Discard())
}

func TestASecretIsWatchedByNameAfterItsFirstRead(t *testing.T) {
	server := &secretServer{allowed: true, present: true, changes: make(chan string)}
	s := newSecrets(t, server)
	events := make(chan Event, 10)
	s.watch(t.Context(), func(e Event) { events <- e })
	ref := cluster.Ref{Kind: cluster.KindSecret, Namespace: "n", Name: "s"}
	value := func() string {
		o, err := s.Get(t.Context(), ref)
		if err != nil || o == nil {
			t.Fatalf("%v %v", o, err)
		}
		return string(o.(*corev1.Secret).Data["k"])
	}
	if v := value(); v != "1" {
		t.Errorf("read %q", v)
	}
	if e := <-events; e.Old != nil || !e.Unchanged {
		t.Errorf("first event: %+v", e)
	}
	server.changes <- "2"
	if e := <-events; e.Old == nil || e.Unchanged {
		t.Errorf("second event: %+v", e)
	}
	for informer := s.watchSecret(ref).informer; !informer.HasSynced(); {
		runtime.Gosched() // the informer reports that it has synced a moment after its first events
	}
	server.mu.Lock()
	server.gets = 0
	server.mu.Unlock()
	if v := value(); v != "2" {
		t.Errorf("read %q after the change", v)
	}
	server.mu.Lock()
	if server.gets != 0 || len(server.watches) == 0 || server.watches[len(server.watches)-1] != "metadata.name=s" {
		t.Errorf("%d live reads of a watched Secret, watches %v", server.gets, server.watches)
	}
	server.mu.Unlock()

	never := func(cluster.Ref) bool { return false }
	s.Retain(never)
	value() // a read between two calls of Retain
	s.Retain(never)
	if len(s.watched) != 1 {
		t.Error("the watch of a Secret in use was ended")
	}
	s.Retain(never)
	if len(s.watched) != 0 {
		t.Error("the watch of a Secret that is not read any more continues")
	}
}

func TestForbiddenSecretIsNil(t *testing.T) {
	s, logged := newSecrets(t, &secretServer{}), make(chan string, 10)
	s.log = funcr.New(func(_, args string) { logged <- args }, funcr.Options{})
	o, err := s.Get(t.Context(), cluster.Ref{Kind: cluster.KindSecret, Namespace: "n", Name: "s"})
	if o != nil || err != nil {
		t.Errorf("%v %v", o, err)
	}
	if line := <-logged; !strings.Contains(line, "not allowed to read secret") {
		t.Error(line)
	}
}

// TestSecretIsMissingWhileThePermissionIsWithdrawn checks that a watched Secret is not returned while the permission to read
// it is withdrawn. When the permission is granted again, watchers are notified and the Secret is returned.
func TestSecretIsMissingWhileThePermissionIsWithdrawn(t *testing.T) {
	server := &secretServer{allowed: true, present: true, changes: make(chan string)}
	s, logged, events := newSecrets(t, server), make(chan string, 10), make(chan Event, 10)
	s.log = funcr.New(func(_, args string) { logged <- args }, funcr.Options{})
	s.watch(t.Context(), func(e Event) { events <- e })
	ref := cluster.Ref{Kind: cluster.KindSecret, Namespace: "n", Name: "s"}
	setAllowed := func(allowed bool) {
		server.mu.Lock()
		server.allowed = allowed
		server.mu.Unlock()
	}
	wantReadable := func(readable bool) {
		t.Helper()
		if o, err := s.Get(t.Context(), ref); err != nil || (o != nil) != readable {
			t.Errorf("%v %v", o, err)
		}
	}
	wantReadable(true)
	<-events
	for informer := s.watchSecret(ref).informer; !informer.HasSynced(); {
		runtime.Gosched()
	}
	server.changes <- "2"
	<-events
	setAllowed(false)
	server.changes <- "" // the watch ends, as a watch does every few minutes
	if line := <-logged; !strings.Contains(line, "not allowed to read secret") {
		t.Error(line)
	}
	wantReadable(false)
	setAllowed(true)
	<-events // watchers are notified
	wantReadable(true)
}

// TestForbiddenSecretsAreLoggedOncePerChange checks that a log entry is written when the permission to read a Secret is
// withdrawn or granted again, and not for each failed read.
func TestForbiddenSecretsAreLoggedOncePerChange(t *testing.T) {
	var lines []string
	s := NewSecrets(t.Context(), nil, funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}))
	ref := cluster.Ref{Kind: cluster.KindSecret, Namespace: "n", Name: "s"}
	s.watched[ref] = &watchedSecret{}
	refused := apierrors.NewForbidden(schema.GroupResource{Resource: "secrets"}, "s", errors.New("no right"))
	for _, err := range []error{refused, refused, errors.New("connection refused"), refused, nil, nil, refused} {
		s.logPermissionChange(ref, err)
	}
	want := []string{"not allowed to read secret", "allowed to read secret again", "not allowed to read secret"}
	if len(lines) != len(want) {
		t.Fatalf("want %d lines, got %q", len(want), lines)
	}
	for i, line := range lines {
		if !strings.Contains(line, want[i]) || !strings.Contains(line, `"namespace"="n" "name"="s"`) {
			t.Errorf("want %q, got %s", want[i], line)
		}
	}
}

func TestMissingSecretIsNil(t *testing.T) {
	s := newSecrets(t, &secretServer{allowed: true, changes: make(chan string)})
	if o, err := s.Get(t.Context(), cluster.Ref{Kind: cluster.KindSecret, Namespace: "n", Name: "s"}); o != nil || err != nil {
		t.Errorf("%v %v", o, err)
	}
}

// TestInvalidNamesOfSecretsAreNotRequested checks that Get returns nil for an invalid name of a Secret, without a request.
// Users choose the names, and an error would stop the reconciliation of the whole stack.
func TestInvalidNamesOfSecretsAreNotRequested(t *testing.T) {
	for _, name := range []string{
		"", ".", "..", "../s", "../../m/secrets/s", "a/b", "%2e%2e%2fs", "s?watch=true", "s#", "S", "s\x00", "s\n", "s,metadata.namespace=m", "-", strings.Repeat("s", 254), strings.Repeat("s/", 100_000),
	} {
		server := &secretServer{} // with permissions for single Secrets only, lists are not allowed
		s := newSecrets(t, server)
		o, err := s.Get(t.Context(), cluster.Ref{Kind: cluster.KindSecret, Namespace: "n", Name: name})
		if o != nil || err != nil {
			t.Errorf("%.40q: %v %v", name, o, err)
		}
		if server.requests > 0 || len(s.watched) > 0 {
			t.Errorf("%.40q is asked for", name)
		}
	}
}
