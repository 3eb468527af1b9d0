package harness

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
)

// Whatever call stops a load balancer, the Ingress says so, once, and with the reason of events that
// alerts are built on.
func TestWhatStopsALoadBalancerIsReportedOnItsIngress(t *testing.T) {
	t.Parallel()
	denied := fault.Action{Error: &store.Error{Code: "AccessDenied", Message: "no", Status: 403}}
	broken := fault.Action{Error: &store.Error{Code: "InternalFailure", Message: "no", Status: 500}}
	for name, c := range map[string]struct {
		call            string
		action          fault.Action
		reason, message string
	}{
		"reading is denied":      {"DescribeLoadBalancers", denied, "FailedDeployModel", "AccessDenied: "},
		"reading fails":          {"DescribeLoadBalancers", broken, "FailedDeployModel", "CallFailed: "},
		"making is denied":       {"CreateLoadBalancer", denied, "FailedDeployModel", "AccessDenied: load-balancer: "},
		"making fails":           {"CreateTargetGroup", broken, "FailedDeployModel", "CallFailed: target-group: "},
		"reading is throttled":   {"DescribeLoadBalancers", fault.Action{Throttle: true}, "", ""},
		"the connection is lost": {"CreateTargetGroup", fault.Action{Reset: true}, "FailedDeployModel", "CallFailed: target-group: "},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				r.Emulator.Faults().Add(fault.Rule{Operation: c.call, Action: c.action})
				r.Apply(shop, pods("web", podAddresses[:3]...), ingressOf("", "/=web"))
				r.Settle(10 * time.Minute)
				reported := map[string]int{}
				for _, o := range r.Store.All("Event") {
					if e := o.(*corev1.Event); e.Type == corev1.EventTypeWarning && e.InvolvedObject.Kind == "Ingress" {
						reported[e.Reason]++
						if !strings.HasPrefix(e.Message, c.message) {
							t.Errorf("got %s", e.Message)
						}
					}
				}
				if c.reason == "" && len(reported) > 0 || c.reason != "" && (len(reported) != 1 || reported[c.reason] != 1) {
					t.Errorf("got %v", reported)
				}
				r.Emulator.Faults().Reset()
				settled(t, r)
			})
		})
	}
}

// noFinalizers is an API server that takes no finalizers.
type noFinalizers struct{ kube.API }

func (n noFinalizers) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	if strings.Contains(string(data), `"finalizers"`) {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "ingresses"}, obj.GetName(), errors.New("a policy says no"))
	}
	return n.API.Patch(ctx, obj, part, kind, data)
}

func TestAFinalizerThatCannotBeWrittenIsReportedAndNothingIsMade(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(t, Options{API: func(api kube.API) kube.API { return noFinalizers{api} }})
		r.Apply(shop, ingressOf("", "/=web"))
		r.Settle(10 * time.Minute)
		if n := r.Emulator.Calls().Mutating(); n > 0 {
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

// noFinalizerOn is an API server that takes no finalizer on one object.
type noFinalizerOn struct {
	kube.API
	name string
}

func (n noFinalizerOn) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	if obj.GetName() == n.name {
		return noFinalizers{n.API}.Patch(ctx, obj, part, kind, data)
	}
	return n.API.Patch(ctx, obj, part, kind, data)
}

// A member whose finalizer cannot be written keeps no other waiting, and nothing is made for it.
func TestAFinalizerThatCannotBeWrittenKeepsNoOtherWaiting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := New(t, Options{API: func(api kube.API) kube.API { return noFinalizerOn{api, "bad"} }})
		r.Apply(shop, acting("good", "5", "200", "/good"), acting("bad", "-5", "201", "/bad"))
		r.Settle(10 * time.Minute)
		r.Apply(strings.Replace(ingressOf(annotated("group.name", "team"), "/new=web"), "name: web\n", "name: other\n", 1))
		r.Settle(10 * time.Minute)
		for at, want := range map[string]string{"/good": "200", "/bad": "default", "/new": "k8s-shop-web"} {
			if got := answered(r, 80, "shop.example.com", at); !strings.HasPrefix(got, want) {
				t.Errorf("%s is answered by %s, want %s", at, got, want)
			}
		}
		if reported := warnings(r); len(reported["good"])+len(reported["other"]) > 0 || len(reported["bad"]) == 0 {
			t.Errorf("warnings %v", reported)
		}
	})
}
