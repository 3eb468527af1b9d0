package harness

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	gatypes "github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

const edgeNamespace = `
apiVersion: v1
kind: Namespace
metadata: {name: edge}
`

// grantTo returns a ReferenceGrant that permits GlobalAccelerators of namespace "edge" to use objects of a kind in
// namespace "shop".
func grantTo(group, kind string) string {
	return fmt.Sprintf(`
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: edge, namespace: shop}
spec: {from: [{group: aga.k8s.aws, kind: GlobalAccelerator, namespace: edge}], to: [{group: %q, kind: %s}]}
`, group, kind)
}

func listenerTo(endpoints string) string {
	return `listeners: [{protocol: TCP, portRanges: [{fromPort: 80, toPort: 80}], endpointGroups: [{endpoints: [` + endpoints + `]}]}]`
}

// acceleratorEndpoints returns the endpoints of all accelerators. A load balancer is named instead of its ARN.
func acceleratorEndpoints(r *Harness) (out []string) {
	for _, l := range acceleratorState(r) {
		if _, e, ok := strings.Cut(l, " endpoint "); ok {
			out = append(out, strings.Fields(strings.SplitN(e, "] ", 2)[1])[1])
		}
	}
	return out
}

func eventsOf(r *Harness, namespace, name string) (out []string) {
	for _, o := range r.Store.All("Event") {
		if e, ok := o.(*corev1.Event); ok && e.InvolvedObject.Namespace == namespace && e.InvolvedObject.Name == name {
			out = append(out, e.Type+" "+e.Reason+" "+e.Message)
		}
	}
	slices.Sort(out)
	return out
}

// albARN returns the ARN of the load balancer of Ingress "shop/web".
func albARN(r *Harness) string {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	for arn, lb := range w.Partition(Account, RegionOf(r.Emulator)).ELB.LoadBalancers {
		if lb.Tags["ingress.k8s.aws/stack"] == "shop/web" {
			return arn
		}
	}
	r.T.Fatal("Ingress shop/web has no load balancer")
	return ""
}

// TestAcceleratorNeedsConsentForEndpoints checks that a load balancer of another namespace is an endpoint only while a
// ReferenceGrant of that namespace permits it. The endpoint may name the Ingress or the ARN of the load balancer.
func TestAcceleratorNeedsConsentForEndpoints(t *testing.T) {
	t.Parallel()
	for name, endpoint := range map[string]func(*Harness) string{
		"by name": func(*Harness) string { return `{type: Ingress, namespace: shop, name: web}` },
		"by ARN":  func(r *Harness) string { return fmt.Sprintf(`{type: EndpointID, endpointID: %q}`, albARN(r)) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newAcceleratorHarness(t, Options{})
				r.Apply(edgeNamespace, accelerator("edge", "front", listenerTo(endpoint(r))))
				r.Settle(10 * time.Minute)
				if got := acceleratorEndpoints(r); len(got) > 0 {
					t.Errorf("an endpoint without consent: %v", got)
				}
				texts := strings.Join(eventsOf(r, "edge", "front"), "\n")
				if !strings.Contains(texts, "Warning WarningEndpoints ReferenceNotPermitted: spec.listeners[0].endpointGroups[0].endpoints[0]") {
					t.Errorf("events: %s", texts)
				}
				for _, wrong := range []string{grantTo("", "Service"), grantTo("gateway.networking.k8s.io", "Gateway")} {
					r.Apply(wrong)
					r.Settle(time.Minute)
					if got := acceleratorEndpoints(r); len(got) > 0 {
						t.Errorf("an endpoint with a ReferenceGrant for another kind: %v", got)
					}
				}
				r.Apply(grantTo("networking.k8s.io", "Ingress"))
				r.Settle(5 * time.Minute)
				if got := acceleratorEndpoints(r); len(got) != 1 {
					t.Fatalf("%d endpoints with consent", len(got))
				}
				if got := readyCondition(acceleratorObject(r, "edge", "front")); got != "True AcceleratorReady" {
					t.Errorf("Ready is %s", got)
				}
				r.deleteObject(cluster.KindReferenceGrant, "shop", "edge")
				r.Settle(time.Second)
				if got := acceleratorEndpoints(r); len(got) > 0 {
					t.Errorf("an endpoint after consent was withdrawn: %v", got)
				}
			})
		})
	}
}

// TestForgedStatusIsNoEndpoint checks that a user cannot make the load balancer of another namespace an endpoint by
// writing its hostname into a status or its stack into a finalizer.
func TestForgedStatusIsNoEndpoint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{})
		host := ingressHostname(r)
		service := func(name, class, finalizers string) string {
			return fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %s, namespace: edge, uid: 22222222-0000-4000-8000-0000000000%02d, finalizers: [%s]}
spec: {type: LoadBalancer, %s ports: [{port: 80, nodePort: 30099}]}
status: {loadBalancer: {ingress: [{hostname: %q, ports: [{port: 80, protocol: TCP}]}]}}
`, name, len(name), finalizers, class, host)
		}
		r.Apply(edgeNamespace, service("other", "loadBalancerClass: other.example/class,", ""),
			service("claim", "loadBalancerClass: other.example/class,", "group.service.k8s.aws/shop.web"),
			accelerator("edge", "front", listenerTo(`{type: Service, name: other}, {type: Service, name: claim}`)))
		for _, name := range []string{"other", "claim"} {
			writeStatusHostname(r, cluster.KindService, "edge", name, host)
		}
		r.Settle(10 * time.Minute)
		if got := acceleratorEndpoints(r); len(got) > 0 {
			t.Errorf("the load balancer of another namespace is an endpoint: %v", got)
		}
	})
}

// writeStatusHostname writes a hostname into the status of a Service, as any client with write access can.
func writeStatusHostname(r *Harness, kind cluster.Kind, namespace, name, host string) {
	r.T.Helper()
	obj, err := r.Store.Get(cluster.Ref{Kind: kind, Namespace: namespace, Name: name})
	if err != nil || obj == nil {
		r.T.Fatal(name, err)
	}
	svc := obj.DeepCopyObject().(*corev1.Service)
	svc.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{Hostname: host, Ports: []corev1.PortStatus{{Port: 80, Protocol: "TCP"}}}}
	if err := r.Store.Put(svc); err != nil {
		r.T.Fatal(err)
	}
}

func acceleratorClient(r *Harness) *ga.Client {
	return ga.NewFromConfig(AWSConfig(r.Emulator), func(o *ga.Options) { o.Region = "us-west-2" })
}

// createAccelerator creates an accelerator in AWS as a user would, and returns its ARN.
func createAccelerator(r *Harness, name string, tags map[string]string) string {
	r.T.Helper()
	in := &ga.CreateAcceleratorInput{Name: aws.String(name), IdempotencyToken: aws.String(name)}
	for k, v := range tags {
		in.Tags = append(in.Tags, gatypes.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	out, err := acceleratorClient(r).CreateAccelerator(context.Background(), in)
	if err != nil {
		r.T.Fatal(err)
	}
	return *out.Accelerator.AcceleratorArn
}

func setStatusARN(r *Harness, namespace, name, arn string) {
	r.T.Helper()
	obj := acceleratorObject(r, namespace, name).DeepCopyObject().(*aga.GlobalAccelerator)
	obj.Status.AcceleratorARN = arn
	if err := r.Store.Put(obj); err != nil {
		r.T.Fatal(err)
	}
}

// TestForgedAcceleratorARNIsIgnored checks that an ARN in a status is used only if the accelerator has all tags of the
// object. An accelerator without these tags is not changed, even when the object is deleted.
func TestForgedAcceleratorARNIsIgnored(t *testing.T) {
	t.Parallel()
	tags := func(namespace, cluster string) map[string]string {
		return map[string]string{
			"elbv2.k8s.aws/cluster": cluster, "elbv2.k8s.aws/cluster-region": "us-west-2", "aga.k8s.aws/stack": namespace + "/edge", "aga.k8s.aws/resource": "GlobalAccelerator",
		}
	}
	for name, of := range map[string]map[string]string{
		"of another namespace": tags("bank", ClusterName),
		"of another cluster":   tags("shop", "other"),
		"of no owner":          {},
		"without region":       {"elbv2.k8s.aws/cluster": ClusterName, "aga.k8s.aws/stack": "shop/edge", "aga.k8s.aws/resource": "GlobalAccelerator"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newAcceleratorHarness(t, Options{})
				victim := createAccelerator(r, "victim", of)
				seen := func() (out []string) {
					for _, l := range acceleratorState(r) {
						if strings.Contains(l, "victim") {
							out = append(out, l)
						}
					}
					return out
				}
				before := seen()
				r.Apply(edgeAccelerator(webListener))
				setStatusARN(r, "shop", "edge", victim)
				r.Settle(10 * time.Minute)
				if got := acceleratorObject(r, "shop", "edge").Status.AcceleratorARN; got == victim || got == "" {
					t.Errorf("the status shows %q", got)
				}
				setStatusARN(r, "shop", "edge", victim)
				r.Settle(10 * time.Minute)
				if n := len(acceleratorsInAWS(r)); n != 2 {
					t.Errorf("there are %d accelerators, want two", n)
				}
				setStatusARN(r, "shop", "edge", victim)
				r.deleteObject(cluster.KindGlobalAccelerator, "shop", "edge")
				r.Settle(30 * time.Minute)
				if d := cmp.Diff(before, seen()); d != "" {
					t.Errorf("the victim was changed: %s", d)
				}
				if n := len(acceleratorsInAWS(r)); n != 1 {
					t.Errorf("there are %d accelerators, want the victim's", n)
				}
			})
		})
	}
}

// TestAcceleratorIsAdopted checks that an accelerator that another controller created with the same names and tags is
// adopted without a change, whether or not the status of the object contains its ARN.
func TestAcceleratorIsAdopted(t *testing.T) {
	t.Parallel()
	for name, shown := range map[string]bool{"named in the status": true, "found by its tags": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newAcceleratorHarness(t, Options{})
				r.Apply(edgeAccelerator(webListener))
				r.Settle(10 * time.Minute)
				state, arn := acceleratorState(r), acceleratorsInAWS(r)[0].ARN
				// Simulate that another controller created the accelerator and that this controller is newly installed.
				obj := acceleratorObject(r, "shop", "edge").DeepCopyObject().(*aga.GlobalAccelerator)
				obj.Status = aga.GlobalAcceleratorStatus{}
				if shown {
					obj.Status.AcceleratorARN = arn
				}
				if err := r.Store.Put(obj); err != nil {
					t.Fatal(err)
				}
				r.Emulator.Calls().Reset()
				r.Start()
				r.Settle(10 * time.Minute)
				if calls := acceleratorMutations(r); len(calls) > 0 {
					t.Errorf("calls that change something: %v", calls)
				}
				if d := cmp.Diff(state, acceleratorState(r)); d != "" {
					t.Error(d)
				}
				if ga := acceleratorObject(r, "shop", "edge"); ga.Status.AcceleratorARN != arn || readyCondition(ga) != "True AcceleratorReady" {
					t.Errorf("status %+v", ga.Status)
				}
			})
		})
	}
}
