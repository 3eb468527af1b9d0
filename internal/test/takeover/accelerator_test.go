package takeover

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	"github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	"github.com/fulcrum-lb/fulcrum/internal/translate/accelerator"
)

// endpointObjects are the objects whose load balancers are endpoints of the accelerators: Ingress "shop/web" and Service
// "shop/api".
const endpointObjects = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
---
apiVersion: v1
kind: Namespace
metadata: {name: edge}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: shop, uid: 11111111-0000-4000-8000-000000000001}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80, targetPort: 8080, nodePort: 30080}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: shop, annotations: {alb.ingress.kubernetes.io/scheme: internet-facing}}
spec: {ingressClassName: alb, rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
---
apiVersion: v1
kind: Service
metadata: {name: api, namespace: shop, uid: 11111111-0000-4000-8000-000000000002}
spec: {type: LoadBalancer, loadBalancerClass: service.k8s.aws/nlb, selector: {app: api}, ports: [{port: 53, targetPort: 53, nodePort: 30053, protocol: UDP}]}
---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: edge, namespace: shop}
spec: {from: [{group: aga.k8s.aws, kind: GlobalAccelerator, namespace: edge}], to: [{group: networking.k8s.io, kind: Ingress}]}
`

// acceleratorObjects returns manifests of GlobalAccelerators. Each listener has a protocol and ports, except in the last
// object. Its listener gets the protocol and ports of its endpoint.
func acceleratorObjects() []string {
	object := func(namespace, name, spec string) string {
		return fmt.Sprintf("apiVersion: aga.k8s.aws/v1beta1\nkind: GlobalAccelerator\nmetadata: {name: %[2]s, namespace: %[1]s, uid: %[1]s-%[2]s}\nspec: {%[3]s}\n", namespace, name, spec)
	}
	return []string{
		object("shop", "empty", ``),
		object("shop", "bare", `name: by-hand_1, tags: {team: a, Env: user}, listeners: [{protocol: TCP, portRanges: [{fromPort: 1, toPort: 1}]}]`),
		object("shop", "web-accelerator.v1", `listeners: [{protocol: TCP, portRanges: [{fromPort: 443, toPort: 443}, {fromPort: 80, toPort: 81}], clientAffinity: SOURCE_IP, endpointGroups: [{endpoints: [{type: Ingress, name: web}]}]}]`),
		object("shop", "several", `listeners: [
			{protocol: UDP, portRanges: [{fromPort: 53, toPort: 53}], endpointGroups: [{trafficDialPercentage: 50, endpoints: [{type: Service, name: api, weight: 0}, {type: Service, name: missing}]}]},
			{protocol: TCP, portRanges: [{fromPort: 80, toPort: 80}, {fromPort: 443, toPort: 443}], endpointGroups: [
				{portOverrides: [{listenerPort: 443, endpointPort: 8443}, {listenerPort: 80, endpointPort: 8080}], endpoints: [{type: Ingress, name: web, weight: 255}]},
				{region: eu-west-1, trafficDialPercentage: 0}]}]`),
		object("edge", "front", `listeners: [{protocol: TCP, portRanges: [{fromPort: 80, toPort: 80}], endpointGroups: [{endpoints: [{type: Ingress, namespace: shop, name: web, clientIPPreservationEnabled: false}]}]}]`),
		object("shop", "found", `listeners: [{endpointGroups: [{endpoints: [{type: Ingress, name: web}]}]}]`),
	}
}

// withDefaults reads a GlobalAccelerator from its manifest, and sets the defaults of its CRD schema.
func withDefaults(t *testing.T, doc string) *aga.GlobalAccelerator {
	t.Helper()
	loaded := requireResult(cluster.LoadYAML([]byte(doc)))(t)
	o := loaded.Objects[0].(*aga.GlobalAccelerator)
	if o.Spec.IPAddressType == "" {
		o.Spec.IPAddressType = aga.IPAddressTypeIPv4
	}
	for i := range o.Spec.Listeners {
		l := &o.Spec.Listeners[i]
		if l.ClientAffinity == "" {
			l.ClientAffinity = aga.ClientAffinityNone
		}
		for j := range l.EndpointGroups {
			g := &l.EndpointGroups[j]
			if g.TrafficDialPercentage == nil {
				g.TrafficDialPercentage = new(int32(100))
			}
			for k := range g.Endpoints {
				e := &g.Endpoints[k]
				if e.Weight == nil {
					e.Weight = new(int32(128))
				}
				if e.ClientIPPreservationEnabled == nil {
					e.ClientIPPreservationEnabled = new(true)
				}
			}
		}
	}
	return o
}

// withDiscoveredPorts returns a copy of o. If o has only one listener and this listener has no protocol, it gets those of
// Ingress "shop/web": TCP and port 80.
func withDiscoveredPorts(o *aga.GlobalAccelerator) *aga.GlobalAccelerator {
	out := o.DeepCopy()
	if len(out.Spec.Listeners) == 1 && out.Spec.Listeners[0].Protocol == "" {
		out.Spec.Listeners[0].Protocol, out.Spec.Listeners[0].PortRanges = aga.ProtocolTCP, []aga.PortRange{{FromPort: 80, ToPort: 80}}
	}
	return out
}

// defaultAcceleratorTags are the default tags of the controller, which it adds to all accelerators.
var defaultAcceleratorTags = map[string]string{"Env": "prod", "Owner": "platform"}

// newAcceleratorHarness returns a harness with endpointObjects, a client for Global Accelerator, and the ARNs of the load
// balancers by "KIND NAMESPACE/NAME".
func newAcceleratorHarness(t *testing.T) (*harness.Harness, *ga.Client, map[string]string) {
	t.Helper()
	r := harness.New(t, harness.Options{Accelerators: true, Accelerator: func(o *accelerator.Options) { o.DefaultTags = defaultAcceleratorTags }})
	r.Apply(endpointObjects)
	r.Settle(10 * time.Minute)
	time.Sleep(10 * time.Minute) // until the load balancers are active
	arns := map[string]string{}
	client := elb.NewFromConfig(harness.AWSConfig(r.Emulator))
	for _, lb := range requireResult(client.DescribeLoadBalancers(t.Context(), &elb.DescribeLoadBalancersInput{}))(t).LoadBalancers {
		arns[map[string]string{"application": "Ingress shop/web", "network": "Service shop/api"}[string(lb.Type)]] = *lb.LoadBalancerArn
	}
	if len(arns) != 2 {
		t.Fatalf("load balancers %v", arns)
	}
	return r, ga.NewFromConfig(harness.AWSConfig(r.Emulator), func(o *ga.Options) { o.Region = "us-west-2" }), arns
}

// createReferenceAccelerator creates the accelerator that aws-load-balancer-controller would create for o, and stores o with
// its finalizer and status. If odd is true, lists have another order, and settings are set that neither controller manages.
func createReferenceAccelerator(t *testing.T, r *harness.Harness, c *ga.Client, o *aga.GlobalAccelerator, want referenceAccelerator, odd bool) {
	t.Helper()
	in := &ga.CreateAcceleratorInput{Name: &want.Name, IpAddressType: types.IpAddressType(want.Type), IdempotencyToken: aws.String(string(o.UID))}
	for _, k := range slices.Sorted(maps.Keys(want.Tags)) {
		in.Tags = append(in.Tags, types.Tag{Key: aws.String(k), Value: aws.String(want.Tags[k])})
	}
	a := requireResult(c.CreateAccelerator(t.Context(), in))(t).Accelerator
	spec := slices.Clone(withDiscoveredPorts(o).Spec.Listeners)
	if odd {
		slices.Reverse(spec)
	}
	for _, l := range spec {
		ranges := rangesOf(l)
		if odd {
			slices.Reverse(ranges)
		}
		made := want.Listeners[listenerKey(string(l.Protocol), ranges)]
		listener := requireResult(c.CreateListener(t.Context(), &ga.CreateListenerInput{AcceleratorArn: a.AcceleratorArn, Protocol: types.Protocol(l.Protocol), ClientAffinity: types.ClientAffinity(made.Affinity), PortRanges: ranges}))(t).Listener
		for region, g := range made.EndpointGroups {
			in := &ga.CreateEndpointGroupInput{ListenerArn: listener.ListenerArn, EndpointGroupRegion: aws.String(region), TrafficDialPercentage: aws.Float32(g.TrafficDial)}
			for from, to := range g.Overrides {
				in.PortOverrides = append(in.PortOverrides, types.PortOverride{ListenerPort: aws.Int32(from), EndpointPort: aws.Int32(to)})
			}
			if odd {
				in.HealthCheckPath, in.HealthCheckProtocol, in.HealthCheckIntervalSeconds, in.ThresholdCount = aws.String("/healthy"), types.HealthCheckProtocolHttp, aws.Int32(10), aws.Int32(5)
			}
			group := requireResult(c.CreateEndpointGroup(t.Context(), in))(t).EndpointGroup
			for id, e := range g.Endpoints {
				requireResult(c.AddEndpoints(t.Context(), &ga.AddEndpointsInput{EndpointGroupArn: group.EndpointGroupArn, EndpointConfigurations: []types.EndpointConfiguration{
					{EndpointId: aws.String(id), Weight: aws.Int32(e.Weight), ClientIPPreservationEnabled: aws.Bool(e.PreservesClientIP)},
				}}))(t)
			}
		}
	}
	o.Generation, o.Finalizers = 1, []string{"aga.k8s.aws/resources"}
	o.Status = aga.GlobalAcceleratorStatus{
		ObservedGeneration: new(int64(1)), AcceleratorARN: *a.AcceleratorArn, DNSName: *a.DnsName, Status: "DEPLOYED",
		IPSets:     []aga.IPSet{{IPAddressFamily: "IPv4", IPAddresses: a.IpSets[0].IpAddresses}},
		Conditions: []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue, Reason: "AcceleratorReady", Message: "ready", LastTransitionTime: metav1.Now()}},
	}
	if err := r.Store.Put(o); err != nil {
		t.Fatal(err)
	}
}

// TestAcceleratorsAreTakenOver checks that the controller adopts accelerators of aws-load-balancer-controller without a
// mutating call, also if the statuses of their objects are empty.
func TestAcceleratorsAreTakenOver(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]struct{ odd, lost bool }{"as made": {}, "other orders, tuned by hand": {odd: true}, "without statuses": {lost: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, c, arns := newAcceleratorHarness(t)
				want := map[string]referenceAccelerator{}
				for _, doc := range acceleratorObjects() {
					o := withDefaults(t, doc)
					of := referenceAcceleratorOf(withDiscoveredPorts(o), defaultAcceleratorTags, arns)
					want[o.Namespace+"/"+o.Name] = of
					createReferenceAccelerator(t, r, c, o, of, f.odd)
				}
				time.Sleep(10 * time.Minute)
				left, leftARNs := observedAccelerators(t, c)
				checkEqual(t, "the created accelerators differ from the reference", want, left)
				if f.lost {
					for _, o := range r.Store.All(cluster.KindGlobalAccelerator) {
						o := o.DeepCopyObject().(*aga.GlobalAccelerator)
						o.Status = aga.GlobalAcceleratorStatus{}
						if err := r.Store.Put(o); err != nil {
							t.Fatal(err)
						}
					}
				}
				r.Emulator.Calls().Reset()
				r.Start()
				for _, d := range []time.Duration{20 * time.Minute, 12 * time.Hour} {
					r.Settle(d)
					if n := r.Emulator.Calls().CountMutating(); n > 0 {
						t.Errorf("%d mutating calls: %s", n, mutatingCalls(r))
					}
				}
				is, isARNs := observedAccelerators(t, c)
				checkEqual(t, "AWS changed", left, is)
				checkEqual(t, "the accelerator ARNs changed", leftARNs, isARNs)
				checkTakenOver(t, r, isARNs)
			})
		})
	}
}

// checkTakenOver checks the finalizers and statuses of all GlobalAccelerators. arns are the expected accelerator ARNs by
// "namespace/name".
func checkTakenOver(t *testing.T, r *harness.Harness, arns map[string]string) {
	t.Helper()
	for _, o := range r.Store.All(cluster.KindGlobalAccelerator) {
		o := o.(*aga.GlobalAccelerator)
		if got := o.Status.AcceleratorARN; got != arns[o.Namespace+"/"+o.Name] || len(o.Finalizers) != 1 || o.Finalizers[0] != "aga.k8s.aws/resources" || o.Status.Status != "DEPLOYED" {
			t.Errorf("%s: ARN %q, status %q, finalizers %v", o.Name, got, o.Status.Status, o.Finalizers)
		}
		ready := slices.ContainsFunc(o.Status.Conditions, func(c metav1.Condition) bool {
			return c.Type == "Ready" && c.Status == metav1.ConditionTrue && c.Reason == "AcceleratorReady"
		})
		if !ready {
			t.Errorf("%s is not ready: %v", o.Name, o.Status.Conditions)
		}
	}
}

// TestAcceleratorsEqualReference checks that accelerators of Fulcrum have the properties that
// aws-load-balancer-controller expects, so aws-load-balancer-controller would not change them. aws-load-balancer-controller
// finds an accelerator by the ARN in the status, compares tags, and matches listeners by protocol and ports.
func TestAcceleratorsEqualReference(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, c, arns := newAcceleratorHarness(t)
		want := map[string]referenceAccelerator{}
		for _, doc := range acceleratorObjects() {
			o := withDefaults(t, doc)
			want[o.Namespace+"/"+o.Name] = referenceAcceleratorOf(withDiscoveredPorts(o), defaultAcceleratorTags, arns)
			if err := r.Store.Put(o); err != nil {
				t.Fatal(err)
			}
		}
		r.Settle(30 * time.Minute)
		is, isARNs := observedAccelerators(t, c)
		checkEqual(t, "the accelerators of Fulcrum differ from the reference", want, is)
		checkTakenOver(t, r, isARNs)
		for _, o := range r.Store.All(cluster.KindGlobalAccelerator) {
			if o := o.(*aga.GlobalAccelerator); o.Status.DNSName == "" || len(o.Status.IPSets) != 1 || !strings.HasPrefix(o.Status.AcceleratorARN, "arn:aws:globalaccelerator::") {
				t.Errorf("status %+v", o.Status)
			}
		}
	})
}

// TestAcceleratorNameRule checks a generated name against an example in the documentation, up to its hash.
func TestAcceleratorNameRule(t *testing.T) {
	t.Parallel()
	if d := cmp.Diff("k8s_shop_web-acceleratorv_", generatedAcceleratorName("shop", "web-accelerator.v1", "IPV4")[:26]); d != "" {
		t.Error(d)
	}
}
