package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	elbtypes "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	accelerators "github.com/fulcrum-lb/fulcrum/internal/translate/accelerator"
)

// TestConsentCanBeWithdrawnFromOrphanedAccelerator checks that withdrawing consent removes an endpoint even if the
// deletion of its accelerator is held or the accelerator is an orphan.
func TestConsentCanBeWithdrawnFromOrphanedAccelerator(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*Harness){
		"deletion is held": func(r *Harness) {
			r.deleteObject(cluster.KindGlobalAccelerator, "edge", "front")
			r.Settle(time.Second)
		},
		"without finalizer": func(r *Harness) {
			obj := acceleratorObject(r, "edge", "front").DeepCopyObject().(cluster.Object)
			obj.SetFinalizers(nil)
			if err := r.Store.Put(obj); err != nil {
				t.Fatal(err)
			}
			r.deleteObject(cluster.KindGlobalAccelerator, "edge", "front")
			r.Settle(time.Minute)
			if got := r.Orphans(); len(got) != 1 {
				t.Errorf("orphans %v", got)
			}
		},
		"with a finalizer of another": func(r *Harness) {
			r.deleteObject(cluster.KindGlobalAccelerator, "edge", "front")
			obj := acceleratorObject(r, "edge", "front").DeepCopyObject().(cluster.Object)
			obj.SetFinalizers([]string{"other.example/finalizer"})
			if err := r.Store.Put(obj); err != nil {
				t.Fatal(err)
			}
			r.Settle(time.Minute)
			if got := r.Orphans(); len(got) != 1 {
				t.Errorf("orphans %v", got)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newAcceleratorHarness(t, Options{})
				doc := accelerator("edge", "front", listenerTo(`{type: Ingress, namespace: shop, name: web}`))
				r.Apply(edgeNamespace, grantTo("networking.k8s.io", "Ingress"), doc)
				r.Settle(10 * time.Minute)
				obj := acceleratorObject(r, "edge", "front").DeepCopyObject().(cluster.Object)
				obj.SetAnnotations(map[string]string{"fulcrum.dev/accelerator-protection": "true"})
				if err := r.Store.Put(obj); err != nil {
					t.Fatal(err)
				}
				r.Settle(time.Minute)
				leave(r)
				if got := acceleratorEndpoints(r); len(got) != 1 {
					t.Fatalf("%d endpoints with consent", len(got))
				}
				r.deleteObject(cluster.KindReferenceGrant, "shop", "edge")
				r.Settle(time.Second)
				if got := acceleratorEndpoints(r); len(got) > 0 {
					t.Errorf("an endpoint after consent was withdrawn: %v", got)
				}
				if n := len(acceleratorsInAWS(r)); n != 1 || !acceleratorsInAWS(r)[0].Enabled || len(acceleratorsInAWS(r)[0].Listeners) != 1 {
					t.Errorf("%d accelerators: %v", n, acceleratorState(r))
				}
			})
		})
	}
}

// TestAcceleratorsStayWhenTheirCRDIsDeleted checks that the deletion of the GlobalAccelerator CRD, which deletes all
// objects at once, does not delete accelerators until an operator allows mass removal.
func TestAcceleratorsStayWhenTheirCRDIsDeleted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		allowed := false
		r := newAcceleratorHarness(t, Options{Accelerator: func(o *accelerators.Options) { o.AllowMassRemoval = allowed }})
		r.Apply(edgeAccelerator(webListener), accelerator("shop", "second", listenerTo("{type: Ingress, name: web}")))
		r.Settle(10 * time.Minute)
		before := acceleratorState(r)
		r.Emulator.Calls().Reset()
		if err := r.Store.SetDefinition(cluster.KindGlobalAccelerator, cluster.Definition{MissingOrDeleting: true}); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			r.Settle(time.Hour)
			if calls := acceleratorMutations(r); len(calls) > 0 {
				t.Errorf("calls that change something: %v", calls)
			}
			if d := cmp.Diff(before, acceleratorState(r)); d != "" {
				t.Error(d)
			}
			r.Start()
		}
		if got := strings.Join(eventsOf(r, "shop", "edge"), "\n"); !strings.Contains(got, "RemovalNotTrusted") || !strings.Contains(got, "--allow-mass-removal") {
			t.Errorf("events: %s", got)
		}
		allowed = true
		r.Start()
		r.Settle(30 * time.Minute)
		if left := acceleratorState(r); len(left) > 0 {
			t.Errorf("accelerators left after the deletion: %v", left)
		}
		if all := r.Store.All(cluster.KindGlobalAccelerator); len(all) > 0 {
			t.Errorf("%d objects are still there", len(all))
		}
	})
}

// TestAcceleratorsStayWhenAllObjectsDisappear checks that accelerators are kept when all objects disappear without a
// deletion, for example because the cluster is restored. When the objects return after a restart, they use the same
// accelerators.
func TestAcceleratorsStayWhenAllObjectsDisappear(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{})
		docs := []string{edgeAccelerator(webListener), accelerator("shop", "second", listenerTo("{type: Ingress, name: web}"))}
		r.Apply(docs...)
		r.Settle(10 * time.Minute)
		before := acceleratorState(r)
		for _, o := range r.Store.All(cluster.KindGlobalAccelerator) {
			gone := o.DeepCopyObject().(cluster.Object)
			gone.SetFinalizers(nil)
			if err := r.Store.Put(gone); err != nil {
				t.Fatal(err)
			}
			r.deleteObject(cluster.KindGlobalAccelerator, o.GetNamespace(), o.GetName())
		}
		r.Emulator.Calls().Reset()
		r.Settle(time.Hour)
		r.Start()
		r.Settle(time.Hour)
		r.Apply(docs...)
		r.Settle(time.Hour)
		if calls := acceleratorMutations(r); len(calls) > 0 {
			t.Errorf("calls that change something: %v", calls)
		}
		if d := cmp.Diff(before, acceleratorState(r)); d != "" {
			t.Error(d)
		}
	})
}

// TestListenersStayWhenTheCRDDropsTheField checks that listeners are kept while an old version of the CRD without the
// field spec.listeners hides them. Once the API server serves the field again, listeners that a user removes are
// deleted.
func TestListenersStayWhenTheCRDDropsTheField(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{})
		r.Apply(edgeAccelerator(webListener))
		r.Settle(10 * time.Minute)
		before := acceleratorState(r)
		r.Emulator.Calls().Reset()
		if err := r.Store.SetDefinition(cluster.KindGlobalAccelerator, cluster.Definition{SpecFields: []string{"name", "tags"}}); err != nil {
			t.Fatal(err)
		}
		r.Apply(accelerator("shop", "edge", ""))
		r.Settle(time.Hour)
		r.Start()
		r.Settle(time.Hour)
		if calls := acceleratorMutations(r); len(calls) > 0 {
			t.Errorf("calls that change something: %v", calls)
		}
		if got := strings.Join(eventsOf(r, "shop", "edge"), "\n"); !strings.Contains(got, "has no field spec.listeners") {
			t.Errorf("events: %s", got)
		}
		if err := r.Store.SetDefinition(cluster.KindGlobalAccelerator, cluster.Definition{SpecFields: []string{"listeners", "name", "tags"}}); err != nil {
			t.Fatal(err)
		}
		r.Apply(edgeAccelerator(webListener))
		r.Settle(time.Hour)
		if d := cmp.Diff(before, acceleratorState(r)); d != "" {
			t.Error(d)
		}
		r.Apply(accelerator("shop", "edge", ""))
		r.Settle(time.Hour)
		if left := acceleratorState(r); len(left) != 1 {
			t.Errorf("listeners that no object requests: %v", left)
		}
	})
}

// sourceWithoutKind is a source that does not read a kind if off is true.
type sourceWithoutKind struct {
	cluster.Source
	kind cluster.Kind
	off  *bool
}

func (s sourceWithoutKind) Installed(kind cluster.Kind) bool { return kind != s.kind || !*s.off }

func (s sourceWithoutKind) Get(ref cluster.Ref) (cluster.Object, error) {
	if !s.Installed(ref.Kind) {
		return nil, nil
	}
	return s.Source.Get(ref)
}

// TestEndpointStaysWhileGatewaysAreNotServed checks that the load balancer of a Gateway stays an endpoint while the API
// server does not serve Gateways, that no event says that the Gateway does not exist, and that other endpoints can be removed.
func TestEndpointStaysWhileGatewaysAreNotServed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		off := false
		r := newAdoptionHarness(t, Options{Accelerators: true, Source: func(s cluster.Source) cluster.Source {
			return sourceWithoutKind{s, cluster.KindGateway, &off}
		}})
		r.Apply(gatewayOf("shop", "edge", ""), adoptingRoutes, webIngress("", "/=web"))
		r.Settle(20 * time.Minute)
		r.Apply(accelerator("shop", "front", listenerTo(`{type: Gateway, name: edge}`)))
		r.Settle(20 * time.Minute)
		gateway := acceleratorEndpoints(r.Harness)
		r.Apply(accelerator("shop", "front", listenerTo(`{type: Gateway, name: edge}, {type: Ingress, name: web}`)))
		r.Settle(20 * time.Minute)
		if got := acceleratorEndpoints(r.Harness); len(got) != 2 {
			t.Fatalf("endpoints %v", got)
		}
		off = true
		r.Start()
		r.Settle(time.Hour)
		if got := acceleratorEndpoints(r.Harness); len(got) != 2 {
			t.Errorf("endpoints %v", got)
		}
		if got := strings.Join(eventsOf(r.Harness, "shop", "front"), "\n"); !strings.Contains(got, "Gateway \"shop/edge\" cannot be read") || strings.Contains(got, "does not exist") {
			t.Errorf("events: %s", got)
		}
		r.Apply(accelerator("shop", "front", listenerTo(`{type: Gateway, name: edge}`)))
		r.Settle(20 * time.Minute)
		if got := acceleratorEndpoints(r.Harness); len(got) != 1 || got[0] != gateway[0] {
			t.Errorf("endpoints after one was removed: %v", got)
		}
	})
}

// TestEndpointsStayWithoutReferenceGrants checks that endpoints in another namespace stay while the API server does not serve
// ReferenceGrants, also if another controller made the load balancer, or if a second listener names its ARN, and that a right
// that is withdrawn then is lost when the API server serves them again.
func TestEndpointsStayWithoutReferenceGrants(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		off := false
		r := newAcceleratorHarness(t, Options{Source: func(s cluster.Source) cluster.Source {
			return sourceWithoutKind{s, cluster.KindReferenceGrant, &off}
		}})
		made, err := elb.NewFromConfig(AWSConfig(r.Emulator)).CreateLoadBalancer(t.Context(), &elb.CreateLoadBalancerInput{
			Name: aws.String("theirs"), Type: elbtypes.LoadBalancerTypeEnumNetwork, Subnets: r.Seeded.Public[:2],
		})
		if err != nil {
			t.Fatal(err)
		}
		r.Apply(edgeNamespace, grantTo("networking.k8s.io", "Ingress"), strings.Replace(grantTo("", "Service"), "name: edge", "name: services", 1), `
apiVersion: v1
kind: Service
metadata: {name: theirs, namespace: shop}
spec: {type: LoadBalancer, loadBalancerClass: other.example/class, ports: [{port: 80}]}
`)
		writeStatusHostname(r, cluster.KindService, "shop", "theirs", *made.LoadBalancers[0].DNSName)
		r.Start() // reads the load balancers in AWS
		both := listenerTo(`{type: Ingress, namespace: shop, name: web}, {type: Service, namespace: shop, name: theirs}`)
		byARN := fmt.Sprintf(`, {protocol: TCP, portRanges: [{fromPort: 81, toPort: 81}], endpointGroups: [{endpoints: [{type: EndpointID, endpointID: %q}]}]}]`, albARN(r))
		r.Apply(accelerator("edge", "front", strings.TrimSuffix(both, "]")+byARN))
		r.Settle(20 * time.Minute)
		if got := acceleratorEndpoints(r); len(got) != 3 {
			t.Fatalf("endpoints %v, events %v", got, eventsOf(r, "edge", "front"))
		}
		off = true
		r.Start()
		r.Settle(time.Hour)
		if got := acceleratorEndpoints(r); len(got) != 3 {
			t.Errorf("endpoints without ReferenceGrants: %v", got)
		}
		r.deleteObject(cluster.KindReferenceGrant, "shop", "services")
		r.Settle(time.Minute)
		off = false
		r.Start()
		r.Settle(time.Hour)
		if got := acceleratorEndpoints(r); len(got) != 2 {
			t.Errorf("endpoints after one right was withdrawn: %v", got)
		}
	})
}

const serviceOfAnotherController = `
apiVersion: v1
kind: Service
metadata: {name: theirs, namespace: edge}
spec: {type: LoadBalancer, loadBalancerClass: other.example/class, ports: [{port: 80}]}
`

// TestNewLoadBalancerOfAnotherControllerIsFound checks that the load balancer of an object of another controller becomes an
// endpoint soon after its status shows it, although the controller does not know the load balancer yet.
func TestNewLoadBalancerOfAnotherControllerIsFound(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{})
		r.Apply(edgeNamespace, serviceOfAnotherController, accelerator("edge", "front", listenerTo(`{type: Service, name: theirs}`)))
		r.Settle(10 * time.Minute)
		made, err := elb.NewFromConfig(AWSConfig(r.Emulator)).CreateLoadBalancer(t.Context(), &elb.CreateLoadBalancerInput{
			Name: aws.String("theirs"), Type: elbtypes.LoadBalancerTypeEnumNetwork, Subnets: r.Seeded.Public[:2],
		})
		if err != nil {
			t.Fatal(err)
		}
		writeStatusHostname(r, cluster.KindService, "edge", "theirs", *made.LoadBalancers[0].DNSName)
		r.Settle(5 * time.Minute)
		if got := acceleratorEndpoints(r); len(got) != 1 {
			t.Errorf("endpoints %v, events %v", got, eventsOf(r, "edge", "front"))
		}
	})
}

// TestUnusableHostnameIsLookedUpRarely checks that a stack is done although the hostname in the status of an endpoint belongs to
// no load balancer, and that the hostname is looked up less and less often. It also checks that a hostname of a load balancer of
// another stack is not looked up again.
func TestUnusableHostnameIsLookedUpRarely(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		host func(*Harness) string
		most int // runs in six hours
	}{
		"of no load balancer":     {func(*Harness) string { return "nginx.example.com" }, int(6*time.Hour/durations.LongestBackOff) + 1},
		"of an Ingress of others": {ingressHostname, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				runs := 0
				r := newAcceleratorHarness(t, Options{Checkpoints: true, AfterRun: func(what string, _ error) {
					if strings.Contains(what, "front") {
						runs++
					}
				}})
				r.Apply(edgeNamespace, serviceOfAnotherController, accelerator("edge", "front", listenerTo(`{type: Service, name: theirs}`)))
				writeStatusHostname(r, cluster.KindService, "edge", "theirs", c.host(r))
				r.Settle(time.Hour)
				runs = 0
				r.Settle(6 * time.Hour)
				if runs > c.most {
					t.Errorf("%d runs in six hours", runs)
				}
				r.Emulator.Calls().Reset()
				r.Start()
				r.Settle(time.Minute)
				for _, c := range r.Emulator.Calls().Entries() {
					if c.Service == "globalaccelerator" {
						t.Errorf("call %s after a restart, so the stack has no checkpoint", c.Operation)
					}
				}
			})
		})
	}
}
