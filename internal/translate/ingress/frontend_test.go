package ingress_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

const stackObjects = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: usual, annotations: {ingressclass.kubernetes.io/is-default-class: "true"}}
spec:
  controller: ingress.k8s.aws/alb
  parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: usual}
---
apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata: {name: usual}
spec: {group: {name: everyone}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: plain, namespace: shop, finalizers: [ingress.k8s.aws/resources, example.com/other]}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: old-style, namespace: shop, annotations: {kubernetes.io/ingress.class: alb}}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: foreign, namespace: shop, annotations: {kubernetes.io/ingress.class: nginx}}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
---
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: dying
  namespace: shop
  deletionTimestamp: "2024-01-01T00:00:00Z"
  finalizers: [group.ingress.k8s.aws/g]
  annotations: {kubernetes.io/ingress.class: alb}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop}
`

func TestStacksOfEachKindOfObject(t *testing.T) {
	src := enginetest.LoadObjects(t, stackObjects)
	f := ingress.New(ingress.Options{Class: "alb"})
	id := func(ns, name string) model.StackID {
		return model.StackID{Kind: model.Ingress, Namespace: ns, Name: name}
	}
	for _, c := range []struct {
		kind cluster.Kind
		name string
		want []model.StackID
	}{
		{cluster.KindIngress, "plain", []model.StackID{id("", "everyone"), id("shop", "plain")}},
		{cluster.KindIngress, "old-style", []model.StackID{id("shop", "old-style")}},
		{cluster.KindIngress, "foreign", nil},
		{cluster.KindIngress, "dying", []model.StackID{id("", "g")}},
		{cluster.KindIngressClass, "usual", []model.StackID{id("", "everyone"), id("", "g"), id("shop", "old-style"), id("shop", "plain")}},
		{cluster.KindIngressClassParams, "usual", []model.StackID{id("", "everyone"), id("", "g"), id("shop", "old-style"), id("shop", "plain")}},
		{cluster.KindNamespace, "shop", []model.StackID{id("", "everyone"), id("", "g"), id("shop", "old-style"), id("shop", "plain")}},
	} {
		ref := cluster.Ref{Kind: c.kind, Name: c.name}
		if c.kind == cluster.KindIngress {
			ref.Namespace = "shop"
		}
		obj, err := src.Get(ref)
		if err != nil || obj == nil {
			t.Fatal(ref, err)
		}
		if diff := cmp.Diff(c.want, f.Stacks(cluster.NewView(src), obj)); diff != "" {
			t.Errorf("%s: %s", ref, diff)
		}
	}
}

// statusWithHost returns the patch that shows a load balancer with a hostname in the status of an Ingress.
func statusWithHost(namespace, name, host string, ports ...int32) cluster.ObjectStatus {
	lb := networkingv1.IngressLoadBalancerIngress{Hostname: host}
	for _, p := range ports {
		lb.Ports = append(lb.Ports, networkingv1.IngressPortStatus{Port: p, Protocol: "TCP"})
	}
	return cluster.ObjectStatus{Ref: cluster.Ref{Kind: cluster.KindIngress, Namespace: namespace, Name: name},
		Fields: networkingv1.IngressStatus{LoadBalancer: networkingv1.IngressLoadBalancerStatus{Ingress: []networkingv1.IngressLoadBalancerIngress{lb}}}}
}

func TestReport(t *testing.T) {
	good := finding.Ref{Kind: "Ingress", Namespace: "n", Name: "good"}
	bad := finding.Ref{Kind: "Ingress", Namespace: "n", Name: "bad"}
	fault := finding.Finding{Object: bad, Field: "f", Reason: finding.AnnotationInvalid, Message: "no good", Fix: "mend it", Blocks: finding.BlocksMember}
	stack := model.Stack{Members: []model.Member{{Ref: good}, {Ref: bad, Blocked: true}}}
	status := func(name string, ports ...int32) cluster.ObjectStatus {
		return statusWithHost("n", name, "lb.example", ports...)
	}
	asFault := func(e cluster.Event) cluster.Event { e.Fault = true; return e }
	event := func(r finding.Ref, warning bool, reason, message string) cluster.Event {
		return cluster.Event{Ref: cluster.Ref{Kind: cluster.KindIngress, Namespace: r.Namespace, Name: r.Name}, Warning: warning, Reason: reason, Message: message}
	}
	faultEvent := event(bad, true, "FailedBuildModel", "AnnotationInvalid: f: no good; mend it")
	done := engine.Outcome{Stack: stack, Findings: finding.List{fault}, DNSNames: map[string]string{model.LoadBalancerID: "lb.example"}, Plan: plan.Plan{Ports: []int32{80, 443}}, Done: true, Changed: true}
	with := func(change func(*engine.Outcome)) engine.Outcome {
		o := done
		change(&o)
		return o
	}
	for name, c := range map[string]struct {
		out  engine.Outcome
		want []cluster.Patch
	}{
		"only the culprit bears the warning, the others are served": {done,
			[]cluster.Patch{faultEvent, status("good", 80, 443), event(good, false, "SuccessfullyReconciled", "Successfully reconciled")}},
		"nothing changed, nothing to celebrate": {with(func(o *engine.Outcome) { o.Changed = false }),
			[]cluster.Patch{faultEvent, status("good", 80, 443)}},
		"waiting is no success yet": {with(func(o *engine.Outcome) { o.Done, o.RetryAfter = false, time.Second }),
			[]cluster.Patch{faultEvent, status("good", 80, 443)}},
		"the run as a whole failed": {with(func(o *engine.Outcome) { o.Err, o.DNSNames, o.Changed = failedError{}, nil, false }), []cluster.Patch{faultEvent}},
		"one step failed, and is tried again: the others are served": {with(func(o *engine.Outcome) {
			o.Err, o.Done = failedError{}, false
			o.FailedSteps = []engine.FailedStep{{Step: plan.Step{Do: plan.CreateTargetGroup{}, RequestedBy: []finding.Ref{bad}}}}
			o.Findings = finding.List{{Object: bad, Field: "target-group", Reason: finding.CallFailed, Severity: finding.Error, Message: "m"}}
		}), []cluster.Patch{asFault(event(bad, true, "FailedDeployModel", "CallFailed: target-group: m")), status("good", 80, 443), event(good, false, "SuccessfullyReconciled", "Successfully reconciled")}},
		"finalizers that cannot be written have reasons of their own": {with(func(o *engine.Outcome) {
			o.Findings = finding.List{
				{Object: good, Field: "finalizer", Reason: finding.CallFailed, Severity: finding.Error, Message: "m"},
				{Object: bad, Field: "finalizer", Reason: finding.AccessDenied, Severity: finding.Error, Message: "m"},
			}
			o.Stack.Leaving, o.Stack.Members, o.Changed = []model.Member{{Ref: bad}}, o.Stack.Members[:1], false
		}), []cluster.Patch{asFault(event(bad, true, "FailedRemoveFinalizer", "AccessDenied: finalizer: m")),
			asFault(event(good, true, "FailedAddFinalizer", "CallFailed: finalizer: m")), status("good", 80, 443)}},
		"no load balancer yet": {with(func(o *engine.Outcome) { o.DNSNames, o.Changed = nil, false }), []cluster.Patch{faultEvent}},
		"a held stack keeps its status": {with(func(o *engine.Outcome) { o.Stack.Held.AllResources = true }),
			[]cluster.Patch{faultEvent}},
		"a listener that could not be made is not shown": {with(func(o *engine.Outcome) {
			o.Done = false
			step := plan.Step{ID: "listener 443", Do: plan.CreateListener{Settings: plan.ListenerSettings{Port: 443}}, RequestedBy: []finding.Ref{good}}
			o.Plan.Steps, o.FailedSteps = []plan.Step{step}, []engine.FailedStep{{Step: step}}
		}), []cluster.Patch{faultEvent, status("good", 80)}},
		"waiting for targets is news only when something moved": {with(func(o *engine.Outcome) {
			o.Findings = finding.List{{Object: good, Reason: finding.WaitingForTargets, Message: "m"}}
			o.Changed, o.Done = false, false
		}), []cluster.Patch{status("good", 80, 443)}},
		"advice is no failed build": {with(func(o *engine.Outcome) {
			o.Findings = finding.List{{Object: good, Reason: finding.BackendNotFound, Message: "m"}}
			o.Changed = false
		}), []cluster.Patch{event(good, true, "BackendNotFound", "BackendNotFound: m"), status("good", 80, 443)}},
		"then it is no warning": {with(func(o *engine.Outcome) {
			o.Findings = finding.List{{Object: good, Reason: finding.WaitingForTargets, Message: "m"}}
			o.Done = false
		}), []cluster.Patch{event(good, false, "WaitingForTargets", "WaitingForTargets: m"), status("good", 80, 443)}},
		"a member that AWS facts block is not shown as served": {with(func(o *engine.Outcome) {
			o.Stack.Members = []model.Member{{Ref: good}, {Ref: bad}}
			o.Findings = finding.List{{Object: bad, Reason: finding.CertificateNotFound, Message: "m", Blocks: finding.BlocksMember}}
			o.Changed = false
		}), []cluster.Patch{event(bad, true, "FailedBuildModel", "CertificateNotFound: m"), status("good", 80, 443)}},
		"class faults keep their old event reason": {with(func(o *engine.Outcome) {
			o.Findings = finding.List{{Object: bad, Reason: finding.IngressClassInvalid, Message: "m", Blocks: finding.BlocksMember}}
			o.Changed = false
		}), []cluster.Patch{event(bad, true, "FailedLoadGroupID", "IngressClassInvalid: m"), status("good", 80, 443)}},
		"refusals of AWS are of another kind": {with(func(o *engine.Outcome) {
			o.Findings = finding.List{{Object: bad, Reason: finding.RejectedByAWS, Message: "m"}}
			o.Changed = false
		}), []cluster.Patch{event(bad, true, "FailedDeployModel", "RejectedByAWS: m"), status("good", 80, 443)}},
		"a deletion that AWS refuses is of that kind too": {with(func(o *engine.Outcome) {
			o.Findings = finding.List{{Object: bad, Reason: finding.DeletionProtected, Severity: finding.Error, Message: "m"}}
			o.Changed = false
		}), []cluster.Patch{asFault(event(bad, true, "FailedDeployModel", "DeletionProtected: m")), status("good", 80, 443)}},
	} {
		t.Run(name, func(t *testing.T) {
			src, err := cluster.NewMemory(nil)
			if err != nil {
				t.Fatal(err)
			}
			got := ingress.New(ingress.Options{}).Report(cluster.NewView(src), c.out)
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

func TestReportUpdatesTheStatusOfBlockedMembers(t *testing.T) {
	src := enginetest.LoadObjects(t, `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: bad, namespace: ns}
spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}
status: {loadBalancer: {ingress: [{hostname: before.example}]}}
`)
	out := engine.Outcome{DNSNames: map[string]string{model.LoadBalancerID: "now.example"}, Plan: plan.Plan{Ports: []int32{80}},
		Stack: model.Stack{Members: []model.Member{{Ref: finding.Ref{Kind: "Ingress", Namespace: "ns", Name: "bad"}, Blocked: true}}}}
	got := ingress.New(ingress.Options{}).Report(cluster.NewView(src), out)
	want := []cluster.Patch{statusWithHost("ns", "bad", "now.example", 80)}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

type failedError struct{}

func (failedError) Error() string { return "failed" }

var _ engine.Frontend = (*ingress.Frontend)(nil)

// TestStacksOfAPreviousDefaultClass checks that Stacks returns, for an IngressClass that is no longer the default class,
// also the stacks of Ingresses without a class.
func TestStacksOfAPreviousDefaultClass(t *testing.T) {
	src := enginetest.LoadObjects(t, stackObjects)
	obj, err := src.Get(cluster.Ref{Kind: cluster.KindIngressClass, Name: "usual"})
	if err != nil {
		t.Fatal(err)
	}
	class := obj.DeepCopyObject().(*networkingv1.IngressClass)
	class.Annotations = nil
	if err := src.Put(class); err != nil {
		t.Fatal(err)
	}
	got := ingress.New(ingress.Options{Class: "alb"}).Stacks(cluster.NewView(src), class)
	want := model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "plain"}
	found := false
	for _, id := range got {
		found = found || id == want
	}
	if !found {
		t.Errorf("%v lacks %v", got, want)
	}
}
