package adversary

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	ga "github.com/aws/aws-sdk-go-v2/service/globalaccelerator"
	gatypes "github.com/aws/aws-sdk-go-v2/service/globalaccelerator/types"
	networkingv1 "k8s.io/api/networking/v1"
	gatewayv1beta1 "sigs.k8s.io/gateway-api/apis/v1beta1"

	aga "github.com/fulcrum-lb/fulcrum/api/aga/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	emulated "github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// acceleratorHistories is the default number of random histories of attacks with GlobalAccelerators.
const acceleratorHistories = 16

// acceleratorVictims has classes, namespaces, Ingresses and a Gateway of the victims, and the GlobalAccelerator of namespace
// "blog". A ReferenceGrant of namespace "pay" permits this GlobalAccelerator to use Service "front". $SELECTOR is replaced
// by the namespaces that may use the class.
const acceleratorVictims = `
apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata: {name: alb}
spec: {$SELECTOR}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: alb}}
---
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: other}
spec: {controller: other.example/ingress}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: alb}
spec: {controllerName: gateway.k8s.aws/alb}
---
apiVersion: v1
kind: Namespace
metadata: {name: pay, labels: {trusted: "yes"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: blog, labels: {trusted: "yes"}}
---
apiVersion: v1
kind: Namespace
metadata: {name: evil}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: web, namespace: pay, creationTimestamp: "2000-01-01T00:00:00Z", annotations: {alb.ingress.kubernetes.io/target-type: ip}}
spec: {ingressClassName: alb, rules: [{http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: shop, namespace: pay, creationTimestamp: "2000-01-01T00:00:00Z", annotations: {alb.ingress.kubernetes.io/group.name: shared, alb.ingress.kubernetes.io/target-type: ip}}
spec: {ingressClassName: alb, rules: [{host: shop.pay.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: blog, namespace: blog, creationTimestamp: "2000-01-01T00:00:00Z", annotations: {alb.ingress.kubernetes.io/group.name: shared, alb.ingress.kubernetes.io/target-type: ip}}
spec: {ingressClassName: alb, rules: [{host: blog.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: blog, port: {number: 80}}}}]}}]}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: gate, namespace: pay, uid: uid-pay-gate, creationTimestamp: "2000-01-01T00:00:00Z"}
spec: {gatewayClassName: alb, listeners: [{name: http, port: 80, protocol: HTTP, allowedRoutes: {namespaces: {from: All}}}]}
---
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: blog, namespace: pay}
spec: {from: [{group: aga.k8s.aws, kind: GlobalAccelerator, namespace: blog}], to: [{group: "", kind: Service, name: front}]}
---
apiVersion: aga.k8s.aws/v1beta1
kind: GlobalAccelerator
metadata: {name: edge, namespace: blog, uid: uid-blog-edge}
spec: {listeners: [{protocol: TCP, portRanges: [{fromPort: 80, toPort: 80}], endpointGroups: [{endpoints: [{type: Service, namespace: pay, name: front}]}]}]}
---
`

// victimAcceleratorDoc returns the GlobalAccelerator of namespace "pay", with a weight for one of its endpoints.
func victimAcceleratorDoc(weight int) string {
	return fmt.Sprintf(`apiVersion: aga.k8s.aws/v1beta1
kind: GlobalAccelerator
metadata: {name: edge, namespace: pay, uid: uid-pay-edge}
spec:
  listeners:
  - {protocol: TCP, portRanges: [{fromPort: 80, toPort: 80}], endpointGroups: [{endpoints: [{type: Ingress, name: web, weight: %d}, {type: Gateway, name: gate}]}]}
  - {protocol: TCP, portRanges: [{fromPort: 443, toPort: 443}], endpointGroups: [{endpoints: [{type: Service, name: front}, {type: Ingress, name: shop}]}]}
`, weight)
}

// victimObjects has the owners of the victims' load balancers, by the value of the stack tag.
var victimObjects = map[string][]cluster.Ref{
	"pay/web":   {{Kind: cluster.KindIngress, Namespace: "pay", Name: "web"}},
	"shared":    {{Kind: cluster.KindIngress, Namespace: "pay", Name: "shop"}, {Kind: cluster.KindIngress, Namespace: "blog", Name: "blog"}},
	"pay/front": {{Kind: cluster.KindService, Namespace: "pay", Name: "front"}},
	"pay/gate":  {{Kind: cluster.KindGateway, Namespace: "pay", Name: "gate"}},
}

// apiGroupOfKind has the API group of each kind that a ReferenceGrant may name.
var apiGroupOfKind = map[cluster.Kind]string{cluster.KindIngress: "networking.k8s.io", cluster.KindGateway: "gateway.networking.k8s.io", cluster.KindService: ""}

// acceleratorTestCluster is a test cluster with an attacker and the victims of acceleratorVictims.
type acceleratorTestCluster struct {
	*gatewayTestCluster
	// mayAttackerJoin is set if the attacker may join the IngressGroup of the victims.
	mayAttackerJoin bool
	// arnsByStack has the ARNs of the victims' load balancers by the value of the stack tag. stacksByARN is the inverse map.
	arnsByStack map[string]string
	stacksByARN map[string]string
	// consentDeadlines has, by the value of the stack tag, the time until which accelerators of the attacker may use a load
	// balancer whose owners have withdrawn their consent.
	consentDeadlines map[string]time.Time
	// previousEndpoints has the victims' load balancers that the attacker's accelerators used at the previous check. The key
	// is the ARN of the accelerator, a space and the ID of the endpoint.
	previousEndpoints map[string]bool
	// expectedAccelerators has the texts of the accelerators that must not change, by ARN. It is nil while these are
	// created.
	expectedAccelerators map[string]string
	// isEditing is set while the GlobalAccelerator of namespace "pay" is edited.
	isEditing      bool
	endpointWeight int
	// isFinalizerRemoved is set if the attacker has removed a finalizer from one of its GlobalAccelerators. Orphaned
	// accelerators may then remain.
	isFinalizerRemoved bool
	startTime          time.Time
}

// TestAcceleratorHistories runs random histories of a tenant that writes GlobalAccelerators, the objects that they refer to,
// statuses and grants. After each mutating call, the accelerators of others must be unchanged. The attacker's accelerators
// may use a load balancer of the victims only with consent, or for a limited time after consent was withdrawn. Edits of the
// victims must take effect within a limited time, and the attacker's accelerators must be deleted with its objects.
func TestAcceleratorHistories(t *testing.T) {
	t.Parallel()
	first, n := seedRange(acceleratorHistories)
	failed := 0
	for seed := first; seed < first+n && failed < 5; seed++ {
		if w := runAcceleratorHistory(t, seed); w.rec.Failed() {
			if withoutShrinking {
				t.Errorf("FULCRUM_ADVERSARY_SEED=%d: %.400s", seed, w.rec.failures[0])
				continue
			}
			failed++
			t.Errorf("FULCRUM_ADVERSARY_SEED=%d:\n%s\n\n%s", seed, strings.Join(w.rec.failures, "\n"), strings.Join(w.moveLog, "\n"))
		}
	}
}

func runAcceleratorHistory(t *testing.T, seed uint64) *acceleratorTestCluster {
	t.Helper()
	w := &acceleratorTestCluster{
		gatewayTestCluster: &gatewayTestCluster{Rand: rand.New(rand.NewPCG(seed, 17))}, mayAttackerJoin: seed%2 == 1,
		arnsByStack: map[string]string{}, stacksByARN: map[string]string{}, consentDeadlines: map[string]time.Time{}, previousEndpoints: map[string]bool{}, endpointWeight: 128,
	}
	synctest.Test(t, func(t *testing.T) {
		w.rec = &recorder{TB: t}
		defer recoverStop()
		w.createVictims()
		for range 14 {
			switch n := w.IntN(10); {
			case n == 0:
				w.editVictimAccelerator()
			case n < 3:
				w.changeVictimConsent()
			default:
				w.makeAcceleratorMove()
			}
			w.Settle(time.Duration(2+w.IntN(90)) * time.Second)
			if w.chance(6) && !w.isFinalizerRemoved { // the controller finds orphans only minutes after a start
				w.moveLog = append(w.moveLog, "the controller is started again")
				w.Start()
				w.Settle(30 * time.Second)
			}
			if w.checkAllAccelerators(); w.rec.Failed() {
				return
			}
		}
		w.editVictimAccelerator()
		w.deleteAttackerAndCheckAccelerators()
	})
	return w
}

// createVictims starts the controller, creates the objects of the victims, and records the expected accelerators.
func (w *acceleratorTestCluster) createVictims() {
	w.Harness = harness.New(w.rec, harness.Options{
		Addresses: addressesOfPods(), Accelerators: true,
		Gateway: func(o *gateways.Options) { o.DefaultTargetType = "ip" },
		Ingress: func(o *ingress.Options) { o.Class = "operator" },
		AfterRun: func(what string, err error) {
			if w.runs++; w.runs > 20000 {
				w.rec.Fatalf("too many runs, the last one of %s", what)
			}
			if err != nil && strings.Contains(err.Error(), "panic") {
				w.rec.recordFirst("the controller panics in a run of %s: %.1200s", what, err.Error())
			}
		},
	})
	for _, o := range workloads() {
		if o.key() == "pay/web" || o.key() == "blog/blog" {
			w.Apply(o.docs())
		}
	}
	selector := `namespaceSelector: {matchLabels: {trusted: "yes"}}`
	if w.mayAttackerJoin {
		selector = ""
	}
	w.Apply(strings.Replace(acceleratorVictims, "$SELECTOR", selector, 1), sharedService("pay", "front", "10.0.132.11", "2000-01-01T00:00:00Z", "", "{port: 443, targetPort: 8080}"), victimAcceleratorDoc(w.endpointWeight))
	w.Settle(10 * time.Minute)
	// The first accelerator belongs to a user. The second one belongs to another cluster, for a stack with the name of one
	// of the attacker's.
	w.createForeignAccelerator("person", nil)
	w.createForeignAccelerator("cluster", map[string]string{"elbv2.k8s.aws/cluster": "other", "elbv2.k8s.aws/cluster-region": harness.Region, "aga.k8s.aws/stack": "evil/g0", "aga.k8s.aws/resource": "GlobalAccelerator"})
	time.Sleep(time.Minute)
	p, unlock := w.partition()
	for arn, lb := range p.ELB.LoadBalancers {
		for _, key := range []string{"ingress.k8s.aws/stack", "service.k8s.aws/stack", "gateway.k8s.aws.alb/stack"} {
			if stack := lb.Tags[key]; stack != "" {
				w.arnsByStack[stack], w.stacksByARN[arn] = arn, stack
			}
		}
	}
	unlock()
	w.expectedAccelerators = map[string]string{}
	for _, a := range w.accelerators() {
		w.expectedAccelerators[a.ARN] = acceleratorText(a)
		for _, l := range a.Listeners {
			if len(l.Groups) != 1 || len(l.Groups[0].Endpoints) == 0 {
				w.rec.Fatalf("listener without endpoints in %s", acceleratorText(a))
			}
		}
	}
	if len(w.arnsByStack) != len(victimObjects) || len(w.expectedAccelerators) != 4 {
		w.rec.Fatalf("the victims have load balancers %v and accelerators %v", w.arnsByStack, w.expectedAccelerators)
	}
	w.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
		if !c.Mutating || c.Service != "globalaccelerator" {
			return fault.Action{}
		}
		return fault.Action{After: w.checkAllAccelerators}
	})
	w.Apply(w.randomService())
	w.startTime = time.Now()
	w.Emulator.Calls().Reset()
}

// createForeignAccelerator creates an accelerator that does not belong to the controller.
func (w *acceleratorTestCluster) createForeignAccelerator(name string, tags map[string]string) {
	in := &ga.CreateAcceleratorInput{Name: aws.String(name), IdempotencyToken: aws.String(name)}
	for k, v := range tags {
		in.Tags = append(in.Tags, gatypes.Tag{Key: aws.String(k), Value: aws.String(v)})
	}
	client := ga.NewFromConfig(harness.AWSConfig(w.Emulator), func(o *ga.Options) { o.Region = "us-west-2" })
	mustValue(client.CreateAccelerator(context.Background(), in))
}

// accelerators returns all accelerators in AWS, in order of ARN.
func (w *acceleratorTestCluster) accelerators() (out []*emulated.Accelerator) {
	s := w.Emulator.Store()
	s.Lock()
	defer s.Unlock()
	for _, a := range s.AcceleratorState(harness.Account).Accelerators {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b *emulated.Accelerator) int { return strings.Compare(a.ARN, b.ARN) })
	return out
}

// acceleratorText returns all properties of an accelerator that must not change. The order of endpoints has no meaning.
func acceleratorText(a *emulated.Accelerator) string {
	var b strings.Builder
	fmt.Fprintln(&b, a.ARN, a.Name, a.Addressing, a.Enabled, a.IPv4, a.IPv6, a.Tags)
	for _, l := range a.Listeners {
		fmt.Fprintln(&b, l.ARN, l.Protocol, l.Ranges, l.Affinity)
		for _, g := range l.Groups {
			fmt.Fprintln(&b, g.ARN, g.Region, g.Dial, g.Overrides)
			var endpoints []string
			for _, e := range g.Endpoints {
				endpoints = append(endpoints, fmt.Sprintln(e.ID, e.Weight, e.PreserveClient))
			}
			slices.Sort(endpoints)
			b.WriteString(strings.Join(endpoints, ""))
		}
	}
	return b.String()
}

// Maximum times until a withdrawal of consent takes effect, until a member has left an IngressGroup (after its target
// groups are deleted), and until an edit takes effect.
const (
	maxWithdrawalTime = 10 * time.Second
	maxLeaveTime      = 10 * time.Minute
	maxEditTime       = time.Minute
)

// hasConsent reports whether an owner of a load balancer permits the attacker to use it, by a ReferenceGrant or because the
// attacker is a member of the IngressGroup.
func (w *acceleratorTestCluster) hasConsent(stack string) bool {
	for _, ref := range victimObjects[stack] {
		for _, o := range w.Store.All(cluster.KindReferenceGrant) {
			g := o.(*gatewayv1beta1.ReferenceGrant)
			if g.Namespace == ref.Namespace &&
				slices.ContainsFunc(g.Spec.From, func(f gatewayv1beta1.ReferenceGrantFrom) bool {
					return f.Group == "aga.k8s.aws" && f.Kind == "GlobalAccelerator" && f.Namespace == attackerNamespace
				}) &&
				slices.ContainsFunc(g.Spec.To, func(t gatewayv1beta1.ReferenceGrantTo) bool {
					return string(t.Group) == apiGroupOfKind[ref.Kind] && string(t.Kind) == string(ref.Kind) && (t.Name == nil || string(*t.Name) == ref.Name)
				}) {
				return true
			}
		}
	}
	return stack == "shared" && w.isAttackerMember()
}

// isAttackerMember reports whether IngressGroup "shared" has an Ingress of the attacker that is not being deleted.
func (w *acceleratorTestCluster) isAttackerMember() bool {
	return w.mayAttackerJoin && slices.ContainsFunc(w.Store.All(cluster.KindIngress), func(o cluster.Object) bool {
		ing := o.(*networkingv1.Ingress)
		return ing.Namespace == attackerNamespace && ing.DeletionTimestamp == nil && ing.Annotations["alb.ingress.kubernetes.io/group.name"] == "shared" &&
			ing.Spec.IngressClassName != nil && *ing.Spec.IngressClassName == "alb"
	})
}

// changeConsent makes a change that may affect consent, and sets the deadlines of the consents that the change withdraws.
func (w *acceleratorTestCluster) changeConsent(do func()) {
	before := map[string]bool{}
	for stack := range victimObjects {
		before[stack] = w.hasConsent(stack)
	}
	joined := w.isAttackerMember()
	do()
	for stack, was := range before {
		if was && !w.hasConsent(stack) {
			w.consentDeadlines[stack] = time.Now().Add(maxWithdrawalTime)
			if stack == "shared" && joined {
				w.consentDeadlines[stack] = time.Now().Add(maxLeaveTime)
			}
		}
	}
}

// checkAllAccelerators checks that the accelerators of others are unchanged, and that no accelerator of the attacker uses a
// load balancer of the victims without consent after the deadline.
func (w *acceleratorTestCluster) checkAllAccelerators() {
	now, has, seen := time.Now(), map[string]bool{}, map[string]bool{}
	for _, a := range w.accelerators() {
		if want, ok := w.expectedAccelerators[a.ARN]; ok {
			seen[a.ARN] = true
			if got := acceleratorText(a); got != want && (!w.isEditing || a.Tags["aga.k8s.aws/stack"] != "pay/edge") {
				w.rec.recordFirst("an accelerator of another owner was changed: %s\nwant %s", got, want)
			}
			continue
		}
		if of := a.Tags["aga.k8s.aws/stack"]; !strings.HasPrefix(of, attackerNamespace+"/") {
			w.rec.recordFirst("unexpected accelerator of stack %q: %s", of, acceleratorText(a))
		}
		for _, l := range a.Listeners {
			for _, g := range l.Groups {
				for _, e := range g.Endpoints {
					stack, ok := w.stacksByARN[e.ID]
					if !ok {
						continue
					}
					key := a.ARN + " " + e.ID
					has[key] = true
					switch until := w.consentDeadlines[stack]; {
					case w.hasConsent(stack):
					case !w.previousEndpoints[key] && now.After(until):
						w.rec.recordFirst("an accelerator of %s has an endpoint for load balancer %s, whose owner does not consent", a.Tags["aga.k8s.aws/stack"], stack)
					case now.After(until):
						w.rec.recordFirst("an accelerator of %s has an endpoint for load balancer %s %s after the deadline of the withdrawn consent", a.Tags["aga.k8s.aws/stack"], stack, now.Sub(until))
					}
				}
			}
		}
	}
	for arn, want := range w.expectedAccelerators {
		if !seen[arn] {
			w.rec.recordFirst("an accelerator of another owner was deleted: %s", want)
		}
	}
	w.previousEndpoints = has
}

// editVictimAccelerator changes a weight of the victims' accelerator and checks that the edit takes effect within
// maxEditTime.
func (w *acceleratorTestCluster) editVictimAccelerator() {
	w.endpointWeight = 200 - w.endpointWeight
	w.moveLog = append(w.moveLog, fmt.Sprintf("the victims change a weight to %d", w.endpointWeight))
	w.isEditing = true
	w.Apply(victimAcceleratorDoc(w.endpointWeight))
	w.Settle(maxEditTime)
	w.isEditing = false
	for _, a := range w.accelerators() {
		if want := w.expectedAccelerators[a.ARN]; want != "" && a.Tags["aga.k8s.aws/stack"] == "pay/edge" {
			web := w.arnsByStack["pay/web"]
			want = strings.Replace(want, fmt.Sprintf("%s %d ", web, 200-w.endpointWeight), fmt.Sprintf("%s %d ", web, w.endpointWeight), 1)
			if got := acceleratorText(a); got != want {
				w.rec.recordFirst("after the victims' edit: %s\nwant %s", got, want)
			}
			w.expectedAccelerators[a.ARN] = want
		}
	}
}

// deleteAttackerAndCheckAccelerators deletes all objects of the attacker and checks that its accelerators are deleted,
// except orphans if the attacker removed finalizers. It also checks the number of refused calls.
func (w *acceleratorTestCluster) deleteAttackerAndCheckAccelerators() {
	w.moveLog = append(w.moveLog, "the attacker leaves")
	for _, o := range w.Store.All(cluster.KindGlobalAccelerator) { // deletion protection keeps accelerators on purpose
		if o := o.DeepCopyObject().(*aga.GlobalAccelerator); o.Namespace == attackerNamespace && len(o.Annotations) > 0 {
			o.Annotations = nil
			if err := w.Store.Put(o); err != nil {
				w.rec.Fatal(err)
			}
		}
	}
	w.changeConsent(w.deleteAttackerNamespaceObjects)
	if failed := w.Settle(2 * time.Hour); len(failed) > 0 {
		w.rec.Errorf("after the attacker has left: %v", failed)
	}
	w.checkAllAccelerators()
	var orphans []string
	for _, o := range w.Orphans() {
		orphans = append(orphans, o.Resources...)
	}
	for _, a := range w.accelerators() {
		if w.expectedAccelerators[a.ARN] == "" && !(w.isFinalizerRemoved && slices.Contains(orphans, a.ARN)) {
			w.rec.Errorf("an accelerator is not deleted: %s", acceleratorText(a))
		}
	}
	for _, o := range w.Store.All(cluster.KindGlobalAccelerator) {
		if o.GetNamespace() == attackerNamespace && slices.Contains(o.GetFinalizers(), naming.AcceleratorFinalizer) {
			w.rec.Errorf("GlobalAccelerator %s is not deleted, finalizers %v", o.GetName(), o.GetFinalizers())
		}
	}
	refused := 0
	for _, e := range w.Emulator.Calls().Entries() {
		if e.Code != "" && e.Service == "globalaccelerator" {
			refused++
		}
	}
	hours := time.Since(w.startTime).Hours()
	if most := refusedPerMove*len(w.moveLog) + int(refusedPerHour*hours); refused > most {
		w.rec.Errorf("%d calls are rejected in %.1f hours, at most %d", refused, hours, most)
	}
}
