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
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/test/cases"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
	"github.com/fulcrum-lb/fulcrum/internal/translate/service"
)

// takeoverVariations are combinations of variations of the existing resources that the controller may find.
var takeoverVariations = []struct {
	name string
	odd  variations
}{
	{"as recorded", variations{}},
	{"other names", variations{hasOtherNames: true}},
	{"other orders and spellings", variations{hasReversedOrder: true, hasExplicitDefaults: true, hasRuleDescriptions: true}},
	{"fewer zones, tuned by hand", variations{hasTwoZones: true, hasExtraAttributes: true}},
	{"short spellings, tags of others, no checkpoints", variations{usesLegacyForward: true, hasExtraTags: true, lacksCheckpoints: true}},
	{"by a tagging service that does not know it yet", variations{taggingLag: 12 * time.Minute}},
}

// TestTakeOver checks for each case that the controller makes no mutating call when it finds the resources of
// aws-load-balancer-controller. Each variation is checked with a part of the cases.
func TestTakeOver(t *testing.T) {
	t.Parallel()
	for i, f := range takeoverVariations {
		t.Run(f.name, func(t *testing.T) {
			for j, name := range cases.Names(t) {
				if i > 0 && (i+j)%seeds.Step(3) != 0 {
					continue // TestTakeOverOfAllCases covers each case with each variation
				}
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) { takeOver(t, f.odd, name) })
				})
			}
		})
	}
}

// TestTakeOverOfAllCases checks the same as TestTakeOver with all cases in one cluster, except blockedIngressGroupCase.
func TestTakeOverOfAllCases(t *testing.T) {
	t.Parallel()
	for _, f := range takeoverVariations {
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { takeOver(t, f.odd, unblockedCases(t)...) })
		})
	}
}

// blockedIngressGroupCase is a case in which one conflict blocks a whole IngressGroup. In Fulcrum, this happens only
// with the option StrictGroups. Without the option, Fulcrum serves the other members.
const blockedIngressGroupCase = "ingress-group-conflict-scheme"

func newTakeoverHarness(t *testing.T, odd variations, strict bool) *harness.Harness {
	t.Helper()
	var external []string
	if odd.hasExtraTags {
		external = []string{externalTag}
	}
	return cases.NewHarness(t, harness.Options{
		TaggingLag: odd.taggingLag,
		Ingress:    func(o *ingress.Options) { o.StrictGroups, o.ExternalTags = strict, external },
		Service:    func(o *service.Options) { o.ExternalTags = external },
		Plan:       func(o *plan.Options) { o.ExternalTags = external },
	})
}

// timeWithoutComparison is a time after the start in which the controller does not compare TargetGroupBindings that have a
// valid checkpoint with AWS.
const timeWithoutComparison = 20 * time.Minute

func takeOver(t *testing.T, odd variations, names ...string) {
	t.Helper()
	r := newHarnessWithExistingResources(t, odd, names...)
	if odd == (variations{}) {
		checkCreatedEqualsRecord(t, r, names)
	}
	checkNoChanges(t, r, odd.lacksCheckpoints)
}

// newHarnessWithExistingResources returns a harness with the objects of cases, and with the resources that
// aws-load-balancer-controller created for them. No controller has started yet.
func newHarnessWithExistingResources(t *testing.T, odd variations, names ...string) *harness.Harness {
	t.Helper()
	r := newTakeoverHarness(t, odd, slices.Contains(names, blockedIngressGroupCase))
	loader := cases.NewLoader(t, r)
	for _, name := range names {
		loader.Apply(t, name)
	}
	buildWithVariations(t, Site{AWS: harness.AWSConfig(r.Emulator), Seeded: r.Seeded, Objects: r.Store}, odd, names...)
	time.Sleep(10 * time.Minute) // until all targets are healthy
	return r
}

// checkNoChanges starts the controller and checks that it changes nothing in AWS and nothing that objectState returns.
// Unless stale is set, the checkpoints of the TargetGroupBindings are valid. Then the controller must not write
// TargetGroupBindings, and must not call DescribeTargetHealth for their target groups.
func checkNoChanges(t *testing.T, r *harness.Harness, stale bool) {
	t.Helper()
	aws, k8s, bindings := r.State(), objectState(r), resourceVersions(r)
	r.Emulator.Calls().Reset()
	r.Start()
	untouched := func(when string) {
		t.Helper()
		if n := r.Emulator.Calls().CountMutating(); n > 0 {
			t.Errorf("%s: %d mutating calls: %s", when, n, mutatingCalls(r))
		}
		checkEqual(t, when+": AWS changed", aws, r.State())
		checkEqual(t, when+": objects changed", k8s, objectState(r))
	}
	settle := func(d time.Duration) {
		t.Helper()
		for k, err := range r.Settle(d) {
			t.Errorf("%s: %v", k, err) // a controller whose runs fail changes nothing either
		}
	}
	settle(timeWithoutComparison)
	untouched("after the start")
	if !stale {
		checkEqual(t, "bindings were written", bindings, resourceVersions(r))
		if n := r.Emulator.Calls().Count("DescribeTargetHealth"); n > albTargetGroupCount(r) {
			t.Errorf("%d calls of DescribeTargetHealth although the checkpoints are valid", n)
		}
	}
	settle(3 * time.Hour)
	untouched("after three hours")
	if t.Failed() {
		for _, obj := range r.Store.All("Event") {
			if e, ok := obj.(*corev1.Event); ok {
				t.Logf("event on %s: %s %s", e.InvolvedObject.Name, e.Reason, e.Message)
			}
		}
	}
}

// albTargetGroupCount returns the number of target groups with target type "alb". They have no TargetGroupBinding.
func albTargetGroupCount(r *harness.Harness) (n int) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	for _, g := range w.Partition(harness.Account, harness.Region).ELB.TargetGroups {
		if string(g.Type) == string(model.ALBTargets) {
			n++
		}
	}
	return n
}

func checkEqual(t *testing.T, what string, before, after any) {
	t.Helper()
	if d := cmp.Diff(before, after); d != "" {
		t.Errorf("%s (-before +after):\n%s", what, d)
	}
}

// checkCreatedEqualsRecord checks that the resources that this package created are equal to the records of the cases.
func checkCreatedEqualsRecord(t *testing.T, r *harness.Harness, names []string) {
	t.Helper()
	got := cases.ReadRecord(t, r)
	want := cases.Record{}
	for _, name := range names {
		for section, items := range cases.LoadRecord(t, name) {
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
	if d := cases.Diff(cases.DecodedJSON(t, want), cases.DecodedJSON(t, got)); d != "" {
		t.Errorf("the created resources differ from the record (-recorded +built):\n%s", d)
	}
}

// objectState returns the parts of objects that a take-over must not change: specs, labels and finalizers of
// TargetGroupBindings, and status, finalizers, labels and annotations of Ingresses and Services. The controller may add the
// protocol of ports to the status of Ingresses. For Gateways, the result has only finalizers and labels, because the
// controller may add an annotation for a web ACL. For HTTPRoutes, it has no status.
func objectState(r *harness.Harness) map[string]any {
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
		for _, lb := range status.LoadBalancer.Ingress {
			for p := range lb.Ports {
				lb.Ports[p].Protocol = corev1.ProtocolTCP
			}
		}
		out[cluster.RefOf(i).String()] = []any{status, i.Finalizers, i.Labels, i.Annotations}
	}
	for _, obj := range r.Store.All(cluster.KindService) {
		// A Service without a load balancer is left out: it gets the finalizer before its resources are created.
		if s, ok := obj.(*corev1.Service); ok && len(s.Status.LoadBalancer.Ingress) > 0 {
			out[cluster.RefOf(s).String()] = []any{s.Status, s.Finalizers, s.Labels, s.Annotations}
		}
	}
	for _, obj := range r.Store.All(cluster.KindGateway) {
		// A Gateway without an address is left out for the same reason.
		if g, ok := obj.(*gwv1.Gateway); ok && len(g.Status.Addresses) > 0 {
			out[cluster.RefOf(g).String()] = []any{g.Finalizers, g.Labels}
		}
	}
	for _, obj := range r.Store.All(cluster.KindHTTPRoute) {
		out[cluster.RefOf(obj).String()] = []any{obj.GetFinalizers(), obj.GetLabels(), obj.GetAnnotations()}
	}
	return out
}

func resourceVersions(r *harness.Harness) map[string]string {
	out := map[string]string{}
	for _, obj := range r.Store.All(cluster.KindBinding) {
		out[cluster.RefOf(obj).String()] = obj.GetResourceVersion()
	}
	return out
}

// mutatingCalls returns the number of mutating AWS calls of each operation as text, for example "CreateRule 2,
// SetSubnets 1".
func mutatingCalls(r *harness.Harness) string {
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
