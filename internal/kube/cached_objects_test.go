package kube

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"
	testingcache "k8s.io/client-go/tools/cache/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// TestCachedObjectsMatchTheInformer changes objects at random. It checks that a watcher that is notified of a version reads
// that version or a later one, and that all ways to read return the current objects. For an object that has not changed,
// each read must return the same pointer.
func TestCachedObjectsMatchTheInformer(t *testing.T) {
	t.Run("nodes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			checkReadsDuringChanges(t, cluster.KindNode, func() cluster.Object { return &corev1.Node{} }, "")
		})
	})
	t.Run("pods", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			checkReadsDuringChanges(t, cluster.KindPod, func() cluster.Object { return &corev1.Pod{} }, "a", "b")
		})
	})
}

func checkReadsDuringChanges(t *testing.T, kind cluster.Kind, make func() cluster.Object, namespaces ...string) {
	r := rand.New(rand.NewPCG(1, 2))
	ctx, cancel := context.WithCancel(t.Context())
	api := testingcache.NewFakeControllerSource()
	informer := toolscache.NewSharedIndexInformer(api, make(), 0, toolscache.Indexers{toolscache.NamespaceIndex: toolscache.MetaNamespaceIndexFunc})
	typ, _ := cluster.TypeOf(kind)
	h, err := newCachedObjects(kind, typ, informer)
	if err != nil {
		t.Fatal(err)
	}
	s := &Source{ctx: ctx, kinds: map[cluster.Kind]cluster.Type{kind: typ}, objects: map[cluster.Kind]*cachedObjects{kind: h}}
	s.synced.Store(true)
	read := func(q cluster.Query) map[string]cluster.Object {
		q.Kind = kind
		list, err := s.List(q)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(list, func(a, b cluster.Object) int { return strings.Compare(nameOf(a), nameOf(b)) }) {
			t.Fatal("not in order")
		}
		out := map[string]cluster.Object{}
		for _, o := range list {
			out[nameOf(o)] = o
		}
		return out
	}
	notify := func(e Event) {
		all := read(cluster.Query{})
		switch {
		case e.New == nil: // the object may exist again
		case all[nameOf(e.New)] == nil:
			// The object may have been deleted again.
			if o, err := s.Get(cluster.RefOf(e.New)); err != nil || o != nil {
				t.Errorf("%s is not listed", nameOf(e.New))
			}
		case versionOf(all[nameOf(e.New)]) < versionOf(e.New):
			t.Errorf("%s is listed as it was before", nameOf(e.New))
		}
	}
	if _, err := informer.AddEventHandler(informerHandler{watcher: watcher{notify: notify}, objects: h}); err != nil {
		t.Fatal(err)
	}
	h.addWatcher()
	go informer.RunWithContext(ctx)
	synctest.Wait()
	current := map[string]cluster.Object{}
	for step := range 400 {
		o := make()
		o.SetNamespace(namespaces[r.IntN(len(namespaces))])
		o.SetName(fmt.Sprintf("o%d", r.IntN(20)))
		o.SetLabels(map[string]string{"turn": fmt.Sprint(r.IntN(3))})
		o.SetGeneration(int64(step))
		if pod, ok := o.(*corev1.Pod); ok {
			pod.Status.PodIPs = []corev1.PodIP{{IP: fmt.Sprintf("10.0.0.%d", r.IntN(10))}}
		}
		switch known := current[nameOf(o)] != nil; {
		case known && r.IntN(3) == 0:
			api.Delete(o)
			delete(current, nameOf(o))
		case known:
			api.Modify(o)
			current[nameOf(o)] = o
		default:
			api.Add(o)
			current[nameOf(o)] = o
		}
		if r.IntN(3) > 0 {
			continue // make more changes before the next read
		}
		synctest.Wait()
		all := read(cluster.Query{})
		if len(all) != len(current) {
			t.Fatalf("step %d: %d objects are listed, want %d", step, len(all), len(current))
		}
		for name, o := range current {
			got, err := s.Get(cluster.RefOf(o))
			if err != nil || got == nil || read(cluster.Query{})[name] != all[name] || read(cluster.Query{Namespace: o.GetNamespace()})[name] != got {
				t.Fatalf("step %d: %s is not the same in all answers, %v", step, name, err)
			}
			if kind != cluster.KindNode && all[name] != got || all[name].GetLabels()["turn"] != o.GetLabels()["turn"] {
				t.Fatalf("step %d: %s is %v, want %v", step, name, all[name].GetLabels(), o.GetLabels())
			}
			for _, ix := range typ.Indexes {
				for _, v := range cluster.IndexValues(ix, got) {
					if read(cluster.Query{Namespace: o.GetNamespace(), Index: ix, Value: v})[name] != got {
						t.Fatalf("step %d: %s is not found by %s", step, name, ix)
					}
				}
			}
		}
	}
	cancel()
	api.Shutdown()
	synctest.Wait()
}

// TestChangesWithoutAWatcherAreFound checks that reads with a second watcher include the changes that were made after the
// first watcher was removed and before the second was added.
func TestChangesWithoutAWatcherAreFound(t *testing.T) {
	index := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
	h := &cachedObjects{index: index, changedSinceList: map[client.ObjectKey]bool{}}
	want := func(names ...string) {
		t.Helper()
		list, err := h.allObjects()
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range list {
			got = append(got, o.GetName())
		}
		if !slices.Equal(got, names) {
			t.Fatalf("%q, want %q", got, names)
		}
	}
	node := func(name string) *corev1.Node { return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}} }
	_ = index.Add(node("b"))
	h.addWatcher()
	want("b")
	h.removeWatcher()
	_ = index.Delete(node("b"))
	_ = index.Add(node("a"))
	h.addWatcher()
	want("a")
	_ = index.Add(node("c"))
	h.recordChange(node("c"))
	want("a", "c")
}

// BenchmarkNodesAfterAChange measures reads of all nodes after one node has changed, with two watchers that both report the
// change.
func BenchmarkNodesAfterAChange(b *testing.B) {
	for _, nodes := range []int{50, 2000} {
		b.Run(fmt.Sprintf("nodes=%d", nodes), func(b *testing.B) {
			index := toolscache.NewIndexer(toolscache.MetaNamespaceKeyFunc, toolscache.Indexers{})
			h := &cachedObjects{index: index, changedSinceList: map[client.ObjectKey]bool{}}
			var list []cluster.Object
			for i := range nodes {
				list = append(list, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("ip-10-0-%d-%d", i/250, i%250)}})
				if err := index.Add(list[i]); err != nil {
					b.Fatal(err)
				}
			}
			h.addWatcher()
			h.addWatcher()
			for i := 0; b.Loop(); i++ {
				n := *list[i*61%nodes].(*corev1.Node)
				if err := index.Update(&n); err != nil {
					b.Fatal(err)
				}
				for range 2 {
					h.recordChange(&n)
					if _, err := h.allObjects(); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

func nameOf(o metav1.Object) string { return o.GetNamespace() + "/" + o.GetName() }

func versionOf(o cluster.Object) int64 { return o.GetGeneration() }
