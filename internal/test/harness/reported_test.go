package harness

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// TestFailedCallIsReportedOnIngress checks that a call that fails for minutes is reported by one event on the Ingress,
// with a reason that existing alerts use. A throttled call is not reported.
func TestFailedCallIsReportedOnIngress(t *testing.T) {
	t.Parallel()
	denied := fault.Action{Error: &store.Error{Code: "AccessDenied", Message: "no", Status: 403}}
	broken := fault.Action{Error: &store.Error{Code: "InternalFailure", Message: "no", Status: 500}}
	for name, c := range map[string]struct {
		call            string
		action          fault.Action
		reason, message string
		silent          bool // another event reports that AWS has not answered for more than 10 s
	}{
		"reading is denied":      {"DescribeLoadBalancers", denied, "FailedDeployModel", "AccessDenied: ", false},
		"reading fails":          {"DescribeLoadBalancers", broken, "FailedDeployModel", "CallFailed: ", false},
		"making is denied":       {"CreateLoadBalancer", denied, "FailedDeployModel", "AccessDenied: load-balancer: ", false},
		"making fails":           {"CreateTargetGroup", broken, "FailedDeployModel", "CallFailed: target-group: ", true},
		"reading is throttled":   {"DescribeLoadBalancers", fault.Action{Throttle: true}, "", "", false},
		"the connection is lost": {"CreateTargetGroup", fault.Action{Reset: true}, "FailedDeployModel", "CallFailed: target-group: ", true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Emulator.Faults().Add(fault.Rule{Operation: c.call, Action: c.action})
				r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
				r.Settle(10 * time.Minute)
				reported, silences := map[string]int{}, 0
				for _, o := range r.Store.All("Event") {
					if e := o.(*corev1.Event); e.Type == corev1.EventTypeWarning && e.InvolvedObject.Kind == "Ingress" {
						if c.silent && strings.HasPrefix(e.Message, "CallFailed: AWS has not answered since ") {
							silences++
							continue
						}
						reported[e.Reason]++
						if !strings.HasPrefix(e.Message, c.message) {
							t.Errorf("got %s", e.Message)
						}
					}
				}
				if c.reason == "" && len(reported) > 0 || c.reason != "" && (len(reported) != 1 || reported[c.reason] != 1) {
					t.Errorf("got %v", reported)
				}
				if silences > 1 || c.silent && silences == 0 {
					t.Errorf("%d events report that AWS does not answer", silences)
				}
				r.Emulator.Faults().Reset()
				settleWithoutErrors(t, r)
			})
		})
	}
}

// finalizerRefusingAPI is an API server that refuses patches of finalizers.
type finalizerRefusingAPI struct{ kube.API }

func (n finalizerRefusingAPI) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	if strings.Contains(string(data), `"finalizers"`) {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "ingresses"}, obj.GetName(), errors.New("a policy says no"))
	}
	return n.API.Patch(ctx, obj, part, kind, data)
}

// TestFailedFinalizerWriteIsReported checks that, if the finalizer of an Ingress cannot be written, nothing is created
// in AWS, and one event reports the reason.
func TestFailedFinalizerWriteIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(t, Options{API: func(api kube.API) kube.API { return finalizerRefusingAPI{api} }})
		r.Apply(shop, webIngress("", "/=web"))
		r.Settle(10 * time.Minute)
		if n := r.Emulator.Calls().CountMutating(); n > 0 {
			t.Errorf("%d mutating calls: %v", n, r.Emulator.Calls().Counts())
		}
		for _, o := range r.Store.All("Event") {
			e := o.(*corev1.Event)
			if e.Reason != "FailedAddFinalizer" || !strings.Contains(e.Message, "a policy says no") || strings.Contains(e.Message, "IAM") {
				t.Errorf("%s: %s", e.Reason, e.Message)
			}
		}
		if n := len(r.Store.All("Event")); n != 1 {
			t.Errorf("%d events", n)
		}
	})
}

// statusRefusingAPI is an API server that refuses status writes for objects with the given name. "" refuses none.
type statusRefusingAPI struct {
	kube.API
	name string
}

func (n *statusRefusingAPI) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	if part == cluster.StatusPart && obj.GetName() == n.name {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "things"}, obj.GetName(), errors.New("a policy says no"))
	}
	return n.API.Patch(ctx, obj, part, kind, data)
}

// otherClasses has an IngressClass and a GatewayClass of another controller.
const otherClasses = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: other}
spec: {controller: example.com/other}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: other}
spec: {controllerName: example.com/other}
---
`

// TestFailedStatusWriteIsReported checks an object that leaves the controller while its status cannot be cleared. It
// keeps its finalizer, and an event has a reason that existing alerts use. The finalizer is removed after the status is
// cleared.
func TestFailedStatusWriteIsReported(t *testing.T) {
	t.Parallel()
	for kind, c := range map[cluster.Kind]struct {
		name   string
		docs   []string
		leave  func(*Harness)
		reason string
	}{
		cluster.KindIngress: {"web", []string{shop, webIngress("", "/=web")}, func(r *Harness) {
			r.editIngress("web", func(i *networkingv1.Ingress) { i.Spec.IngressClassName = aws.String("other") })
		}, "FailedUpdateStatus"},
		cluster.KindService: {"web", []string{nlbService("web", ipTargets, onePort)}, func(r *Harness) {
			r.Apply(strings.Replace(nlbService("web", ipTargets, onePort), "type: LoadBalancer, loadBalancerClass: service.k8s.aws/nlb", "type: ClusterIP", 1))
		}, "FailedCleanupStatus"},
		cluster.KindGateway: {"edge", []string{edgeGateway, routeOf("web", "a.example.com", "backendRefs: [{name: web, port: 80}]")}, func(r *Harness) {
			r.Apply(strings.Replace(edgeGateway, "gatewayClassName: alb", "gatewayClassName: other", 1))
		}, "FailedUpdateStatus"},
	} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := &statusRefusingAPI{}
				r := shopWith(t, Options{
					API:     func(api kube.API) kube.API { server.API = api; return server },
					Gateway: func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets },
				})
				finalizers := func() []string {
					obj, err := r.Store.Get(cluster.Ref{Kind: kind, Namespace: "shop", Name: c.name})
					if err != nil {
						t.Fatal(err)
					}
					return obj.GetFinalizers()
				}
				r.Apply(append(c.docs, otherClasses, readyPods("web", podAddresses[:2]...))...)
				r.advanceTime(10 * time.Minute)
				server.name = c.name
				c.leave(r)
				r.advanceTime(20 * time.Minute)
				reasons := map[string]bool{}
				for _, o := range r.Store.All("Event") {
					if e := o.(*corev1.Event); e.Type == corev1.EventTypeWarning && e.InvolvedObject.Name == c.name && strings.Contains(e.Message, "a policy says no") {
						reasons[e.Reason] = true
					}
				}
				if d := cmp.Diff(map[string]bool{c.reason: true}, reasons); d != "" {
					t.Errorf("reasons (-want +got):\n%s", d)
				}
				if len(finalizers()) == 0 {
					t.Error("the finalizer is removed before the status")
				}
				server.name = ""
				r.advanceTime(30 * time.Minute)
				if left := finalizers(); len(left) > 0 {
					t.Errorf("finalizers %v are still there", left)
				}
			})
		})
	}
}

// objectFinalizerRefusingAPI is an API server that refuses patches of finalizers for objects with the given name.
type objectFinalizerRefusingAPI struct {
	kube.API
	name string
}

func (n objectFinalizerRefusingAPI) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	if obj.GetName() == n.name {
		return finalizerRefusingAPI{n.API}.Patch(ctx, obj, part, kind, data)
	}
	return n.API.Patch(ctx, obj, part, kind, data)
}

// TestFailedFinalizerWriteDelaysNoOtherMember checks that no rule is created for a member whose finalizer cannot be
// written, and that this does not delay other members.
func TestFailedFinalizerWriteDelaysNoOtherMember(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(t, Options{API: func(api kube.API) kube.API { return objectFinalizerRefusingAPI{api, "bad"} }})
		r.Apply(shop, memberWithStatus("good", "5", "200", "/good"), memberWithStatus("bad", "-5", "201", "/bad"))
		r.Settle(10 * time.Minute)
		r.Apply(strings.Replace(webIngress(ingressAnnotations("group.name", "team"), "/new=web"), "name: web\n", "name: other\n", 1))
		r.Settle(10 * time.Minute)
		for at, want := range map[string]string{"/good": "200", "/bad": "default", "/new": "k8s-shop-web"} {
			if got := answerTo(r, 80, "shop.example.com", at); !strings.HasPrefix(got, want) {
				t.Errorf("%s is answered by %s, want %s", at, got, want)
			}
		}
		if reported := warningsByObject(r); len(reported["good"])+len(reported["other"]) > 0 || len(reported["bad"]) == 0 {
			t.Errorf("warnings %v", reported)
		}
	})
}

// panickingFrontend is a frontend whose Report panics.
type panickingFrontend struct{ engine.Frontend }

func (panickingFrontend) Report(*cluster.View, engine.Outcome) []cluster.Patch { panic("test") }

// TestPanicIsAFailureOfTheRun checks that a panic makes a run fail, even if the run was to be retried.
func TestPanicIsAFailureOfTheRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		of := ingress.New(ingress.Options{Options: assemble.Options{Cluster: ClusterName}, Class: "alb"})
		r := shopWith(t, Options{Frontends: map[model.Kind]engine.Frontend{model.Ingress: panickingFrontend{of}}})
		r.Apply(shop, readyPods("web", podAddresses[0]), webIngress("", "/=web"))
		r.Emulator.Faults().Add(fault.Rule{Operation: "CreateTargetGroup", Action: fault.Action{Error: &store.Error{Code: "InternalFailure", Message: "no", Status: 500}}})
		out, err := r.process.engine.Reconcile(t.Context(), model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"})
		if err == nil || out.Err == nil || out.RetryAfter != 0 {
			t.Errorf("error %v, in the outcome %v, retried after %v", err, out.Err, out.RetryAfter)
		}
	})
}
