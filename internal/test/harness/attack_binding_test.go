package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// The tests in this file cover attacks by a tenant with TargetGroupBindings in the tenant's namespace.

// bindingsOf returns the TargetGroupBindings of a namespace.
func bindingsOf(r *Harness, namespace string) []*elbv2.TargetGroupBinding {
	var out []*elbv2.TargetGroupBinding
	for _, o := range r.Store.All(cluster.KindBinding) {
		if b := o.(*elbv2.TargetGroupBinding); b.Namespace == namespace {
			out = append(out, b)
		}
	}
	return out
}

// imitatedBinding returns a copy of a TargetGroupBinding with the name "team/impostor".
func imitatedBinding(of *elbv2.TargetGroupBinding) *elbv2.TargetGroupBinding {
	b := &elbv2.TargetGroupBinding{}
	b.Namespace, b.Name, b.Labels, b.Spec = "team", "impostor", of.Labels, *of.Spec.DeepCopy()
	return b
}

// TestForgedBindingLabelsDoNotBlockDeletion checks that a TargetGroupBinding with the labels of another tenant's
// stack, and with a finalizer that is never removed, does not block the deletion of that stack.
func TestForgedBindingLabelsDoNotBlockDeletion(t *testing.T) {
	t.Parallel()
	for _, arn := range []string{"of the stack", "of nothing"} {
		t.Run("a target group "+arn, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Apply(victimIngresses(r, "alb", "group.name", "edge")...)
				settleWithoutErrors(t, r)
				forged := imitatedBinding(bindingsOf(r, "shop")[0])
				forged.Finalizers = []string{"team.example.com/keep"}
				if arn == "of nothing" {
					forged.Spec.TargetGroupARN = strings.Replace(forged.Spec.TargetGroupARN, "k8s-shop", "k8s-none", 1)
				}
				if err := r.Store.Apply(forged); err != nil {
					t.Fatal(err)
				}
				r.Settle(10 * time.Minute)
				deleteIngress(t, r, "shop", "a")
				deleteIngress(t, r, "shop", "b")
				r.Settle(30 * time.Minute)
				if left := stateOfKinds(r, "load-balancer", "target-group"); len(left) > 0 {
					t.Errorf("left after the deletion: %v", left)
				}
				if left := r.Store.All(cluster.KindIngress); len(left) > 0 {
					t.Errorf("%d Ingresses are not deleted", len(left))
				}
			})
		})
	}
}
