package bindings

import (
	"fmt"
	"math/rand/v2"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
)

// TestBindingsByTargetGroupMatchAFullScan checks that the index by target group finds the same bindings as a scan of all
// bindings.
func TestBindingsByTargetGroupMatchAFullScan(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	pick := func(of ...string) string { return of[r.IntN(len(of))] }
	for range 100 {
		store, err := cluster.NewMemory(nil)
		if err != nil {
			t.Fatal(err)
		}
		var all []*elbv2.TargetGroupBinding
		for i := range 12 {
			b := &elbv2.TargetGroupBinding{ObjectMeta: metav1.ObjectMeta{Namespace: pick("n", "m"), Name: fmt.Sprintf("b%d", i)}}
			b.Spec.IamRoleArnToAssume = pick("", "", "role")
			name := pick("one", "two", "")
			if r.IntN(2) == 0 {
				b.Spec.TargetGroupName = name
			} else {
				b.Spec.TargetGroupARN = "arn:aws:elasticloadbalancing:eu-west-1:1:targetgroup/" + name + "/" + pick("1", "2")
			}
			if err := store.Put(b); err != nil {
				t.Fatal(err)
			}
			all = append(all, b)
		}
		for _, b := range all {
			found := map[string]bool{}
			for _, o := range bindingsOfTargetGroup(cluster.NewView(store), b) {
				found[o.Name] = bindingplan.SameTargetGroup(o, b)
			}
			for _, o := range all {
				if found[o.Name] != bindingplan.SameTargetGroup(o, b) {
					t.Fatalf("binding %+v is found for %+v: %v", o.Spec, b.Spec, found[o.Name])
				}
			}
		}
	}
}
