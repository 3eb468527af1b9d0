package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	accelerators "github.com/fulcrum-lb/fulcrum/internal/translate/accelerator"
)

// namespaceSource hides the objects of other namespaces, as --watch-namespace does. If the namespace is "", it hides
// none.
type namespaceSource struct {
	cluster.Source
	namespace *string
}

func (w namespaceSource) isUnwatchedNamespace(namespace string) bool {
	return *w.namespace != "" && namespace != "" && namespace != *w.namespace
}

func (w namespaceSource) Get(ref cluster.Ref) (cluster.Object, error) {
	if w.isUnwatchedNamespace(ref.Namespace) {
		return nil, nil
	}
	return w.Source.Get(ref)
}

func (w namespaceSource) List(q cluster.Query) ([]cluster.Object, error) {
	all, err := w.Source.List(q)
	return slices.DeleteFunc(slices.Clone(all), func(o cluster.Object) bool { return w.isUnwatchedNamespace(o.GetNamespace()) }), err
}

// TestAcceleratorsWithWatchNamespace checks accelerators with --watch-namespace, where ReferenceGrants of other
// namespaces cannot be read. Load balancers of those namespaces do not become endpoints, existing endpoints are kept,
// and the accelerators of unwatched namespaces are not changed.
func TestAcceleratorsWithWatchNamespace(t *testing.T) {
	t.Parallel()
	for name, endpoint := range map[string]func(*Harness) string{
		"by name": func(*Harness) string { return `{type: Ingress, namespace: shop, name: web}` },
		"by ARN":  func(r *Harness) string { return fmt.Sprintf(`{type: EndpointID, endpointID: %q}`, albARN(r)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				only := ""
				r := newAcceleratorHarness(t, Options{
					Source:      func(s cluster.Source) cluster.Source { return namespaceSource{s, &only} },
					Accelerator: func(o *accelerators.Options) { o.WatchedNamespace = only },
				})
				r.Apply(edgeNamespace, grantTo("networking.k8s.io", "Ingress"), accelerator("edge", "front", listenerTo(endpoint(r))), edgeAccelerator(webListener))
				r.Settle(10 * time.Minute)
				before := acceleratorState(r)
				if got := acceleratorEndpoints(r); len(got) != 2 {
					t.Fatalf("endpoints %v", got)
				}
				only = "edge"
				r.Emulator.Calls().Reset()
				r.Start()
				r.Apply(accelerator("edge", "second", listenerTo(endpoint(r))))
				r.Settle(time.Hour)
				state := strings.Join(acceleratorState(r), "\n")
				for _, line := range before {
					if !strings.Contains(state, line) {
						t.Errorf("state line %q is missing from\n%s", line, state)
					}
				}
				if got := acceleratorEndpoints(r); len(got) != 2 {
					t.Errorf("endpoints %v", got)
				}
				if slices.Contains(acceleratorMutations(r), "RemoveEndpoints") {
					t.Errorf("calls %v", acceleratorMutations(r))
				}
				if got := strings.Join(eventsOf(r, "edge", "second"), "\n"); !strings.Contains(got, "WarningEndpoints") {
					t.Errorf("events: %s", got)
				}
				only = ""
				r.Start()
				r.Settle(10 * time.Minute)
				if got := acceleratorEndpoints(r); len(got) != 3 {
					t.Errorf("endpoints once all is read: %v", got)
				}
				r.deleteObject(cluster.KindReferenceGrant, "shop", "edge")
				r.Settle(time.Second)
				if got := acceleratorEndpoints(r); len(got) != 1 {
					t.Errorf("endpoints after consent was withdrawn: %v", got)
				}
			})
		})
	}
}

// TestAcceleratorAboveQuotaIsCreatedLater checks that an accelerator above the quota is not created, that its object
// reports this, that the controller retries with a back-off, and that other accelerators are still changed. The missing
// accelerators are created after the quota is raised.
func TestAcceleratorAboveQuotaIsCreatedLater(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{})
		quota := func(n int) {
			s := r.Emulator.Store()
			s.Lock()
			defer s.Unlock()
			s.Config.Quotas["standard-accelerators-per-account"] = n
		}
		quota(1)
		r.Apply(edgeAccelerator(webListener))
		r.Settle(10 * time.Minute)
		r.Emulator.Calls().Reset()
		for i := range 3 {
			r.Apply(accelerator("shop", fmt.Sprint("more", i), listenerTo("{type: Ingress, name: web}")))
		}
		r.Settle(time.Hour)
		if n := len(acceleratorsInAWS(r)); n != 1 {
			t.Errorf("%d accelerators", n)
		}
		if n := r.Emulator.Calls().Count("CreateAccelerator"); n < 1 || n > 3*12 { // attempts are 5 seconds to 15 minutes apart
			t.Errorf("%d attempts in an hour", n)
		}
		for i := range 3 {
			name := fmt.Sprint("more", i)
			if got := strings.Join(eventsOf(r, "shop", name), "\n"); !strings.Contains(got, "QuotaReached") {
				t.Errorf("events of %s: %s", name, got)
			}
			if got := readyCondition(acceleratorObject(r, "shop", name)); got != "False DeploymentFailed" {
				t.Errorf("Ready of %s is %s", name, got)
			}
		}
		begun := time.Now()
		r.Apply(edgeAccelerator(strings.Replace(webListener, "name: web", "name: web, weight: 5", 1)))
		r.Settle(10 * time.Second)
		if state := strings.Join(acceleratorState(r), "\n"); !strings.Contains(state, "weight=5") {
			t.Errorf("an edit of another accelerator does not take effect in %s: %s", time.Since(begun), state)
		}
		r.deleteObject(cluster.KindGlobalAccelerator, "shop", "more1") // an object without an accelerator is deleted immediately
		r.Settle(time.Minute)
		if obj := acceleratorObject(r, "shop", "more1"); obj != nil {
			t.Errorf("the object without an accelerator is not deleted, finalizers %v", obj.Finalizers)
		}
		quota(20)
		r.Settle(20 * time.Minute)
		if n := len(acceleratorsInAWS(r)); n != 3 {
			t.Errorf("%d accelerators after the quota is raised, want 3", n)
		}
		for _, name := range []string{"more0", "more2"} {
			if got := readyCondition(acceleratorObject(r, "shop", name)); got != "True AcceleratorReady" {
				t.Errorf("Ready of %s is %s", name, got)
			}
		}
	})
}
