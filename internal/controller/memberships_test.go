package controller

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// memoryStore is a TextStore that records each write. Write returns err.
type memoryStore struct {
	mu           sync.Mutex
	writtenTexts []string
	err          error
}

func (s *memoryStore) Read(context.Context) (string, error) { return "", nil }

// testRoots is a RootObjects without objects. departed records the refs with which EnqueueDeparted is called.
type testRoots struct {
	listErr  error
	departed []cluster.Ref
}

func (r *testRoots) List() ([]cluster.Object, error)    { return nil, r.listErr }
func (r *testRoots) IsWatched(cluster.Ref) bool         { return true }
func (r *testRoots) EnqueueDeparted(refs []cluster.Ref) { r.departed = append(r.departed, refs...) }

func (s *memoryStore) Write(_ context.Context, text string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writtenTexts = append(s.writtenTexts, text)
	return s.err
}

// TestConcurrentClaimsShareWrites checks that Persist returns only after the claim of an Ingress is stored. Many concurrent
// claims cause few writes, with few bytes.
func TestConcurrentClaimsShareWrites(t *testing.T) {
	for _, was := range []int{0, 2000} {
		t.Run(fmt.Sprintf("beside %d", was), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				store := &memoryStore{}
				m := &Memberships{Members: cluster.NewMemberships(), Store: store, Log: logr.Discard()}
				m.Load(t.Context(), &testRoots{})
				claim := func(n int) {
					m.Members.EndClaim(cluster.Ref{Kind: cluster.KindIngress, Namespace: "a", Name: fmt.Sprint(n)}, "group.ingress.k8s.aws/"+strings.Repeat("x", 50), true)
				}
				for n := range was {
					claim(-1 - n)
				}
				const claims, separate = 500, 20 * time.Millisecond
				begun := time.Now()
				var wg sync.WaitGroup
				for n := range claims {
					wg.Go(func() {
						time.Sleep(time.Duration(n) * separate)
						claim(n)
						m.Persist(t.Context())
						store.mu.Lock()
						defer store.mu.Unlock()
						if last := store.writtenTexts[len(store.writtenTexts)-1]; !strings.Contains(last, fmt.Sprintf("a/%d ", n)) {
							t.Errorf("claim %d is not stored", n)
						}
					})
				}
				wg.Wait()
				took, bytes := time.Since(begun), 0
				for _, text := range store.writtenTexts {
					bytes += len(text)
				}
				if most := int((took+durations.BriefWait)/durations.StoreWriteCost) + 2; len(store.writtenTexts) > most {
					t.Errorf("%d writes in %v, at most %d", len(store.writtenTexts), took, most)
				}
				if most := int((took+durations.BriefWait).Seconds()*storedBytesPerSecond) + 2*len(store.writtenTexts[len(store.writtenTexts)-1]); bytes > most {
					t.Errorf("%d bytes in %v, at most %d", bytes, took, most)
				}
			})
		})
	}
}

// TestRunsContinueIfClaimsCannotBeStored checks that runs continue without waiting if the store cannot be written.
func TestRunsContinueIfClaimsCannotBeStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		store := &memoryStore{err: errors.New("denied")}
		m := &Memberships{Members: cluster.NewMemberships(), Store: store, Log: logr.Discard()}
		m.Load(t.Context(), &testRoots{})
		begun := time.Now()
		for n := range 100 {
			m.Members.EndClaim(cluster.Ref{Kind: cluster.KindIngress, Namespace: "a", Name: fmt.Sprint(n)}, "f", true)
			m.Persist(t.Context())
		}
		if took := time.Since(begun); took != 0 || len(store.writtenTexts) != 1 {
			t.Errorf("%d writes in %v", len(store.writtenTexts), took)
		}
	})
}

// readableStore is a TextStore that contains one text. Read returns readErr.
type readableStore struct {
	text    string
	readErr error
}

func (s *readableStore) Read(context.Context) (string, error) { return s.text, s.readErr }

func (s *readableStore) Write(_ context.Context, text string) error { s.text = text; return nil }

// TestMembershipsAreNotOverwrittenBeforeTheyAreRead checks that the stored memberships stay as they are until they were read, and that
// they are then merged with what this process has recorded. The departed stacks are enqueued.
func TestMembershipsAreNotOverwrittenBeforeTheyAreRead(t *testing.T) {
	const stored = "a/web ingress.k8s.aws/resources left\n"
	cause := errors.New("etcdserver: request timed out")
	for name, c := range map[string]struct{ readErr, listErr error }{"read fails": {readErr: cause}, "list fails": {listErr: cause}} {
		t.Run(name, func(t *testing.T) {
			store, roots := &readableStore{stored, c.readErr}, &testRoots{listErr: c.listErr}
			m := &Memberships{Members: cluster.NewMemberships(), Store: store, Log: logr.Discard()}
			m.Save(t.Context())
			m.Load(t.Context(), roots)
			m.Members.EndClaim(cluster.Ref{Kind: cluster.KindIngress, Namespace: "b", Name: "api"}, "ingress.k8s.aws/resources", true)
			m.Persist(t.Context())
			m.Save(t.Context())
			if store.text != stored || len(roots.departed) > 0 {
				t.Errorf("stored %q, departed %v", store.text, roots.departed)
			}
			store.readErr, roots.listErr = nil, nil
			m.Save(t.Context())
			if want := stored + "b/api ingress.k8s.aws/resources\n"; store.text != want {
				t.Errorf("stored %q, want %q", store.text, want)
			}
			if diff := cmp.Diff([]cluster.Ref{{Kind: cluster.KindIngress, Namespace: "a", Name: "web"}}, roots.departed); diff != "" {
				t.Errorf("departed (-want +got):\n%s", diff)
			}
		})
	}
}

// TestMembershipsOfOtherFormatDoNotPreventWrites checks that memberships are stored beside those of another version.
func TestMembershipsOfOtherFormatDoNotPreventWrites(t *testing.T) {
	store := &readableStore{readErr: fmt.Errorf("read: %w", kube.ErrOtherFormat)}
	m := &Memberships{Members: cluster.NewMemberships(), Store: store, Log: logr.Discard()}
	m.Load(t.Context(), &testRoots{})
	m.Members.EndClaim(cluster.Ref{Kind: cluster.KindIngress, Namespace: "b", Name: "api"}, "ingress.k8s.aws/resources", true)
	m.Persist(t.Context())
	if store.text == "" {
		t.Error("nothing is stored")
	}
}
