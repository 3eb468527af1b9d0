package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// hostileAccelerators returns manifests of Namespace "evil" and of GlobalAccelerators in it. They have endpoints that
// AWS refuses, conflicting listeners, misleading texts, sizes above every quota, and names of resources of other
// namespaces.
func hostileAccelerators(r *Harness) []string {
	var wide, many []string
	for i := range 300 {
		wide = append(wide, fmt.Sprintf("{type: EndpointID, endpointID: i-%d}", i))
		many = append(many, fmt.Sprintf("{protocol: TCP, portRanges: [{fromPort: %d, toPort: %d}], endpointGroups: [{endpoints: [%s]}]}", i+1, i+1, strings.Join(wide[:min(i, 9)], ", ")))
	}
	out := []string{
		"apiVersion: v1\nkind: Namespace\nmetadata: {name: evil}\n",
		accelerator("evil", "wide", listenerTo(strings.Join(wide, ", "))),
		accelerator("evil", "many", "listeners: ["+strings.Join(many, ", ")+"]"),
		accelerator("evil", "texts", `name: "x", tags: {"a\nNormal SuccessfullyReconciled": "\u202e"}, listeners: [{protocol: "TCP\nReady", portRanges: [{fromPort: 1, toPort: 1}]}]`),
		accelerator("evil", "victims", fmt.Sprintf(`name: %q, %s`, acceleratorsInAWS(r)[0].Name, listenerTo(fmt.Sprintf(`{type: EndpointID, endpointID: %q}, {type: Ingress, namespace: shop, name: web}`, albARN(r))))),
	}
	for i := range 8 {
		out = append(out, accelerator("evil", fmt.Sprint("refused-", i), listenerTo(fmt.Sprintf("{type: EndpointID, endpointID: i-0000%d}, {type: EndpointID, endpointID: eipalloc-%d}", i, i))))
	}
	return out
}

// TestHostileAcceleratorsDoNotAffectOthers checks that hostile GlobalAccelerators in one namespace do not change the
// accelerator of another namespace, do not delay its edits, and cause few calls per hour.
func TestHostileAcceleratorsDoNotAffectOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{})
		r.Apply(edgeAccelerator(webListener))
		r.Settle(10 * time.Minute)
		own := func() (out []string) {
			for _, l := range acceleratorState(r) {
				if strings.Contains(l, "k8s_shop_edge") && !strings.Contains(l, "evil/") {
					out = append(out, l)
				}
			}
			return out
		}
		before, arn, alb := own(), acceleratorsInAWS(r)[0].ARN, albARN(r)
		attack := hostileAccelerators(r)
		r.Apply(attack...)
		r.Settle(30 * time.Minute)
		mine := 0
		for _, a := range acceleratorsInAWS(r) {
			if a.Tags["aga.k8s.aws/stack"] == "shop/edge" {
				mine++
				if a.ARN != arn || len(a.Listeners) != 1 || len(a.Listeners[0].Groups[0].Endpoints) != 1 {
					t.Errorf("the victim's accelerator was changed: %v", before)
				}
				continue
			}
			for _, l := range a.Listeners {
				for _, g := range l.Groups {
					if g.Endpoint(alb) != nil {
						t.Errorf("accelerator %s leads to the load balancer of the victim", a.Tags["aga.k8s.aws/stack"])
					}
				}
			}
		}
		if mine != 1 {
			t.Errorf("the victim has %d accelerators", mine)
		}
		for _, name := range []string{"wide", "many", "texts", "victims"} {
			for _, e := range eventsOf(r, "evil", name) {
				if strings.ContainsAny(e, "\n\u202e") {
					t.Errorf("event %q", e)
				}
			}
		}
		r.Apply(attack...) // apply all hostile objects again together with the edit
		begun := time.Now()
		r.Apply(edgeAccelerator(strings.Replace(webListener, "name: web", "name: web, weight: 5", 1)))
		for time.Since(begun) < 10*time.Minute && !strings.Contains(strings.Join(acceleratorState(r), "\n"), "weight=5") {
			r.Settle(time.Second)
			time.Sleep(time.Second)
		}
		if took := time.Since(begun); took > time.Minute {
			t.Errorf("the victim's edit took %s", took)
		}
		r.Settle(30 * time.Minute)
		calls := len(acceleratorMutations(r))
		r.Settle(time.Hour)
		if n := len(acceleratorMutations(r)) - calls; n > 20*len(attack) {
			t.Errorf("%d calls in an hour", n)
		}
		for _, o := range r.Store.All(cluster.KindGlobalAccelerator) {
			if o.GetNamespace() == "evil" {
				r.deleteObject(cluster.KindGlobalAccelerator, "evil", o.GetName())
			}
		}
		r.Settle(2 * time.Hour)
		if n := len(acceleratorsInAWS(r)); n != 1 {
			t.Errorf("%d accelerators are left", n)
		}
		r.Apply(edgeAccelerator(webListener))
		r.Settle(10 * time.Minute)
		if d := cmp.Diff(before, own()); d != "" {
			t.Errorf("the victim's accelerator differs: %s", d)
		}
	})
}

// TestAcceleratorWithoutObjectIsAnOrphan checks that an accelerator without an object is reported as an orphan and not
// deleted, even if the object was deleted after a user had removed its finalizer.
func TestAcceleratorWithoutObjectIsAnOrphan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{})
		r.Apply(edgeAccelerator(webListener))
		r.Settle(10 * time.Minute)
		if got := r.Orphans(); len(got) > 0 {
			t.Errorf("orphans beside their object: %v", got)
		}
		// A second accelerator with the same tags is not adopted and not deleted.
		other := createAccelerator(r, "other", acceleratorsInAWS(r)[0].Tags)
		r.Start()
		r.Settle(10 * time.Minute)
		if got := r.Orphans(); len(got) != 1 || len(got[0].Resources) != 1 || got[0].Resources[0] != other {
			t.Errorf("orphans %v, want %s", got, other)
		}
		if _, err := acceleratorClient(r).UpdateAccelerator(t.Context(), &ga.UpdateAcceleratorInput{AcceleratorArn: &other, Enabled: aws.Bool(false)}); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute)
		if _, err := acceleratorClient(r).DeleteAccelerator(t.Context(), &ga.DeleteAcceleratorInput{AcceleratorArn: &other}); err != nil {
			t.Fatal(err)
		}
		obj := acceleratorObject(r, "shop", "edge").DeepCopyObject().(cluster.Object)
		obj.SetFinalizers(nil)
		if err := r.Store.Put(obj); err != nil {
			t.Fatal(err)
		}
		r.deleteObject(cluster.KindGlobalAccelerator, "shop", "edge") // before the controller adds the finalizer again
		r.Settle(time.Hour)
		if n := len(acceleratorsInAWS(r)); n != 1 || !acceleratorsInAWS(r)[0].Enabled || len(acceleratorsInAWS(r)[0].Listeners) != 1 {
			t.Errorf("%d accelerators, want only the accelerator that existed before: %v", n, acceleratorState(r))
		}
		got := r.Orphans()
		if len(got) != 1 || got[0].ID.String() != "shop/edge" || len(got[0].Resources) != 1 {
			t.Errorf("orphans %v", got)
		}
		// The object is created again, as if it were restored from a backup, and gets its accelerator back.
		arn := acceleratorsInAWS(r)[0].ARN
		r.Apply(edgeAccelerator(webListener))
		r.Settle(10 * time.Minute)
		if ga := acceleratorObject(r, "shop", "edge"); ga.Status.AcceleratorARN != arn || len(acceleratorsInAWS(r)) != 1 {
			t.Errorf("the status shows %s, want %s", ga.Status.AcceleratorARN, arn)
		}
	})
}
