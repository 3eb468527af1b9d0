package takeover

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cases"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/frontend/ingress"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/rig"
)

// found are the states in which a controller may find what was left.
var found = []struct {
	name string
	odd  oddities
}{
	{"as recorded", oddities{}},
	{"other names", oddities{renamed: true}},
	{"other orders and spellings", oddities{shuffled: true, spelled: true, described: true}},
	{"short spellings, tags of others, no checkpoints", oddities{short: true, tagged: true, stale: true}},
}

// TestTakeOver lets a controller find what another one left, case by case: it makes no call that
// changes something.
func TestTakeOver(t *testing.T) {
	for _, f := range found {
		t.Run(f.name, func(t *testing.T) {
			for _, name := range cases.Names(t) {
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { takeOver(t, f.odd, name) })
				})
			}
		})
	}
}

// TestTakeOverOfAll is the same with all cases in one cluster.
func TestTakeOverOfAll(t *testing.T) {
	for _, f := range found {
		t.Run(f.name, func(t *testing.T) {
			healthy := slices.DeleteFunc(cases.Names(t), func(name string) bool { return name == unhealthy })
			synctest.Test(t, func(t *testing.T) { takeOver(t, f.odd, healthy...) })
		})
	}
}

// unhealthy is a case in which one fault keeps a whole group from being built, which is an option
// here; without it, the rest of the group is built.
const unhealthy = "ingress-group-conflict-scheme"

// later are Ingresses with a feature that does not exist yet: the host name of the network load
// balancer in front is missing in the status.
var later = []string{"ingress-frontend-nlb/web"}

func world(t *testing.T, odd oddities, strict bool) *rig.Rig {
	t.Helper()
	var external []string
	if odd.tagged {
		external = []string{foreignTag}
	}
	return cases.NewWorld(t, rig.Options{
		Ingress: func(o *ingress.Options) { o.StrictGroups, o.ExternalTags = strict, external },
		Plan:    func(o *plan.Options) { o.ExternalTags = external },
	})
}

// quiet is the time in which bindings whose checkpoint is as it should be are left alone.
const quiet = 20 * time.Minute

func takeOver(t *testing.T, odd oddities, names ...string) {
	t.Helper()
	r := world(t, odd, slices.Contains(names, unhealthy))
	var l left
	loader := cases.NewLoader(t, r)
	for _, name := range names {
		loader.Apply(t, name)
		l.add(t, name)
	}
	l.placed()
	newBuilder(t, r, odd).build(l)
	time.Sleep(10 * time.Minute) // all targets are healthy
	if odd == (oddities{}) {
		faithful(t, r, names)
	}
	aws, k8s := r.State(), objects(r)
	r.Emulator.Calls().Reset()
	r.Start()
	untouched := func(when string) {
		t.Helper()
		if n := r.Emulator.Calls().Mutating(); n > 0 {
			t.Errorf("%s: %d mutating calls: %v", when, n, mutating(r))
		}
		if d := cmp.Diff(aws, r.State()); d != "" {
			t.Errorf("%s: AWS changed (-before +after):\n%s", when, d)
		}
		if d := cmp.Diff(k8s, objects(r)); d != "" {
			t.Errorf("%s: objects changed (-before +after):\n%s", when, d)
		}
	}
	before := versions(r)
	for k, err := range r.Settle(quiet) {
		t.Logf("%s: %v", k, err)
	}
	untouched("after the start")
	if !odd.stale {
		if d := cmp.Diff(before, versions(r)); d != "" {
			t.Errorf("bindings were written (-before +after):\n%s", d)
		}
		if n := r.Emulator.Calls().Count("DescribeTargetHealth"); n > 0 {
			t.Errorf("%d questions about targets although the checkpoints fit", n)
		}
	}
	r.Settle(3 * time.Hour)
	untouched("after three hours")
	if t.Failed() {
		for _, obj := range r.Store.All("Event") {
			if e, ok := obj.(*corev1.Event); ok {
				t.Logf("event on %s: %s %s", e.InvolvedObject.Name, e.Reason, e.Message)
			}
		}
	}
}

// faithful checks the work of this package: read back, what was built is what was recorded.
func faithful(t *testing.T, r *rig.Rig, names []string) {
	t.Helper()
	got := cases.Read(t, r)
	want := cases.Record{}
	for _, name := range names {
		for section, items := range cases.Recorded(t, name) {
			if want[section] == nil {
				want[section] = map[string]any{}
			}
			maps.Copy(want[section], items)
		}
	}
	for _, record := range []cases.Record{want, got} {
		delete(record, "Events")
		maps.DeleteFunc(record, func(_ string, items map[string]any) bool { return len(items) == 0 })
		cases.Normalise(record)
	}
	if d := cases.Diff(cases.Exact(t, want), cases.Exact(t, got)); d != "" {
		t.Errorf("what was built is not what was recorded (-recorded +built):\n%s", d)
	}
}

// objects are what a take-over must not change of the cluster: specs, labels and finalizers of
// bindings, finalizers and status of Ingresses. The protocol of ports may be filled in.
func objects(r *rig.Rig) map[string]any {
	out := map[string]any{}
	for _, obj := range r.Store.All(cluster.KindBinding) {
		if b, ok := obj.(*elbv2.TargetGroupBinding); ok {
			out[cluster.RefOf(b).String()] = []any{b.Spec, b.Labels, b.Finalizers, b.DeletionTimestamp}
		}
	}
	for _, obj := range r.Store.All(cluster.KindIngress) {
		i, ok := obj.(*networkingv1.Ingress)
		if !ok {
			continue
		}
		status := i.Status.DeepCopy()
		if slices.Contains(later, i.Namespace+"/"+i.Name) {
			status.LoadBalancer.Ingress = status.LoadBalancer.Ingress[:1]
		}
		for _, lb := range status.LoadBalancer.Ingress {
			for p := range lb.Ports {
				lb.Ports[p].Protocol = corev1.ProtocolTCP
			}
		}
		out[cluster.RefOf(i).String()] = []any{status, i.Finalizers, i.Labels, i.Annotations}
	}
	return out
}

func versions(r *rig.Rig) map[string]string {
	out := map[string]string{}
	for _, obj := range r.Store.All(cluster.KindBinding) {
		out[cluster.RefOf(obj).String()] = obj.GetResourceVersion()
	}
	return out
}

// mutating lists the calls that were to change something, by operation.
func mutating(r *rig.Rig) string {
	counts := map[string]int{}
	for _, e := range r.Emulator.Calls().Entries() {
		if e.Mutating {
			counts[e.Operation]++
		}
	}
	var out []string
	for _, op := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%s %d", op, counts[op]))
	}
	return strings.Join(out, ", ")
}
