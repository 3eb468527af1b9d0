package bindings_test

import (
	"strings"
	"testing"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// TestEditThatContradictsTheTargetGroupIsReported checks that an edit of a binding that contradicts its target group is
// reported, and that the registered targets stay. Such an edit is possible: the webhook permits setting an empty field
// later, and without the webhook every field can be changed.
func TestEditThatContradictsTheTargetGroupIsReported(t *testing.T) {
	other := "vpc-2"
	six, nodes := elbv2.TargetGroupIPAddressTypeIPv6, elbv2.TargetTypeInstance
	for name, edit := range map[string]func(*elbv2.TargetGroupBindingSpec){
		"spec.ipAddressType": func(s *elbv2.TargetGroupBindingSpec) { s.IPAddressType = &six },
		"spec.vpcID":         func(s *elbv2.TargetGroupBindingSpec) { s.VpcID = other },
		"spec.targetType":    func(s *elbv2.TargetGroupBindingSpec) { s.TargetType = &nodes },
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, serviceDoc("web", "NodePort"), podDocs("web", p1), bindingDoc("a", "web", "ip", 8080))
			w.aws.targetType = model.IPTargets
			w.run("a")
			w.aws.setAllStates("arn/a", "healthy")
			w.run("a")
			w.aws.takeLog()
			b := w.binding("a").DeepCopy()
			edit(&b.Spec)
			if _, err := w.store.Update(b, cluster.MainPart); err != nil {
				t.Fatal(err)
			}
			for range 2 { // the next event reports the same fault
				out := w.run("a")
				if len(out.Findings) != 1 || out.Findings[0].Field != name || out.Findings[0].Reason != finding.TargetGroupDiffers {
					t.Errorf("findings %v", out.Findings)
				}
				w.putObjects(podDocs("web", p1, p2))
			}
			if calls := w.aws.takeLog(); strings.Contains(calls, "register") {
				t.Errorf("calls: %s", calls)
			}
			checkEqual(t, "targets", "10.0.1.1:8080", w.aws.targetsOf("arn/a"))
		})
	}
}

// inOtherNamespace returns the manifest with the namespace "evil" instead of "ns".
func inOtherNamespace(doc string) string {
	return strings.Replace(doc, "namespace: ns", "namespace: evil", 1)
}

// TestBindingOfMissingTargetGroupBlocksNoOther checks that a binding to a target group that does not exist yet does not
// block a later binding of another namespace to the same target group.
func TestBindingOfMissingTargetGroupBlocksNoOther(t *testing.T) {
	const arn = "arn:aws:elasticloadbalancing:us-west-2:111122223333:targetgroup/shop/0123456789abcdef"
	byName := func(name string) string {
		return strings.Replace(bindingDoc(name, "web", "ip", 8080), "targetGroupARN: arn/"+name, "targetGroupName: shop", 1)
	}
	byARN := func(name, arn string) string {
		return strings.Replace(bindingDoc(name, "web", "ip", 8080), "arn/"+name, arn, 1)
	}
	fake := strings.Replace(arn, "0123456789abcdef", "0000000000000000", 1)
	for name, c := range map[string]struct{ squatter, victim string }{
		"a name before the ARN":          {byName("z"), byARN("a", arn)},
		"an ARN of nothing before name":  {byARN("z", fake), byName("a")},
		"an ARN of nothing, and the ARN": {byARN("z", fake), byARN("a", arn)},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), inOtherNamespace(c.squatter))
			w.now = w.now.Add(time.Hour)
			w.aws.targetsByGroup[arn] = nil
			w.putObjects(c.victim)
			for range 2 {
				if out := w.run("a"); len(out.Findings) > 0 {
					t.Errorf("findings %v", out.Findings)
				}
				checkEqual(t, "targets", "10.0.1.1:8080", w.aws.targetsOf(arn))
				// Now the other binding finds the target group too, which must not affect the binding "a".
				_, _ = w.reconciler.Reconcile(t.Context(), bindings.Key{Namespace: "evil", Name: "z"})
			}
		})
	}
}
