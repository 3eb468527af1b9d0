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
	"k8s.io/apimachinery/pkg/api/meta"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// TestAcceleratorDriftIsRepaired checks that drift of an accelerator is reverted and reported with an event.
func TestAcceleratorDriftIsRepaired(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(r *Harness, c *ga.Client, arn, listener, group string) error{
		"disabled": func(_ *Harness, c *ga.Client, arn, _, _ string) error {
			_, err := c.UpdateAccelerator(context.Background(), &ga.UpdateAcceleratorInput{AcceleratorArn: &arn, Enabled: aws.Bool(false)})
			return err
		},
		"renamed": func(_ *Harness, c *ga.Client, arn, _, _ string) error {
			_, err := c.UpdateAccelerator(context.Background(), &ga.UpdateAcceleratorInput{AcceleratorArn: &arn, Name: aws.String("other")})
			return err
		},
		"tagged": func(_ *Harness, c *ga.Client, arn, _, _ string) error {
			_, err := c.TagResource(context.Background(), &ga.TagResourceInput{ResourceArn: &arn, Tags: []gatypes.Tag{{Key: aws.String("by"), Value: aws.String("hand")}}})
			return err
		},
		"a listener more": func(_ *Harness, c *ga.Client, arn, _, _ string) error {
			_, err := c.CreateListener(context.Background(), &ga.CreateListenerInput{AcceleratorArn: &arn, Protocol: gatypes.ProtocolUdp,
				PortRanges: []gatypes.PortRange{{FromPort: aws.Int32(7), ToPort: aws.Int32(7)}}, IdempotencyToken: aws.String("x")})
			return err
		},
		"another affinity": func(_ *Harness, c *ga.Client, _, listener, _ string) error {
			_, err := c.UpdateListener(context.Background(), &ga.UpdateListenerInput{ListenerArn: &listener, ClientAffinity: gatypes.ClientAffinitySourceIp})
			return err
		},
		"another weight": func(r *Harness, c *ga.Client, _, _, group string) error {
			_, err := c.UpdateEndpointGroup(context.Background(), &ga.UpdateEndpointGroupInput{EndpointGroupArn: &group, TrafficDialPercentage: aws.Float32(3),
				EndpointConfigurations: []gatypes.EndpointConfiguration{{EndpointId: aws.String(albARN(r)), Weight: aws.Int32(1)}}})
			return err
		},
		"no endpoint": func(r *Harness, c *ga.Client, _, _, group string) error {
			_, err := c.RemoveEndpoints(context.Background(), &ga.RemoveEndpointsInput{EndpointGroupArn: &group, EndpointIdentifiers: []gatypes.EndpointIdentifier{{EndpointId: aws.String(albARN(r))}}})
			return err
		},
		"no endpoint group": func(_ *Harness, c *ga.Client, _, _, group string) error {
			_, err := c.DeleteEndpointGroup(context.Background(), &ga.DeleteEndpointGroupInput{EndpointGroupArn: &group})
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newAcceleratorHarness(t, Options{Drift: true})
				r.Apply(edgeAccelerator(webListener))
				r.Settle(10 * time.Minute)
				want := acceleratorState(r)
				a := acceleratorsInAWS(r)[0]
				if err := change(r, acceleratorClient(r), a.ARN, a.Listeners[0].ARN, a.Listeners[0].Groups[0].ARN); err != nil {
					t.Fatal(err)
				}
				if cmp.Equal(want, acceleratorState(r)) {
					t.Fatal("nothing has changed")
				}
				r.Settle(25 * time.Minute)
				if d := cmp.Diff(want, acceleratorState(r)); d != "" {
					t.Errorf("not restored: %s", d)
				}
				if texts := strings.Join(eventsOf(r, "shop", "edge"), "\n"); !strings.Contains(texts, "DriftRepaired") {
					t.Errorf("not reported: %s", texts)
				}
			})
		})
	}
}

// TestDeletedAcceleratorIsRecreated checks that an accelerator that was deleted in AWS is created again with an event,
// unless the object has the annotation for protection.
func TestDeletedAcceleratorIsRecreated(t *testing.T) {
	t.Parallel()
	for name, protected := range map[string]bool{"": false, "protected": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newAcceleratorHarness(t, Options{Drift: true})
				doc := edgeAccelerator(webListener)
				if protected {
					doc = strings.Replace(doc, "uid: shop-edge", "uid: shop-edge, annotations: {fulcrum.dev/accelerator-protection: 'true'}", 1)
				}
				r.Apply(doc)
				r.Settle(10 * time.Minute)
				w, arn, old := r.Emulator.Store(), acceleratorsInAWS(r)[0].ARN, acceleratorObject(r, "shop", "edge").Status.IPSets[0].IPAddresses
				w.Lock()
				delete(w.AcceleratorState(Account).Accelerators, arn)
				w.Unlock()
				r.Settle(30 * time.Minute)
				all := acceleratorsInAWS(r)
				if protected {
					if len(all) > 0 {
						t.Error("the accelerator is recreated although it is protected")
					}
					return
				}
				if len(all) != 1 || all[0].ARN == arn || len(all[0].Listeners) != 1 {
					t.Errorf("accelerators %v", acceleratorState(r))
				}
				if texts := strings.Join(eventsOf(r, "shop", "edge"), "\n"); !strings.Contains(texts, "Warning AcceleratorRecreated") || !strings.Contains(texts, "instead of "+old[0]) {
					t.Errorf("not reported: %s", texts)
				}
			})
		})
	}
}

// TestProtectedAcceleratorKeepsALastListener checks that a protected accelerator keeps one listener if all of its listeners
// are removed from the object in one edit.
func TestProtectedAcceleratorKeepsALastListener(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{})
		withListeners := func(listeners string) string {
			return strings.Replace(edgeAccelerator(listeners), "uid: shop-edge", "uid: shop-edge, annotations: {fulcrum.dev/accelerator-protection: 'true'}", 1)
		}
		second := strings.NewReplacer("fromPort: 80", "fromPort: 8080", "toPort: 80", "toPort: 8080").Replace(webListener)
		r.Apply(withListeners(webListener + ", " + second))
		r.Settle(10 * time.Minute)
		if n := len(acceleratorsInAWS(r)[0].Listeners); n != 2 {
			t.Fatalf("%d listeners", n)
		}
		r.Apply(withListeners(""))
		r.Settle(30 * time.Minute)
		if n := len(acceleratorsInAWS(r)[0].Listeners); n != 1 {
			t.Errorf("%d listeners after the edit, want 1", n)
		}
	})
}

// TestStatusOfRetainedAcceleratorIsNotDeleting checks that the status of a GlobalAccelerator that is being deleted does not
// say that its protected accelerator is disabled or being deleted, and says it when the protection is removed.
func TestStatusOfRetainedAcceleratorIsNotDeleting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{})
		protected := strings.Replace(edgeAccelerator(webListener), "uid: shop-edge", "uid: shop-edge, annotations: {fulcrum.dev/accelerator-protection: 'true'}", 1)
		r.Apply(protected)
		r.Settle(10 * time.Minute)
		r.deleteObject(cluster.KindGlobalAccelerator, "shop", "edge")
		r.Settle(10 * time.Minute)
		status := acceleratorObject(r, "shop", "edge").Status
		if status.Status == "DELETING" || meta.IsStatusConditionTrue(status.Conditions, "AcceleratorDisabling") || !acceleratorsInAWS(r)[0].Enabled {
			t.Errorf("status %q, conditions %v", status.Status, status.Conditions)
		}
		obj := acceleratorObject(r, "shop", "edge").DeepCopy()
		delete(obj.Annotations, "fulcrum.dev/accelerator-protection")
		if err := r.Store.Put(obj); err != nil {
			t.Fatal(err)
		}
		r.Settle(time.Second)
		status = acceleratorObject(r, "shop", "edge").Status
		if status.Status != "DELETING" || !meta.IsStatusConditionTrue(status.Conditions, "AcceleratorDisabling") {
			t.Errorf("status %q, conditions %v", status.Status, status.Conditions)
		}
		r.Settle(30 * time.Minute)
		if left := acceleratorState(r); len(left) > 0 {
			t.Errorf("left: %v", left)
		}
	})
}

// TestRestartMakesNoCallsForUnchangedAccelerator checks that a new process makes no call to Global Accelerator for an
// unchanged accelerator before its next comparison with AWS is due.
func TestRestartMakesNoCallsForUnchangedAccelerator(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{Checkpoints: true})
		r.Apply(edgeAccelerator(webListener))
		r.Settle(20 * time.Minute)
		r.Emulator.Calls().Reset()
		r.Start()
		r.Settle(time.Minute)
		for _, c := range r.Emulator.Calls().Entries() {
			if c.Service == "globalaccelerator" {
				t.Errorf("call %s", c.Operation)
			}
		}
		r.Settle(2 * time.Hour)
		if calls := acceleratorMutations(r); len(calls) > 0 {
			t.Errorf("calls that change something: %v", calls)
		}
	})
}

// TestTransactionInProgressIsNoFailure checks that edits and a deletion of one accelerator that are too fast for AWS are
// carried out later and are not reported as failures.
func TestTransactionInProgressIsNoFailure(t *testing.T) {
	t.Parallel()
	const code = "TransactionInProgressException"
	renamed := func(name string) string {
		return accelerator("shop", "edge", "name: "+name+", listeners: ["+webListener+"]")
	}
	for name, c := range map[string]struct {
		configure func(r *Harness, c *store.AcceleratorConfig)
		refused   string // the operation that AWS refuses with code; "" for none
	}{
		"two edits within one transaction": {func(_ *Harness, c *store.AcceleratorConfig) { c.TransactionTime = 20 * time.Second }, "UpdateAccelerator"},
		"a deletion during a transaction": {func(r *Harness, _ *store.AcceleratorConfig) {
			r.Emulator.Faults().Add(fault.Rule{Operation: "DeleteAccelerator", Count: 3, Action: fault.Action{Error: &store.Error{Code: code, Message: "busy", Status: 400}}})
		}, "DeleteAccelerator"},
		"slow deployment": {func(_ *Harness, c *store.AcceleratorConfig) { c.DeploymentDelay = 2 * time.Hour }, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newAcceleratorHarness(t, Options{})
				w := r.Emulator.Store()
				w.Lock()
				c.configure(r, &w.Config.Accelerator)
				w.Unlock()
				for _, doc := range acceleratorEdits {
					r.Apply(doc)
					r.Settle(20 * time.Minute)
				}
				r.Apply(renamed("first"))
				r.Settle(5 * time.Second)
				r.Apply(renamed("second"))
				r.Settle(time.Minute)
				if got := linesWith(acceleratorState(r), "accelerator second "); len(got) != 1 {
					t.Errorf("a minute after the last edit: %s", strings.Join(acceleratorState(r), "\n"))
				}
				r.deleteObject(cluster.KindGlobalAccelerator, "shop", "edge")
				r.Settle(3 * time.Hour)
				if left := acceleratorState(r); len(left) > 0 {
					t.Errorf("left after the deletion: %s", strings.Join(left, "\n"))
				}
				refused := map[string]bool{}
				for _, e := range r.Emulator.Calls().Entries() {
					if e.Code == code {
						refused[e.Operation] = true
					}
				}
				if c.refused != "" && !refused[c.refused] {
					t.Errorf("AWS refused %v, not %s", refused, c.refused)
				}
				for _, e := range eventsOf(r, "shop", "edge") {
					if strings.HasPrefix(e, "Warning") {
						t.Errorf("event %s", e)
					}
				}
			})
		})
	}
}

// TestRejectedEndpointHoldsOnlyItself checks that an endpoint that AWS refuses holds neither the other endpoints of
// its endpoint group nor other listeners.
func TestRejectedEndpointHoldsOnlyItself(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{})
		bad := `{type: EndpointID, endpointID: i-0123456789abcdef0}`
		r.Apply(edgeAccelerator(strings.Replace(webListener, "{type: Ingress", bad+", {type: Ingress", 1) +
			`, {protocol: UDP, portRanges: [{fromPort: 53, toPort: 53}], endpointGroups: [{endpoints: [` + bad + `]}]}`))
		r.Settle(10 * time.Minute)
		var got []string
		for _, l := range acceleratorState(r)[1:] {
			got = append(got, strings.Join(strings.Fields(l)[1:4], " "))
		}
		slices.Sort(got)
		if d := cmp.Diff([]string{"endpoint [{80 80}]", "group [{53 53}]", "group [{80 80}]", "listener TCP [{80", "listener UDP [{53"}, got); d != "" {
			t.Errorf("%s\n%s", d, strings.Join(acceleratorState(r), "\n"))
		}
		texts := strings.Join(eventsOf(r, "shop", "edge"), "\n")
		if !strings.Contains(texts, "i-0123456789abcdef0") {
			t.Errorf("not reported: %s", texts)
		}
		if ga := acceleratorObject(r, "shop", "edge"); readyCondition(ga) != "False DeploymentFailed" {
			t.Errorf("Ready is %s", readyCondition(ga))
		}
		before := len(acceleratorMutations(r))
		r.Settle(time.Hour)
		if n := len(acceleratorMutations(r)) - before; n > 20 {
			t.Errorf("the refused endpoint costs %d calls in an hour", n)
		}
		r.Apply(edgeAccelerator(webListener))
		r.Settle(10 * time.Minute)
		if ga := acceleratorObject(r, "shop", "edge"); readyCondition(ga) != "True AcceleratorReady" {
			t.Errorf("Ready is %s: %s", readyCondition(ga), fmt.Sprint(ga.Status.Conditions))
		}
	})
}

// endpointWatch is what watchEndpoints has seen.
type endpointWatch struct {
	hadTwoEndpoints bool // whether the endpoint group had two endpoints at some time
}

// watchEndpoints checks after every AWS call that no endpoint is a deleted load balancer. Unless empty is true, it
// also checks that each endpoint group has an endpoint.
func watchEndpoints(t *testing.T, r *Harness, empty bool) *endpointWatch {
	out := &endpointWatch{}
	r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
		return fault.Action{After: func() {
			w := r.Emulator.Store()
			w.Lock()
			defer w.Unlock()
			p := w.Partition(Account, RegionOf(r.Emulator))
			for _, a := range w.AcceleratorState(Account).Accelerators {
				for _, l := range a.Listeners {
					for _, g := range l.Groups {
						out.hadTwoEndpoints = out.hadTwoEndpoints || len(g.Endpoints) == 2
						for _, e := range g.Endpoints {
							if p.ELB.LoadBalancers[e.ID] == nil {
								t.Errorf("an endpoint is a deleted load balancer after %s", c.Operation)
							}
						}
						if len(g.Endpoints) == 0 && !empty {
							t.Errorf("no endpoint after %s", c.Operation)
						}
					}
				}
			}
		}}
	})
	return out
}

// TestAcceleratorEndpointsFollowReplacedLoadBalancers checks that, when a load balancer is replaced or an object moves
// to another load balancer, both load balancers are endpoints for some time, and the old one is removed from the
// accelerator before it is deleted.
func TestAcceleratorEndpointsFollowReplacedLoadBalancers(t *testing.T) {
	t.Parallel()
	webService := func(annotations string) string { return sharedService("api", "01", annotations, servicePort("80")) }
	for name, c := range map[string]struct{ endpoint, before, after string }{
		"the scheme changes":              {"{type: Ingress, name: web}", webIngress("", "/=web"), webIngress(", alb.ingress.kubernetes.io/scheme: internet-facing", "/=web")},
		"an Ingress joins a group":        {"{type: Ingress, name: web}", webIngress("", "/=web"), webIngress(", alb.ingress.kubernetes.io/group.name: team", "/=web")},
		"a Service shares":                {"{type: Service, name: api}", webService(ipTargets), webService(publicGroupAnnotation)},
		"a Service does not share":        {"{type: Service, name: api}", webService(publicGroupAnnotation), webService(ipTargets)},
		"the scheme of a Service changes": {"{type: Service, name: api}", webService(ipTargets), webService(ipTargets + ", service.beta.kubernetes.io/aws-load-balancer-scheme: internet-facing")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newAcceleratorHarness(t, Options{})
				r.Apply(readyPods("api", podAddresses[3]), c.before)
				r.Settle(20 * time.Minute)
				r.Apply(edgeAccelerator(strings.Replace(webListener, "{type: Ingress, name: web}", c.endpoint, 1)))
				r.Settle(20 * time.Minute)
				before := acceleratorEndpoints(r)
				watch := watchEndpoints(t, r, false)
				r.Apply(c.after)
				r.Settle(3 * time.Hour)
				if !watch.hadTwoEndpoints {
					t.Error("the accelerator never leads to both load balancers")
				}
				if after := acceleratorEndpoints(r); len(before) != 1 || len(after) != 1 || before[0] == after[0] {
					t.Errorf("endpoints %v before, %v after", before, after)
				}
				for _, e := range eventsOf(r, "shop", "edge") {
					if strings.HasPrefix(e, "Warning") && !strings.Contains(e, "ClientIPUnsupported") {
						t.Errorf("event %s", e)
					}
				}
			})
		})
	}
}

// TestEndpointIsRemovedBeforeItsLoadBalancer checks that, when an Ingress is deleted, its endpoint is removed before
// its load balancer is deleted, and the accelerator stays. So it is right after a restart, when the accelerator was not read, and
// for an endpoint that is named by ARN, also in another namespace.
func TestEndpointIsRemovedBeforeItsLoadBalancer(t *testing.T) {
	t.Parallel()
	byARN := func(r *Harness) string {
		return edgeAccelerator(strings.Replace(webListener, "{type: Ingress, name: web}", fmt.Sprintf("{type: EndpointID, endpointID: %q}", albARN(r)), 1))
	}
	byName := func(*Harness) string { return edgeAccelerator(webListener) }
	elsewhere := func(r *Harness) string {
		r.Apply(edgeNamespace, grantTo("networking.k8s.io", "Ingress"))
		return accelerator("edge", "edge", listenerTo(fmt.Sprintf("{type: EndpointID, endpointID: %q}", albARN(r))))
	}
	for name, c := range map[string]struct {
		accelerator func(*Harness) string
		namespace   string
		restarts    bool
	}{
		"by name": {byName, "shop", false}, "by name after a restart": {byName, "shop", true}, "by ARN": {byARN, "shop", false}, "by ARN after a restart": {byARN, "shop", true},
		"by ARN in another namespace": {elsewhere, "edge", false}, "by ARN in another namespace after a restart": {elsewhere, "edge", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newAcceleratorHarness(t, Options{Checkpoints: c.restarts})
				r.Apply(c.accelerator(r))
				r.Settle(20 * time.Minute)
				if c.restarts {
					r.Start()
					r.Settle(time.Second)
				}
				watchEndpoints(t, r, true)
				begun := time.Now()
				r.deleteObject(cluster.KindIngress, "shop", "web")
				for ; time.Since(begun) < time.Hour; r.Settle(time.Second) {
					if obj, _ := r.Store.Get(ingressRef); obj == nil {
						break
					}
					time.Sleep(time.Second)
				}
				if took := time.Since(begun); took > time.Minute {
					t.Errorf("the Ingress was being deleted for %s", took)
				}
				if got := acceleratorEndpoints(r); len(got) > 0 {
					t.Errorf("endpoints %v", got)
				}
				if ga := acceleratorObject(r, c.namespace, "edge"); len(acceleratorsInAWS(r)) != 1 || ga.Status.AcceleratorARN == "" {
					t.Error("the accelerator was deleted with the Ingress")
				}
			})
		})
	}
}

// TestEndpointIsAddedWhenItsLoadBalancerIsActive checks that an endpoint is added within 15 seconds after its load balancer
// has become active.
func TestEndpointIsAddedWhenItsLoadBalancerIsActive(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{})
		const takes = 61 * time.Second
		w := r.Emulator.Store()
		w.Lock()
		w.Config.ELB.ProvisioningDelay = takes
		w.Unlock()
		r.Apply(readyPods("api", podAddresses[3]), sharedService("api", "01", ipTargets, servicePort("80")),
			edgeAccelerator(strings.Replace(webListener, "Ingress, name: web", "Service, name: api", 1)))
		begin := time.Now()
		for len(acceleratorEndpoints(r)) == 0 && time.Since(begin) < 20*time.Minute {
			r.advanceTime(time.Second)
		}
		if took := time.Since(begin); took < takes || took > takes+15*time.Second {
			t.Errorf("the endpoint is added after %s, but the load balancer is active after %s", took, takes)
		}
	})
}
