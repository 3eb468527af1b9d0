package harness

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// revertingAPI is an API server. Another client reverts each write of the controller to the object ref after 10 ms.
type revertingAPI struct {
	kube.API
	store *cluster.Memory
	part  cluster.Part
	// revertObject changes an object to the state that the other client wants, and returns false if it already has that
	// state. It may be nil while ref is not set.
	revertObject func(obj cluster.Object) bool

	mu     sync.Mutex
	ref    cluster.Ref
	writes []time.Time // writes of the controller to the object
}

const rogueFieldManager = "rogue-operator"

func (u *revertingAPI) countWrites() int {
	u.mu.Lock()
	defer u.mu.Unlock()
	return len(u.writes)
}

func (u *revertingAPI) recordWrite(obj cluster.Object) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.ref != cluster.RefOf(obj) {
		return
	}
	u.writes = append(u.writes, time.Now())
	go func() {
		time.Sleep(10 * time.Millisecond)
		u.revertWrite()
	}()
}

func (u *revertingAPI) revertWrite() {
	for {
		obj, err := u.store.Get(u.ref)
		if err != nil || obj == nil {
			return
		}
		obj = obj.DeepCopyObject().(cluster.Object)
		if !u.revertObject(obj) {
			return
		}
		if _, err = u.store.Update(obj, u.part); !apierrors.IsConflict(err) {
			return
		}
	}
}

func (u *revertingAPI) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	err := u.API.Patch(ctx, obj, part, kind, data)
	if err == nil {
		u.recordWrite(obj)
	}
	return err
}

// Read adds the other client to the managed fields, as the API server does.
func (u *revertingAPI) Read(ctx context.Context, obj cluster.Object) error {
	err := u.API.Read(ctx, obj)
	sub := ""
	if u.part == cluster.StatusPart {
		sub = "status"
	}
	at := metav1.Now()
	obj.SetManagedFields(append(obj.GetManagedFields(), metav1.ManagedFieldsEntry{Manager: rogueFieldManager, Operation: metav1.ManagedFieldsOperationUpdate, Time: &at, Subresource: sub}))
	return err
}

func dropFinalizers(obj cluster.Object) bool {
	had := len(obj.GetFinalizers()) > 0
	obj.SetFinalizers(nil)
	return had
}

// revertedWriteCases are the fields that the controller writes to Kubernetes, each with a function that reverts the write and
// reports whether the field was set.
var revertedWriteCases = map[string]struct {
	of    func(r *Harness) cluster.Ref
	part  cluster.Part
	field string
	spoil func(obj cluster.Object) bool
}{
	"status of an Ingress": {webIngressRef, cluster.StatusPart, "status", func(obj cluster.Object) bool {
		s := &obj.(*networkingv1.Ingress).Status
		had := len(s.LoadBalancer.Ingress) > 0
		*s = networkingv1.IngressStatus{}
		return had
	}},
	"finalizer of an Ingress": {webIngressRef, cluster.MainPart, "metadata.finalizers", dropFinalizers},
	"status of a Service": {mailServiceRef, cluster.StatusPart, "status", func(obj cluster.Object) bool {
		s := &obj.(*corev1.Service).Status
		had := len(s.LoadBalancer.Ingress) > 0
		*s = corev1.ServiceStatus{}
		return had
	}},
	"finalizer of a Service": {mailServiceRef, cluster.MainPart, "metadata.finalizers", dropFinalizers},
	"status of a Gateway": {edgeGatewayRef, cluster.StatusPart, "status", func(obj cluster.Object) bool {
		s := &obj.(*gwv1.Gateway).Status
		had := len(s.Conditions)+len(s.Listeners)+len(s.Addresses) > 0
		*s = gwv1.GatewayStatus{}
		return had
	}},
	"condition of a Gateway": {edgeGatewayRef, cluster.StatusPart, "status", func(obj cluster.Object) bool {
		return setConditionsFalse(obj.(*gwv1.Gateway).Status.Conditions)
	}},
	"condition of a route": {firstRouteRef, cluster.StatusPart, "status", func(obj cluster.Object) bool {
		had := false
		for _, p := range obj.(*gwv1.HTTPRoute).Status.Parents {
			had = setConditionsFalse(p.Conditions) || had
		}
		return had
	}},
	"readiness gate of a Pod": {webPodRef, cluster.StatusPart, "status.conditions[target-health.elbv2.k8s.aws/k8s-shop-web-9ee2ceac59]", func(obj cluster.Object) bool {
		had := false
		s := &obj.(*corev1.Pod).Status
		for i := range s.Conditions {
			if c := &s.Conditions[i]; strings.HasPrefix(string(c.Type), "target-health") && c.Status == corev1.ConditionTrue {
				c.Status, had = corev1.ConditionFalse, true
			}
		}
		return had
	}},
	"finalizer of a Gateway": {edgeGatewayRef, cluster.MainPart, "metadata.finalizers", dropFinalizers},
	"status of a route": {firstRouteRef, cluster.StatusPart, "status", func(obj cluster.Object) bool {
		s := &obj.(*gwv1.HTTPRoute).Status
		had := len(s.Parents) > 0
		*s = gwv1.HTTPRouteStatus{}
		return had
	}},
	"status of a binding": {webBindingRef, cluster.StatusPart, "status", func(obj cluster.Object) bool {
		s := &obj.(*elbv2.TargetGroupBinding).Status
		had := s.ObservedGeneration != nil
		*s = elbv2.TargetGroupBindingStatus{}
		return had
	}},
	"finalizer of a binding": {webBindingRef, cluster.MainPart, "metadata.finalizers", dropFinalizers},
	"spec of a binding": {webBindingRef, cluster.MainPart, "spec", func(obj cluster.Object) bool {
		s := &obj.(*elbv2.TargetGroupBinding).Spec
		had := s.Networking != nil
		s.Networking = nil
		return had
	}},
	"checkpoint of a binding": {webBindingRef, cluster.MainPart, "annotation elbv2.k8s.aws/checkpoint", func(obj cluster.Object) bool {
		had := obj.GetAnnotations()["elbv2.k8s.aws/checkpoint"] != ""
		obj.SetAnnotations(nil)
		return had
	}},
}

func webIngressRef(*Harness) cluster.Ref {
	return cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}
}

func mailServiceRef(*Harness) cluster.Ref {
	return cluster.Ref{Kind: cluster.KindService, Namespace: "shop", Name: "mail"}
}

func edgeGatewayRef(*Harness) cluster.Ref {
	return cluster.Ref{Kind: cluster.KindGateway, Namespace: "shop", Name: "edge"}
}

func firstRouteRef(*Harness) cluster.Ref {
	return cluster.Ref{Kind: cluster.KindHTTPRoute, Namespace: "shop", Name: "one"}
}

// setConditionsFalse sets all true conditions to false, and reports whether there were any.
func setConditionsFalse(conditions []metav1.Condition) (had bool) {
	for i := range conditions {
		if c := &conditions[i]; c.Status == metav1.ConditionTrue {
			c.Status, had = metav1.ConditionFalse, true
		}
	}
	return had
}

func webPodRef(r *Harness) cluster.Ref {
	for _, o := range r.Store.All(cluster.KindPod) {
		if len(o.(*corev1.Pod).Spec.ReadinessGates) > 0 {
			return cluster.RefOf(o)
		}
	}
	r.T.Fatal("there is no pod with a readiness gate")
	return cluster.Ref{}
}

func webBindingRef(r *Harness) cluster.Ref {
	for _, o := range r.Store.All(cluster.KindBinding) {
		if o.(*elbv2.TargetGroupBinding).Spec.ServiceRef.Name == "web" {
			return cluster.RefOf(o)
		}
	}
	r.T.Fatal("there is no binding")
	return cluster.Ref{}
}

// TestUndoneWritesAreRepeatedWithBackOff checks writes that another client reverts immediately. They are repeated with
// a back-off, at most ten times a minute and with few AWS calls, and an event names the field and the client. When the
// client stops, the field is written again.
func TestUndoneWritesAreRepeatedWithBackOff(t *testing.T) {
	t.Parallel()
	for name, c := range revertedWriteCases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := &revertingAPI{part: c.part}
				r := shopWith(t, Options{
					Workers: 2, Checkpoints: true,
					Gateway: func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets },
					API:     func(api kube.API) kube.API { u.API = api; return u },
				})
				defer func() {
					r.stop()
					r.stop = func() {}
				}()
				backend := "backendRefs: [{name: web, port: 80}]"
				switch of := strings.Fields(name); of[len(of)-1] {
				case "Service":
					r.Apply(shop, readyPods("mail", podAddresses[:3]...), nlbService("mail", ipTargets, "{port: 80, targetPort: 8080}"))
				case "Gateway", "route":
					r.Apply(shop, edgeGateway, readyPods("web", podAddresses[:3]...), routeOf("one", "a.example.com", backend))
				default:
					r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
				}
				time.Sleep(20 * time.Minute)
				if strings.HasSuffix(name, "Pod") {
					gate := targets.ReadinessGatePrefix + webBindingRef(r).Name
					for i := range 3 {
						r.deleteObject(cluster.KindPod, "shop", fmt.Sprintf("web-%d", i))
					}
					r.Apply(strings.NewReplacer("uid: web-", "uid: gated-", "spec: {nodeName", "spec: {readinessGates: [{conditionType: "+gate+"}], nodeName").Replace(readyPods("web", podAddresses[:3]...)))
					time.Sleep(5 * time.Minute)
				}
				before := r.State()
				r.Emulator.Calls().Reset()
				u.mu.Lock()
				u.store, u.revertObject, u.ref = r.Store, c.spoil, c.of(r)
				u.mu.Unlock()
				begun := time.Now()
				u.revertWrite()
				time.Sleep(2 * time.Minute)
				calls := r.Emulator.Calls().Total()
				t.Logf("%d writes and %d AWS calls, %d of them mutating, in two minutes", u.countWrites(), calls, r.Emulator.Calls().CountMutating())
				u.mu.Lock()
				for i, at := range u.writes {
					if i >= 10 && at.Sub(u.writes[i-10]) < time.Minute {
						t.Errorf("write %d is the eleventh in a minute: %s after the beginning", i+1, at.Sub(begun))
						break
					}
				}
				u.mu.Unlock()
				if u.countWrites() < 3 {
					t.Errorf("%d writes: the controller does not repeat the reverted write", u.countWrites())
				}
				// The spec of a TargetGroupBinding is applied, whoever has changed it.
				if mutating := r.Emulator.Calls().CountMutating(); calls > 100 || mutating > 0 && (c.field != "spec" || mutating > u.countWrites()) {
					t.Errorf("%d AWS calls: %v", calls, r.Emulator.Calls().Counts())
				}
				events := ""
				for _, o := range r.Store.All("Event") {
					if e := o.(*corev1.Event); e.InvolvedObject.Name == u.ref.Name && e.Reason == "WriteUndone" {
						events += e.Message + "\n"
					}
				}
				if n := strings.Count(events, "\n"); n != 1 || !strings.Contains(events, c.field+" is reverted") || !strings.Contains(events, fmt.Sprintf("%q", rogueFieldManager)) {
					t.Errorf("events: %q", events)
				}
				u.mu.Lock()
				u.revertObject = func(cluster.Object) bool { return false }
				u.mu.Unlock()
				time.Sleep(16 * time.Minute)
				obj, err := r.Store.Get(u.ref)
				if err != nil || obj == nil || !c.spoil(obj.DeepCopyObject().(cluster.Object)) {
					t.Errorf("the field is not written again after the client stops: %+v, %v", obj, err)
				}
				if after := r.State(); strings.Join(after, "\n") != strings.Join(before, "\n") {
					t.Errorf("AWS has changed:\n%s\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
				}
			})
		})
	}
}

// TestUndoneWritesCostNoMoreCallsThanEdits checks a client that edits an object and removes its finalizer a hundred
// times a second. This causes at most 100 AWS calls more than the edits alone.
func TestUndoneWritesCostNoMoreCallsThanEdits(t *testing.T) {
	t.Parallel()
	calls := map[bool]int{}
	for _, undoes := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			r := shopWith(t, Options{Workers: 2, Checkpoints: true})
			defer func() {
				r.stop()
				r.stop = func() {}
			}()
			r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
			time.Sleep(20 * time.Minute)
			r.Emulator.Calls().Reset()
			for n := range seeds.Amount(6000, 12000) {
				obj, err := r.Store.Get(webIngressRef(r))
				if err != nil || obj == nil {
					t.Fatal(err)
				}
				obj = obj.DeepCopyObject().(cluster.Object)
				if undoes {
					dropFinalizers(obj)
				}
				obj.SetLabels(map[string]string{"n": fmt.Sprint(n)})
				if _, err := r.Store.Update(obj, cluster.MainPart); err != nil && !apierrors.IsConflict(err) {
					t.Fatal(err)
				}
				time.Sleep(10 * time.Millisecond)
			}
			calls[undoes] = r.Emulator.Calls().Total()
			t.Logf("undoes %t: %d AWS calls", undoes, calls[undoes])
		})
	}
	if calls[true] > calls[false]+100 {
		t.Errorf("%d AWS calls, and %d without undoing", calls[true], calls[false])
	}
}
