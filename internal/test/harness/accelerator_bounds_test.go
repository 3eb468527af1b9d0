package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	accelerators "github.com/fulcrum-lb/fulcrum/internal/translate/accelerator"
)

// acceleratorStackTags returns the stack tag of each accelerator, which is "namespace/name" of its object.
func acceleratorStackTags(r *Harness) (out []string) {
	for _, a := range acceleratorsInAWS(r) {
		out = append(out, a.Tags["aga.k8s.aws/stack"])
	}
	return out
}

// TestAcceleratorsPerNamespaceAreLimited checks that, with a limit per namespace, the oldest objects get accelerators,
// and that lowering the limit deletes no existing accelerator.
func TestAcceleratorsPerNamespaceAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		most := 1
		r := newAcceleratorHarness(t, Options{Accelerator: func(o *accelerators.Options) { o.MaxPerNamespace = most }})
		r.Apply(edgeAccelerator(webListener))
		r.Settle(10 * time.Minute)
		r.Apply(accelerator("shop", "later", listenerTo("{type: Ingress, name: web}")), edgeNamespace, accelerator("edge", "front", "listeners: []"))
		r.Settle(10 * time.Minute)
		expect := func(want ...string) {
			t.Helper()
			got := map[string]bool{}
			for _, s := range acceleratorStackTags(r) {
				got[s] = true
			}
			all := map[string]bool{}
			for _, s := range want {
				all[s] = true
			}
			if d := cmp.Diff(all, got); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		}
		expect("shop/edge", "edge/front")
		if ga := acceleratorObject(r, "shop", "later"); readyCondition(ga) != "False DeploymentFailed" || len(ga.Finalizers) > 0 {
			t.Errorf("Ready is %s, finalizers %v", readyCondition(ga), ga.Finalizers)
		}
		if got := strings.Join(eventsOf(r, "shop", "later"), "\n"); !strings.Contains(got, "QuotaReached") || !strings.Contains(got, "--max-accelerators-per-namespace") {
			t.Errorf("events: %s", got)
		}
		r.deleteObject(cluster.KindGlobalAccelerator, "shop", "edge") // the limit now permits another accelerator
		r.Settle(30 * time.Minute)
		expect("shop/later", "edge/front")
		most = 2
		r.Start()
		r.Apply(edgeAccelerator(webListener))
		r.Settle(10 * time.Minute)
		expect("shop/later", "shop/edge", "edge/front")
		most = 1 // a lower limit does not remove existing accelerators
		r.Start()
		r.Apply(edgeAccelerator(strings.Replace(webListener, "name: web", "name: web, weight: 7", 1)))
		r.Settle(10 * time.Minute)
		expect("shop/later", "shop/edge", "edge/front")
		if state := strings.Join(acceleratorState(r), "\n"); !strings.Contains(state, "weight=7") {
			t.Errorf("the edit of an existing accelerator above the limit is not applied: %s", state)
		}
		r.deleteObject(cluster.KindGlobalAccelerator, "shop", "later")
		r.deleteObject(cluster.KindGlobalAccelerator, "shop", "edge")
		r.Settle(time.Hour)
		expect("edge/front")
	})
}

// TestEndpointIDsMustMatchAllowedPatterns checks that an operator can restrict which IDs may be endpoints. Load
// balancers of the cluster may always be endpoints.
func TestEndpointIDsMustMatchAllowedPatterns(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		patterns []string
		want     bool // whether the node becomes an endpoint
	}{
		"any but nodes": {nil, false},
		"others":        {[]string{"arn:aws:elasticloadbalancing:eu-west-1:*"}, false},
		"listed":        {[]string{"i-*"}, true},
		"all":           {[]string{"*"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newAcceleratorHarness(t, Options{Accelerator: func(o *accelerators.Options) { o.EndpointIDs = c.patterns }})
				node := nodeInstance(r)
				r.Apply(edgeAccelerator(strings.Replace(webListener, "[{type: Ingress, name: web}]", fmt.Sprintf("[{type: Ingress, name: web}, {type: EndpointID, endpointID: %q}]", node), 1)))
				r.Settle(10 * time.Minute)
				found := false
				for _, a := range acceleratorsInAWS(r) {
					for _, l := range a.Listeners {
						for _, g := range l.Groups {
							found = found || g.Endpoint(node) != nil
							if len(g.Endpoints) == 0 {
								t.Error("the Ingress is no endpoint")
							}
						}
					}
				}
				if found != c.want {
					t.Errorf("the node is an endpoint: %t, events %v", found, eventsOf(r, "shop", "edge"))
				}
			})
		})
	}
}

// nodeInstance returns the EC2 instance ID of one node of the cluster.
func nodeInstance(r *Harness) string {
	for _, o := range r.Store.All(cluster.KindNode) {
		id := o.(*corev1.Node).Spec.ProviderID
		return id[strings.LastIndex(id, "/")+1:]
	}
	r.T.Fatal("there is no node")
	return ""
}

// TestBYOIPAddressesOnlyInAllowedNamespaces checks that an operator can restrict which namespaces may use the BYOIP
// addresses of the account. By default every namespace may use them.
func TestBYOIPAddressesOnlyInAllowedNamespaces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		allowed []string
		asked   bool
	}{"any": {nil, true}, "another": {[]string{"bank"}, false}, "this": {[]string{"bank", "shop"}, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newAcceleratorHarness(t, Options{Accelerator: func(o *accelerators.Options) { o.AddressNamespaces = c.allowed }})
				r.Apply(accelerator("shop", "edge", `ipAddresses: ["198.51.100.10"], `+listenerTo("{type: Ingress, name: web}")))
				r.Settle(10 * time.Minute)
				// No address range of the account contains the address, so AWS refuses to create an accelerator that
				// requests it.
				if made := len(acceleratorsInAWS(r)) == 1; made == c.asked {
					t.Errorf("an accelerator is made without the address: %t, events %v", made, eventsOf(r, "shop", "edge"))
				}
			})
		})
	}
}

// edgeService is Service "web" in namespace "edge". It has no pods.
const edgeService = `
apiVersion: v1
kind: Service
metadata: {name: web, namespace: edge, uid: 33333333-0000-4000-8000-000000000001}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: 8080}]}
`

// sharedMember returns Ingress "web" of a namespace, in IngressGroup "shared".
func sharedMember(namespace string) string {
	return fmt.Sprintf(`
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: %[1]s, annotations: {alb.ingress.kubernetes.io/group.name: shared, alb.ingress.kubernetes.io/target-type: ip}}
spec: {ingressClassName: alb, rules: [{host: %[1]s.example, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
`, namespace)
}

// TestSharedEndpointNeedsConsentOfAllNamespaces checks that in isolated tenancy a load balancer becomes an endpoint
// only if every namespace of its IngressGroup consents.
func TestSharedEndpointNeedsConsentOfAllNamespaces(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		isolated bool
		want     int // number of endpoints without the consent of all namespaces
	}{"cooperative": {false, 2}, "isolated": {true, 0}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newAcceleratorHarness(t, Options{Accelerator: func(o *accelerators.Options) { o.IsolatedTenancy = c.isolated }})
				r.Apply(edgeNamespace, edgeService, sharedMember("shop"), sharedMember("edge"))
				r.Settle(10 * time.Minute)
				arn := loadBalancerARNsByStack(r)["shared"]
				if arn == "" {
					t.Fatal("there is no load balancer of the IngressGroup")
				}
				r.Apply(accelerator("edge", "front", listenerTo(`{type: Ingress, name: web}`)), accelerator("edge", "id", listenerTo(fmt.Sprintf(`{type: EndpointID, endpointID: %q}`, arn))))
				r.Settle(10 * time.Minute)
				if got := len(acceleratorEndpoints(r)); got != c.want {
					t.Errorf("%d endpoints, want %d, events %v %v", got, c.want, eventsOf(r, "edge", "front"), eventsOf(r, "edge", "id"))
				}
				r.Apply(grantTo("networking.k8s.io", "Ingress"))
				r.Settle(10 * time.Minute)
				if got := len(acceleratorEndpoints(r)); got != 2 {
					t.Errorf("%d endpoints with the consent of all, events %v", got, eventsOf(r, "edge", "front"))
				}
				r.deleteObject(cluster.KindReferenceGrant, "shop", "edge")
				r.Settle(time.Second)
				if got := len(acceleratorEndpoints(r)); got != c.want {
					t.Errorf("%d endpoints after a consent was withdrawn, want %d", got, c.want)
				}
			})
		})
	}
}

// loadBalancerARNsByStack returns the ARNs of load balancers by the value of their Ingress stack tag.
func loadBalancerARNsByStack(r *Harness) map[string]string {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	out := map[string]string{}
	for arn, lb := range w.Partition(Account, RegionOf(r.Emulator)).ELB.LoadBalancers {
		out[lb.Tags[naming.StackTag("Ingress")]] = arn
	}
	return out
}
