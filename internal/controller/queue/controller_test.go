package queue

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
)

// storedObjects is a Cluster with its objects in memory.
type storedObjects struct{ *cluster.Memory }

// View implements Cluster.
func (s storedObjects) View() *cluster.View { return cluster.NewView(s.Memory) }

// noItemChanges implements Changes for objects that belong to no item.
type noItemChanges struct{}

func (noItemChanges) Items(*cluster.View, cluster.Object) []string { return nil }
func (noItemChanges) Ignores(_, _ cluster.Object) bool             { return false }
func (noItemChanges) RecordRootChange(_, _ cluster.Object)         {}

// itemsByName is Changes in which an object belongs to the item with its name, and an object with the name "broken" causes a
// panic.
type itemsByName struct{ noItemChanges }

func (itemsByName) Items(_ *cluster.View, obj cluster.Object) []string {
	if obj.GetName() == "broken" {
		panic("cannot be read")
	}
	return []string{obj.GetName()}
}

// TestAPanicAboutAnEventEndsNoProcess checks that a panic about an object is logged, and that the event still enqueues the
// items that have read the object.
func TestAPanicAboutAnEventEndsNoProcess(t *testing.T) {
	store, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	f := &eventSource[string]{
		controller: Controller[string]{Name: "line", Triggers: NewTriggers(storedObjects{store}, []cluster.Kind{cluster.KindIngress}, itemsByName{}), Reconciler: runFunc(nil)},
		log:        funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{}),
	}
	f.controller.items = newItems(f.controller)
	queue := priorityqueue.New[string]("line")
	defer queue.ShutDown()
	v := f.controller.Triggers.cluster.View()
	v.Subscribe(cluster.KindIngress, "shop", "broken")
	f.controller.Triggers.RecordReads("reader", v)
	for _, name := range []string{"broken", "web"} {
		f.enqueueAffected(queue, kube.Event{New: &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}})
	}
	queued := slices.Sorted(maps.Keys(f.controller.items.queued))
	if !slices.Equal(queued, []string{"reader", "web"}) {
		t.Errorf("queued %v", queued)
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "panic: cannot be read") {
		t.Errorf("logged %q", lines)
	}
}

// runFunc is a Reconciler whose items all belong to one tenant.
type runFunc func(ctx context.Context, k string) (NextRun, error)

func (f runFunc) Reconcile(ctx context.Context, k string) (NextRun, error) { return f(ctx, k) }
func (runFunc) Label(k string) []any                                       { return []any{"item", k} }
func (runFunc) Controller(string) string                                   { return "line" }
func (runFunc) Tenant(string) string                                       { return "" }

// recordedWaits is a Metrics that records each wait as text.
type recordedWaits []string

func (w *recordedWaits) RecordWait(line, priority string, d time.Duration) {
	*w = append(*w, fmt.Sprint(line, " ", priority, " ", d))
}
