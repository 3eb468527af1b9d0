package kube

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	clocktesting "k8s.io/utils/clock/testing"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

var (
	shopWebStack  = model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}
	ingressMember = finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "web"}
)

func newTestCluster(t *testing.T, objs ...cluster.Object) (*Cluster, *cluster.Memory) {
	t.Helper()
	m, err := cluster.NewMemory(nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Put(objs...); err != nil {
		t.Fatal(err)
	}
	return New(m, MemoryAPI{m}, clocktesting.NewFakePassiveClock(time.Unix(1700000000, 0))), m
}

func newIngress(finalizers ...string) *networkingv1.Ingress {
	return &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", Finalizers: finalizers}}
}

func applyStep(t *testing.T, c *Cluster, do plan.Action, known plan.KnownIDs) error {
	t.Helper()
	_, err := c.Apply(context.Background(), shopWebStack, plan.Step{ID: "x", Do: do}, known)
	return err
}

func getObject[T cluster.Object](t *testing.T, m *cluster.Memory, kind cluster.Kind, name string) T {
	t.Helper()
	o, ok := cluster.Get[T](cluster.NewView(m), kind, "shop", name)
	if !ok {
		t.Fatalf("%s %s is gone", kind, name)
	}
	return o
}

func TestFinalizersOfOthersStay(t *testing.T) {
	c, m := newTestCluster(t, newIngress("other/x"))
	for range 2 {
		if err := applyStep(t, c, plan.ClaimFinalizer{Ref: ingressMember, Finalizer: naming.ImplicitFinalizer}, nil); err != nil {
			t.Fatal(err)
		}
	}
	got := getObject[*networkingv1.Ingress](t, m, cluster.KindIngress, "web")
	if d := cmp.Diff([]string{"other/x", "ingress.k8s.aws/resources"}, got.Finalizers); d != "" {
		t.Error(d)
	}
	if err := m.Delete(cluster.RefOf(got)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := applyStep(t, c, plan.ReleaseFinalizer{Ref: ingressMember, Finalizer: naming.ImplicitFinalizer}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if d := cmp.Diff([]string{"other/x"}, getObject[*networkingv1.Ingress](t, m, cluster.KindIngress, "web").Finalizers); d != "" {
		t.Error(d)
	}
}

func TestClaimFinalizerOfDeletingObject(t *testing.T) {
	c, m := newTestCluster(t, newIngress("other/x"))
	if err := m.DeleteObject(newIngress()); err != nil {
		t.Fatal(err)
	}
	err := applyStep(t, c, plan.ClaimFinalizer{Ref: ingressMember, Finalizer: naming.ImplicitFinalizer}, nil)
	if c.Class(err) != failure.Conflict {
		t.Errorf("class %v of %v", c.Class(err), err)
	}
}

func TestReleaseClearsTheStatusOfTheLastLoadBalancer(t *testing.T) {
	ing := newIngress(naming.ImplicitFinalizer)
	ing.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{
		{Hostname: "h", Ports: []networkingv1.IngressPortStatus{{Port: 80}}}, {Hostname: "front"}}
	c, m := newTestCluster(t, ing)
	if err := applyStep(t, c, plan.ReleaseFinalizer{Ref: ingressMember, Finalizer: naming.ImplicitFinalizer, ClearStatus: true}, nil); err != nil {
		t.Fatal(err)
	}
	got := getObject[*networkingv1.Ingress](t, m, cluster.KindIngress, "web")
	if len(got.Status.LoadBalancer.Ingress) != 0 || len(got.Finalizers) != 0 {
		t.Errorf("%+v %+v", got.Finalizers, got.Status)
	}
	// An Ingress that has moved to another IngressGroup keeps the status with the load balancer of that IngressGroup.
	moved := ing.DeepCopy()
	moved.Finalizers = append(moved.Finalizers, "group.ingress.k8s.aws/team")
	c, m = newTestCluster(t, moved)
	if err := applyStep(t, c, plan.ReleaseFinalizer{Ref: ingressMember, Finalizer: naming.ImplicitFinalizer, ClearStatus: true}, nil); err != nil {
		t.Fatal(err)
	}
	if got := getObject[*networkingv1.Ingress](t, m, cluster.KindIngress, "web"); len(got.Status.LoadBalancer.Ingress) != 2 {
		t.Error("the status of the other load balancer is gone")
	}
	// An Ingress that is now served by another controller keeps its status too.
	for _, theirs := range []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}, {Hostname: "nlb.example.com"}} {
		taken := ing.DeepCopy()
		taken.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{theirs}
		c, m = newTestCluster(t, taken)
		if err := applyStep(t, c, plan.ReleaseFinalizer{Ref: ingressMember, Finalizer: naming.ImplicitFinalizer, ClearStatus: true}, nil); err != nil {
			t.Fatal(err)
		}
		if got := getObject[*networkingv1.Ingress](t, m, cluster.KindIngress, "web"); len(got.Status.LoadBalancer.Ingress) != 1 || len(got.Finalizers) != 0 {
			t.Errorf("%+v of another controller: %+v %+v", theirs, got.Finalizers, got.Status)
		}
	}
}

func bindingStep() (plan.PutBinding, plan.KnownIDs) {
	port := intstr.FromInt32(8080)
	backend, group := plan.Address{Kind: plan.BackendSecurityGroup, ID: "b"}, plan.TargetGroupAddress("web:80")
	return plan.PutBinding{
		Binding: model.Binding{
			Namespace: "shop", Name: "k8s-shop-web-1", Service: "web", Port: intstr.FromInt32(80), Managed: true,
			Networking: []model.BindingRule{{From: []model.Peer{{BackendSecurityGroup: true}, {CIDR: "10.0.0.0/8"}},
				Ports: []model.PeerPort{{Protocol: "TCP", Port: &port}}}},
		},
		Group: group, Type: model.IPTargets, Protocol: "HTTP", Address: model.IPv4, VPC: "vpc-1",
		Labels: naming.StackLabels(shopWebStack), BackendSecurityGroup: backend,
	}, plan.KnownIDs{group: "arn:tg", backend: "sg-1"}
}

func TestBindingIsWrittenAndReadBack(t *testing.T) {
	c, m := newTestCluster(t)
	put, known := bindingStep()
	for range 2 { // the second attempt finds the binding, as if the answer to the first attempt was lost
		if err := applyStep(t, c, put, known); err != nil {
			t.Fatal(err)
		}
	}
	seen := c.Bindings(c.View(), shopWebStack)
	if len(seen) != 1 || seen[0].ARN != "arn:tg" || seen[0].Networking[0].SecurityGroups[0] != "sg-1" ||
		seen[0].Networking[0].CIDRs[0] != "10.0.0.0/8" || seen[0].Service.Service != "web" || seen[0].Protocol != "HTTP" {
		t.Errorf("%+v", seen)
	}
	before := getObject[*elbv2.TargetGroupBinding](t, m, cluster.KindBinding, "k8s-shop-web-1")

	// Labels and annotations of other clients are kept. If the desired binding has no networking rules, the networking field
	// is removed.
	foreign := before.DeepCopy()
	foreign.Labels["team"] = "a"
	foreign.Annotations = map[string]string{"elbv2.k8s.aws/checkpoint": "x"}
	if _, err := m.Update(foreign, cluster.MainPart); err != nil {
		t.Fatal(err)
	}
	put.Existing = &model.Binding{Namespace: "shop", Name: "k8s-shop-web-1"}
	put.Binding.Managed, put.Binding.Networking = false, nil
	if err := applyStep(t, c, put, known); err != nil {
		t.Fatal(err)
	}
	after := getObject[*elbv2.TargetGroupBinding](t, m, cluster.KindBinding, "k8s-shop-web-1")
	if after.Labels["team"] != "a" || after.Annotations["elbv2.k8s.aws/checkpoint"] != "x" || after.Spec.Networking != nil || after.Generation != 2 {
		t.Errorf("%+v", after)
	}
	version := after.ResourceVersion
	if err := applyStep(t, c, put, known); err != nil {
		t.Fatal(err)
	}
	if again := getObject[*elbv2.TargetGroupBinding](t, m, cluster.KindBinding, "k8s-shop-web-1"); again.ResourceVersion != version {
		t.Error("a write without a change")
	}

	for range 2 {
		if err := applyStep(t, c, plan.DeleteBinding{Namespace: "shop", Name: "k8s-shop-web-1"}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if seen := c.Bindings(c.View(), shopWebStack); len(seen) != 0 {
		t.Errorf("%+v", seen)
	}
}

// TestRangesOfBindingsAreReadInCanonicalForm checks that a binding with the ranges of aws-load-balancer-controller, which are
// written as users write them, does not differ from the desired one.
func TestRangesOfBindingsAreReadInCanonicalForm(t *testing.T) {
	c, _ := newTestCluster(t)
	put, known := bindingStep()
	put.Binding.Networking[0].From = []model.Peer{{CIDR: "10.1.2.3/16"}, {CIDR: "2001:DB8::1/32"}, {CIDR: "no range"}}
	if err := applyStep(t, c, put, known); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"10.1.0.0/16", "2001:db8::/32", "no range"}, c.Bindings(c.View(), shopWebStack)[0].Networking[0].CIDRs); d != "" {
		t.Error(d)
	}
}

func TestBindingOfAnotherTargetGroupIsNotChanged(t *testing.T) {
	c, m := newTestCluster(t)
	put, known := bindingStep()
	if err := applyStep(t, c, put, known); err != nil {
		t.Fatal(err)
	}
	before := getObject[*elbv2.TargetGroupBinding](t, m, cluster.KindBinding, put.Binding.Name)
	known[put.Group] = "arn:other"
	if err := applyStep(t, c, put, known); c.Class(err) != failure.InUse {
		t.Errorf("class %v of %v", c.Class(err), err)
	}
	if diff := cmp.Diff(before, getObject[*elbv2.TargetGroupBinding](t, m, cluster.KindBinding, put.Binding.Name)); diff != "" {
		t.Errorf("the binding has changed: %s", diff)
	}
	delete(known, put.Group)
	if err := applyStep(t, c, put, known); err == nil {
		t.Error("a binding without a target group")
	}
}

var webRef = cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}

func TestStatusIsWrittenOnce(t *testing.T) {
	c, m := newTestCluster(t, newIngress())
	p := []cluster.Patch{cluster.ObjectStatus{Ref: webRef, Fields: networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{
		Ingress: []networkingv1.IngressLoadBalancerIngress{{Hostname: "h", Ports: []networkingv1.IngressPortStatus{
			{Port: 80, Protocol: "TCP"}, {Port: 443, Protocol: "TCP"}}}}}}}}
	writes := 0
	m.Watch(func(_, _ cluster.Object) { writes++ })
	for range 2 {
		if err := c.Write(context.Background(), p); err != nil {
			t.Fatal(err)
		}
	}
	got := getObject[*networkingv1.Ingress](t, m, cluster.KindIngress, "web").Status.LoadBalancer.Ingress
	want := []networkingv1.IngressLoadBalancerIngress{{Hostname: "h", Ports: []networkingv1.IngressPortStatus{
		{Port: 80, Protocol: "TCP"}, {Port: 443, Protocol: "TCP"}}}}
	if d := cmp.Diff(want, got); d != "" || writes != 1 {
		t.Errorf("%d writes, %s", writes, d)
	}
}

func TestWarningsAreNotRepeatedUntilSuccess(t *testing.T) {
	c, m := newTestCluster(t, newIngress())
	ref := cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}
	a := cluster.Event{Ref: ref, Warning: true, Reason: "FailedBuildModel", Message: "a"}
	b := cluster.Event{Ref: ref, Warning: true, Reason: "FailedBuildModel", Message: "b"}
	good := cluster.Event{Ref: ref, Reason: "SuccessfullyReconciled", Message: "Successfully reconciled"}
	noOwner := cluster.Event{Ref: cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "none"}, Reason: "x"}
	b2 := b
	b.Message = "b, RequestID: 0e6a1b2c-0000-4000-8000-000000000001, x"
	b2.Message = "b, RequestID: 0e6a1b2c-0000-4000-8000-000000000002, x"
	// Warning a is reported together with a success, so it continues. The success ends warning b, which is a new warning
	// when it is reported again.
	for _, batch := range [][]cluster.Patch{{a, b}, {a, b2, noOwner}, {a, good, good}, {a}, {a, b2}} {
		if err := c.Write(context.Background(), batch); err != nil {
			t.Fatal(err)
		}
	}
	got := map[string]int{}
	for _, o := range m.All("Event") {
		e := o.(*corev1.Event)
		got[e.Type+" "+e.Message]++
		if e.InvolvedObject.Kind != "Ingress" || e.Source.Component != "ingress" {
			t.Errorf("%+v", e)
		}
	}
	want := map[string]int{"Warning a": 1, "Warning b, RequestID: 0e6a1b2c-0000-4000-8000-000000000001, x": 1, "Warning b, RequestID: 0e6a1b2c-0000-4000-8000-000000000002, x": 1, "Normal Successfully reconciled": 2}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// statusDeniedAPI is an API server that denies writes to the status subresource.
type statusDeniedAPI struct{ MemoryAPI }

func (r statusDeniedAPI) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	if part == cluster.StatusPart {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "ingresses"}, obj.GetName(), errors.New("no right to"))
	}
	return r.MemoryAPI.Patch(ctx, obj, part, kind, data)
}

// TestAStatusThatCannotBeWrittenIsReported checks that an event reports the error once, whether the whole status is written or
// only a part of it.
func TestAStatusThatCannotBeWrittenIsReported(t *testing.T) {
	for name, patch := range map[string]cluster.Patch{
		"whole": cluster.ObjectStatus{Ref: webRef, Fields: networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{
			Ingress: []networkingv1.IngressLoadBalancerIngress{{Hostname: "h"}}}}},
		"edit": statusEntryEdit("h"),
	} {
		t.Run(name, func(t *testing.T) {
			_, m := newTestCluster(t, newIngress())
			c := New(m, statusDeniedAPI{MemoryAPI{m}}, clocktesting.NewFakePassiveClock(time.Unix(1700000000, 0)))
			for range 2 {
				if err := c.Write(context.Background(), []cluster.Patch{patch}); !apierrors.IsForbidden(err) {
					t.Errorf("got %v", err)
				}
			}
			events := m.All("Event")
			if len(events) != 1 {
				t.Fatalf("%d events", len(events))
			}
			if e := events[0].(*corev1.Event); e.Reason != "FailedUpdateStatus" || e.Type != "Warning" || !strings.Contains(e.Message, "no right to") {
				t.Errorf("%+v", e)
			}
		})
	}
}
