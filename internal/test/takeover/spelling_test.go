package takeover

import (
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/test/cases"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// equivalentAnnotations are equivalent values (to) of recorded Ingress annotations (from). If to is empty, the recorded list
// is reversed.
var equivalentAnnotations = []struct{ name, object, annotation, from, to string }{
	{"host bits and blanks", "ingress-inbound-cidrs/web", "inbound-cidrs", "10.0.0.0/8, 192.168.1.0/24", " 10.1.2.3/8 ,192.168.1.7/24"},
	{"order and repetition", "ingress-inbound-cidrs/web", "inbound-cidrs", "10.0.0.0/8, 192.168.1.0/24", "192.168.1.0/24,10.0.0.0/8,10.0.0.0/8"},
	{"order of ports", "ingress-inbound-cidrs/web", "listen-ports", `[{"HTTP": 80}, {"HTTP": 81}]`, `[{"HTTP":81},{"HTTP":80},{"HTTP":81}]`},
	{"long form of all addresses", "ingress-dualstack/web", "inbound-cidrs", "", "0.0.0.0/0,0:0:0::0/0"},
	{"order of subnets", "ingress-subnets/web", "subnets", "", ""},
	{"order of tags", "ingress-tags/web", "tags", "", ""},
}

// TestTakeOverWithEquivalentAnnotations checks that the controller changes nothing if annotations got an equivalent value
// after aws-load-balancer-controller was removed.
func TestTakeOverWithEquivalentAnnotations(t *testing.T) {
	t.Parallel()
	for _, s := range equivalentAnnotations {
		t.Run(s.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				name, _, _ := strings.Cut(s.object, "/")
				r := newHarnessWithExistingResources(t, variations{}, name)
				replaceAnnotation(t, r, s.object, s.annotation, s.from, s.to)
				checkNoChanges(t, r, true)
			})
		})
	}
}

func replaceAnnotation(t *testing.T, r *harness.Harness, object, annotation, from, to string) {
	t.Helper()
	const prefix = "alb.ingress.kubernetes.io/"
	ns, name, _ := strings.Cut(object, "/")
	obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: ns, Name: name})
	stored, ok := must(t, obj, err).(*networkingv1.Ingress)
	if !ok {
		t.Fatalf("there is no Ingress %s", object)
	}
	stored = stored.DeepCopy()
	have := stored.Annotations[prefix+annotation]
	if to == "" { // the same list in reverse order
		parts := strings.Split(have, ",")
		for i := len(parts) - 1; i >= 0; i-- {
			to += strings.TrimSpace(parts[i]) + ","
		}
		from, to = have, strings.TrimSuffix(to, ",")
	}
	if have != from || from == to {
		t.Fatalf("%s is %q, not %q", annotation, have, from)
	}
	stored.Annotations[prefix+annotation] = to
	must(t, 0, r.Store.Put(stored))
}

// TestTakeOverFindsRealDifferences checks that the controller revokes the security group rule of a CIDR that was removed
// from the annotation after aws-load-balancer-controller was removed.
func TestTakeOverFindsRealDifferences(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newHarnessWithExistingResources(t, variations{}, "ingress-inbound-cidrs")
		replaceAnnotation(t, r, "ingress-inbound-cidrs/web", "inbound-cidrs", "10.0.0.0/8, 192.168.1.0/24", "10.0.0.0/8")
		r.Emulator.Calls().Reset()
		r.Start()
		r.Settle(timeWithoutComparison)
		if got, want := mutatingCalls(r), "RevokeSecurityGroupIngress 1"; got != want {
			t.Errorf("the calls are %q, want %q", got, want)
		}
	})
}

// TestDeletionAfterTakeOver deletes all Ingresses, Services and Gateways after the take-over. It checks that no AWS resource
// of aws-load-balancer-controller and none of these objects remains, nor a TargetGroupBinding.
func TestDeletionAfterTakeOver(t *testing.T) {
	t.Parallel()
	for _, f := range takeoverVariations {
		if f.odd.hasRuleDescriptions {
			continue // rules of other clients are kept
		}
		t.Run(f.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				before := newTakeoverHarness(t, f.odd, false).State()
				r := newHarnessWithExistingResources(t, f.odd, unblockedCases(t)...)
				r.Start()
				for _, obj := range slices.Concat(r.Store.All(cluster.KindIngress), r.Store.All(cluster.KindService), r.Store.All(cluster.KindGateway)) {
					must(t, 0, r.Store.Delete(cluster.RefOf(obj)))
				}
				for k, err := range r.Settle(time.Hour) {
					t.Errorf("%s: %v", k, err)
				}
				checkEqual(t, "AWS resources remain after deletion", before, r.State())
				for _, kind := range []cluster.Kind{cluster.KindIngress, cluster.KindService, cluster.KindGateway, cluster.KindBinding} {
					for _, obj := range r.Store.All(kind) {
						t.Errorf("%s is left, with finalizers %v", cluster.RefOf(obj), obj.GetFinalizers())
					}
				}
			})
		})
	}
}

func unblockedCases(t *testing.T) (out []string) {
	t.Helper()
	for _, name := range cases.Names(t) {
		if name != blockedIngressGroupCase {
			out = append(out, name)
		}
	}
	return out
}
