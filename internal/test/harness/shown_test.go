package harness

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// planCountingAPI is an API server that counts the patches of plan annotations by the name of the Ingress. If err is not
// nil, it answers them with err.
type planCountingAPI struct {
	kube.API
	count map[string]int
	err   error
}

func (w planCountingAPI) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	if strings.Contains(string(data), cluster.IngressPlanAnnotation) {
		w.count[obj.GetName()]++
		if w.err != nil {
			return w.err
		}
	}
	return w.API.Patch(ctx, obj, part, kind, data)
}

// newShopWithPlanAnnotations returns a harness with Ingress "shop/web", whose controller writes plan annotations if *on
// was true at its start, and the count of planCountingAPI. The writes fail with err, unless it is nil.
func newShopWithPlanAnnotations(t *testing.T, on *bool, err error) (*Harness, map[string]int) {
	t.Helper()
	writes := planCountingAPI{count: map[string]int{}, err: err}
	r := New(t, Options{
		Checkpoints: true,
		Ingress:     func(o *ingress.Options) { o.DescribePlan = *on },
		API: func(api kube.API) kube.API {
			writes.API = api
			return writes
		},
	})
	if err := AssignPodAddresses(t.Context(), AWSConfig(r.Emulator), r.Seeded.Instances[0], podAddresses[0]); err != nil {
		t.Fatal(err)
	}
	r.Apply(shop, readyPods("web", podAddresses[0]), webIngress("", "/=web"))
	settleWithoutErrors(t, r)
	clear(writes.count)
	return r, writes.count
}

// orderedMember returns YAML of Ingress "shop/m<n>" in IngressGroup "team" with the given group.order. n is 1 or 2.
func orderedMember(n int, order string) string {
	return strings.Replace(teamMemberWithHTTPS(n, "arn", map[int]string{1: "/a", 2: "/b"}[n]), "certificate-arn: arn", "group.order: '"+order+"'", 1)
}

// annotate sets an annotation of an Ingress in namespace "shop", like a user.
func annotate(r *Harness, name, key, value string) {
	r.T.Helper()
	obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: name})
	if err != nil {
		r.T.Fatal(err)
	}
	ing := obj.DeepCopyObject().(*networkingv1.Ingress)
	ing.Annotations[key] = value
	if _, err := r.Store.Update(ing, cluster.MainPart); err != nil {
		r.T.Fatal(err)
	}
}

// planAnnotations returns the plan annotation of each Ingress, by name. An annotation that equals the plan of a stack
// of the Ingress is returned as "the plan of <stack>".
func planAnnotations(r *Harness) map[string]string {
	out := map[string]string{}
	for _, o := range r.Store.All(cluster.KindIngress) {
		text, ok := o.GetAnnotations()[cluster.IngressPlanAnnotation]
		if !ok {
			continue
		}
		out[o.GetName()] = text
		for _, id := range r.Stacks(o) {
			if text == r.Plan(id).JSON() {
				out[o.GetName()] = "the plan of " + id.String()
			}
		}
	}
	return out
}

// TestPlanIsShownOnlyOnFirstMember checks that the plan of a stack is in an annotation of its first member only, and
// that the annotation is written only if the plan changes. All plan annotations are removed when the option is
// disabled.
func TestPlanIsShownOnlyOnFirstMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := true
		r, writes := newShopWithPlanAnnotations(t, &on, nil)
		expect := func(what string, want map[string]string, wantWrites map[string]int) {
			t.Helper()
			settleWithoutErrors(t, r)
			if diff := cmp.Diff(want, planAnnotations(r)); diff != "" {
				t.Errorf("%s (-want +shown):\n%s", what, diff)
			}
			if diff := cmp.Diff(wantWrites, writes); diff != "" {
				t.Errorf("%s: writes (-want +got):\n%s", what, diff)
			}
			clear(writes)
		}
		r.Apply(orderedMember(1, "1"), orderedMember(2, "2"))
		expect("a group", map[string]string{"web": "the plan of shop/web", "m1": "the plan of team"}, map[string]int{"m1": 1})

		r.Emulator.Calls().Reset()
		r.process.enqueueExistingObjects()
		expect("another reconciliation", map[string]string{"web": "the plan of shop/web", "m1": "the plan of team"}, map[string]int{})
		annotate(r, "m1", cluster.IngressPlanAnnotation, "a user writes here")
		expect("a plan annotation that a user edited", map[string]string{"web": "the plan of shop/web", "m1": "a user writes here"}, map[string]int{})
		if n := r.Emulator.Calls().Total(); n > 0 {
			t.Errorf("%d calls to AWS: %v", n, r.Emulator.Calls().Counts())
		}

		annotate(r, "m2", annotationPrefix+"group.order", "-1")
		expect("another order", map[string]string{"web": "the plan of shop/web", "m2": "the plan of team"}, map[string]int{"m1": 1, "m2": 1})

		annotate(r, "m2", annotationPrefix+"group.name", "other")
		expect("another group", map[string]string{"web": "the plan of shop/web", "m1": "the plan of team", "m2": "the plan of other"}, map[string]int{"m1": 1, "m2": 2}) // one stack removes the annotation, then the other one writes it

		r.process.saveCheckpoints()
		on = false
		r.Start()
		if failed := r.Settle(50 * time.Second); len(failed) > 0 {
			t.Fatal(failed)
		}
		expect("switched off", map[string]string{}, map[string]int{"m1": 1, "m2": 1, "web": 1})
		r.process.saveCheckpoints()
		on = true
		r.Start()
		if failed := r.Settle(50 * time.Second); len(failed) > 0 {
			t.Fatal(failed)
		}
		expect("switched on", map[string]string{"web": "the plan of shop/web", "m1": "the plan of team", "m2": "the plan of other"}, map[string]int{"m1": 1, "m2": 1, "web": 1})
	})
}

// TestFailedPlanAnnotationBlocksNothing checks that the status of an Ingress is written although its plan annotation
// cannot be written, and that this write is tried at most three times.
func TestFailedPlanAnnotationBlocksNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := true
		r, writes := newShopWithPlanAnnotations(t, &on, errors.New("not today"))
		r.Apply(orderedMember(1, "1"))
		settleWithoutErrors(t, r)
		m1, err := r.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "m1"})
		if err != nil || len(m1.(*networkingv1.Ingress).Status.LoadBalancer.Ingress) == 0 {
			t.Errorf("m1 has no status: %v", err)
		}
		if n := writes["m1"]; n == 0 || n > 3 {
			t.Errorf("the write was tried %d times", n)
		}
		if got := planAnnotations(r); len(got) > 0 {
			t.Errorf("plan annotations exist: %v", got)
		}
	})
}

// TestTooLargePlanIsReported checks that a plan that does not fit into the annotations is not written, that the
// annotation with the old plan is removed, and that a warning reports the size. The plan is written again when there is
// room.
func TestTooLargePlanIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		on := true
		r, writes := newShopWithPlanAnnotations(t, &on, nil)
		annotate(r, "web", "example.com/large", strings.Repeat("x", 230<<10))
		settleWithoutErrors(t, r)
		if diff := cmp.Diff(map[string]int{}, writes); diff != "" {
			t.Errorf("the plan annotation was written without a change of the plan: %s", diff)
		}
		annotate(r, "web", annotationPrefix+"healthcheck-path", "/up")
		settleWithoutErrors(t, r)
		if got := planAnnotations(r); len(got) > 0 {
			t.Errorf("an old plan is still shown: %v", got)
		}
		reported := len(warningsByObject(r)["web"])
		r.process.enqueueExistingObjects()
		settleWithoutErrors(t, r)
		if w := warningsByObject(r)["web"]; len(w) == 0 || len(w) != reported || !strings.HasPrefix(w[0], "PlanTooLarge: "+cluster.IngressPlanAnnotation+": the plan has ") {
			t.Errorf("events: %q", w)
		}
		annotate(r, "web", "example.com/large", "")
		settleWithoutErrors(t, r)
		if diff := cmp.Diff(map[string]string{"web": "the plan of shop/web"}, planAnnotations(r)); diff != "" {
			t.Errorf("the plan fits again (-want +shown):\n%s", diff)
		}
	})
}

// TestPlansCostNoCalls checks that plan annotations cause no additional calls to AWS.
func TestPlansCostNoCalls(t *testing.T) {
	t.Parallel()
	calls := func(on bool) (counts map[string]int) {
		synctest.Test(t, func(t *testing.T) {
			r, _ := newShopWithPlanAnnotations(t, &on, nil)
			r.Emulator.Calls().Reset()
			r.Apply(orderedMember(1, "1"), orderedMember(2, "2"))
			settleWithoutErrors(t, r)
			counts = r.Emulator.Calls().Counts()
		})
		return counts
	}
	if diff := cmp.Diff(calls(false), calls(true)); diff != "" {
		t.Errorf("(-without +with):\n%s", diff)
	}
}
