package gateway

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/document"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayconfig"
)

// reportHarness writes the reports of a Frontend to an in-memory cluster, without a controller.
type reportHarness struct {
	t        *testing.T
	src      *cluster.Memory
	frontend *Frontend
	outcome  engine.Outcome
	now      time.Time
	// eventsAndAnnotations has the reasons of the events, and the keys of the annotations, of the last report.
	eventsAndAnnotations []string
}

const (
	liveARN     = "arn:aws:elasticloadbalancing:us-west-2:123456789012:loadbalancer/app/x/0123456789abcdef"
	albClassDoc = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: alb}
spec: {controllerName: gateway.k8s.aws/alb}
---
`
)

var gatewayStackID = model.StackID{Kind: model.ALBGateway, Namespace: "a", Name: "g"}

func newReportHarness(t *testing.T, yaml string) *reportHarness {
	t.Helper()
	src, err := cluster.MemoryFromYAML(nil, []byte(albClassDoc+yaml))
	if err != nil {
		t.Fatal(err)
	}
	s := &reportHarness{t: t, src: src, now: time.Unix(1000, 0), frontend: New(model.ALBGateway, Options{Options: assemble.Options{Cluster: "rig"}, ListenerSets: true})}
	s.frontend.opt.ImportCertificates = true
	s.outcome = engine.Outcome{
		ID: gatewayStackID, Done: true, Changed: true, DNSNames: map[string]string{model.LoadBalancerID: "X.elb.amazonaws.com"},
		LiveLoadBalancers: map[string]engine.LiveLoadBalancer{model.LoadBalancerID: {ARN: liveARN, Active: true}}, Plan: plan.Plan{Ports: []int32{80, 443}},
	}
	s.outcome.Stack.Members = []model.Member{{Ref: finding.Ref{Kind: "Gateway", Namespace: "a", Name: "g"}}}
	return s
}

// writeReport writes the report about the outcome, and returns the number of statuses that it has written.
func (s *reportHarness) writeReport() int {
	s.t.Helper()
	s.now = s.now.Add(time.Minute)
	s.eventsAndAnnotations = nil
	writes := 0
	for _, p := range s.frontend.Report(cluster.NewView(s.src), s.outcome) {
		switch p := p.(type) {
		case cluster.Event:
			s.eventsAndAnnotations = append(s.eventsAndAnnotations, p.Reason)
		case cluster.Annotation:
			s.eventsAndAnnotations = append(s.eventsAndAnnotations, p.Key)
		case cluster.StatusEdit:
			obj, err := s.src.Get(p.Ref)
			if err != nil || obj == nil {
				s.t.Fatalf("%s: %v", p.Ref, err)
			}
			if fields := p.Edit(obj, metav1.NewTime(s.now)); fields != nil {
				writes++
				s.applyMergePatch(obj, map[string]any{"status": fields})
			}
		default:
			s.t.Fatalf("patch %T", p)
		}
	}
	return writes
}

func (s *reportHarness) applyMergePatch(obj cluster.Object, change any) {
	s.t.Helper()
	before, err := json.Marshal(obj)
	if err != nil {
		s.t.Fatal(err)
	}
	data, err := json.Marshal(change)
	if err != nil {
		s.t.Fatal(err)
	}
	after, err := jsonpatch.MergePatch(before, data)
	if err != nil {
		s.t.Fatal(err)
	}
	typ, _ := cluster.TypeOf(cluster.RefOf(obj).Kind)
	next := typ.New()
	if err := json.Unmarshal(after, next); err != nil {
		s.t.Fatal(err)
	}
	if err := s.src.Put(next); err != nil {
		s.t.Fatal(err)
	}
}

func (s *reportHarness) editObject(kind cluster.Kind, namespace, name, change string) {
	s.t.Helper()
	obj, err := s.src.Get(cluster.Ref{Kind: kind, Namespace: namespace, Name: name})
	if err != nil || obj == nil {
		s.t.Fatalf("%s %s/%s: %v", kind, namespace, name, err)
	}
	s.applyMergePatch(obj, json.RawMessage(change))
}

func (s *reportHarness) getGateway() *gwv1.Gateway {
	gw, _ := cluster.Get[*gwv1.Gateway](cluster.NewView(s.src), cluster.KindGateway, "a", "g")
	return gw
}

func (s *reportHarness) getRoute(name string) *gwv1.HTTPRoute {
	r, _ := cluster.Get[*gwv1.HTTPRoute](cluster.NewView(s.src), cluster.KindHTTPRoute, "a", name)
	return r
}

// conditionsText returns conditions as "Type=Status/Reason".
func conditionsText(all []metav1.Condition) string {
	var out []string
	for _, c := range all {
		out = append(out, fmt.Sprintf("%s=%s/%s", c.Type, c.Status, c.Reason))
	}
	return strings.Join(out, " ")
}

func findCondition(all []metav1.Condition, of string) metav1.Condition {
	for _, c := range all {
		if c.Type == of {
			return c
		}
	}
	return metav1.Condition{}
}

const oneGatewayDocs = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: a, name: g, generation: 3}
spec:
  gatewayClassName: alb
  listeners:
  - {name: http, port: 80, protocol: HTTP, hostname: "*.a.com"}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {namespace: a, name: r, generation: 2}
spec:
  parentRefs: [{name: g}]
  hostnames: [x.a.com]
---
`

func TestReportOfAServedGateway(t *testing.T) {
	s := newReportHarness(t, oneGatewayDocs)
	if n := s.writeReport(); n != 2 {
		t.Errorf("%d statuses were written", n)
	}
	gw := s.getGateway()
	if got := conditionsText(gw.Status.Conditions); got != "Accepted=True/Accepted Programmed=True/Programmed" {
		t.Errorf("conditions %s", got)
	}
	if c := findCondition(gw.Status.Conditions, "Programmed"); c.Message != liveARN || c.ObservedGeneration != 3 {
		t.Errorf("the message of Programmed is the ARN, which others read: %+v", c)
	}
	if a := gw.Status.Addresses; len(a) != 1 || *a[0].Type != gwv1.HostnameAddressType || a[0].Value != "x.elb.amazonaws.com" {
		t.Errorf("addresses %v", a)
	}
	if n := gw.Status.AttachedListenerSets; n == nil || *n != 0 {
		t.Errorf("attached sets %v", n)
	}
	l := gw.Status.Listeners
	if len(l) != 1 || l[0].AttachedRoutes != 1 || len(l[0].SupportedKinds) != 1 || l[0].SupportedKinds[0].Kind != "HTTPRoute" ||
		conditionsText(l[0].Conditions) != "Conflicted=False/NoConflicts Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs Programmed=True/Programmed" {
		t.Errorf("listeners %+v", l)
	}
	p := s.getRoute("r").Status.Parents
	if len(p) != 1 || p[0].ControllerName != gatewayconfig.ALBController || p[0].Conditions[0].ObservedGeneration != 2 ||
		conditionsText(p[0].Conditions) != "ResolvedRefs=True/ResolvedRefs Accepted=True/Accepted" {
		t.Errorf("parents %+v", p)
	}
	if !slices.Equal(s.eventsAndAnnotations, []string{"SuccessfullyReconciled"}) {
		t.Errorf("events %v", s.eventsAndAnnotations)
	}
	s.outcome.Changed = false
	if n := s.writeReport(); n != 0 || len(s.eventsAndAnnotations) != 0 {
		t.Errorf("a pass without a change writes %d statuses and %v", n, s.eventsAndAnnotations)
	}
}

// TestRouteConditionsChangeWithFindings checks that the conditions of a route change with the findings, and that the
// transition time of a condition is the time of its last change.
func TestRouteConditionsChangeWithFindings(t *testing.T) {
	s := newReportHarness(t, oneGatewayDocs)
	s.writeReport()
	before := s.getRoute("r").Status.Parents[0].Conditions
	ref := finding.Ref{Kind: "HTTPRoute", Namespace: "a", Name: "r"}
	s.outcome.Findings = finding.List{{Object: ref, Field: "spec.rules[0]", Reason: finding.BackendNotFound, Severity: finding.Error, Message: "Service \"a/x\" does not exist"}}
	if n := s.writeReport(); n != 1 {
		t.Errorf("%d writes", n)
	}
	broken := s.getRoute("r").Status.Parents[0].Conditions
	if got := conditionsText(broken); got != "ResolvedRefs=False/BackendNotFound Accepted=True/Accepted" {
		t.Errorf("conditions %s", got)
	}
	since := func(all []metav1.Condition, of string) time.Time {
		return findCondition(all, of).LastTransitionTime.Time
	}
	if !since(broken, "Accepted").Equal(since(before, "Accepted")) || since(broken, "ResolvedRefs").Equal(since(before, "ResolvedRefs")) {
		t.Errorf("transition times: %v, then %v", before, broken)
	}
	s.outcome.Findings = finding.List{{Object: ref, Field: "spec.rules[0]", Reason: finding.RouteValueUnsupported, Severity: finding.Error, Message: "filter"}}
	s.writeReport()
	if got := conditionsText(s.getRoute("r").Status.Parents[0].Conditions); got != "ResolvedRefs=True/ResolvedRefs Accepted=False/UnsupportedValue" {
		t.Errorf("conditions %s", got)
	}
	if n := s.getGateway().Status.Listeners[0].AttachedRoutes; n != 0 {
		t.Errorf("a route that is not accepted counts: %d", n)
	}
	s.outcome.Findings = nil
	s.writeReport()
	if got := conditionsText(s.getRoute("r").Status.Parents[0].Conditions); got != "ResolvedRefs=True/ResolvedRefs Accepted=True/Accepted" {
		t.Errorf("conditions %s", got)
	}
}

const otherControllerEntry = `{"controllerName": "example.com/other", "parentRef": {"name": "g"}, "conditions": []}`

// TestEntriesAreRemovedWithTheirParents checks that status entries of other controllers are kept. An entry of this
// controller is removed if the route no longer has the parentRef, or if the Gateway is deleted.
func TestEntriesAreRemovedWithTheirParents(t *testing.T) {
	s := newReportHarness(t, oneGatewayDocs)
	s.editObject(cluster.KindHTTPRoute, "a", "r", `{"status": {"parents": [`+otherControllerEntry+`, {"controllerName": "example.com/other", "parentRef": {"name": "gone"}, "conditions": []}]}}`)
	s.writeReport()
	controllers := func() (out []string) {
		for _, p := range s.getRoute("r").Status.Parents {
			out = append(out, string(p.ControllerName)+" "+string(p.ParentRef.Name))
		}
		return out
	}
	all := []string{"example.com/other g", "example.com/other gone", "gateway.k8s.aws/alb g"}
	if got := controllers(); !slices.Equal(got, all) {
		t.Errorf("entries %q", got)
	}
	s.editObject(cluster.KindHTTPRoute, "a", "r", `{"spec": {"parentRefs": [{"name": "elsewhere"}]}}`)
	if n := s.writeReport(); n != 2 || len(controllers()) != 2 {
		t.Errorf("%d writes, entries %q", n, controllers())
	}
	s.editObject(cluster.KindHTTPRoute, "a", "r", `{"spec": {"parentRefs": [{"name": "g"}]}}`)
	s.writeReport()
	if got := controllers(); !slices.Equal(got, all) {
		t.Errorf("entries %q", got)
	}
	s.editObject(cluster.KindGateway, "a", "g", `{"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z", "finalizers": ["gateway.k8s.aws/alb"]}}`)
	if n := s.writeReport(); n != 1 || !slices.Equal(controllers(), all[:2]) {
		t.Errorf("%d writes, entries %q", n, controllers())
	}
	if n := s.writeReport(); n != 0 {
		t.Errorf("%d writes in a pass without a change", n)
	}
}

// TestAParentNamedTwiceHasOneEntry checks that a parent that a route names twice has one status entry, and that the entry is
// not written again if nothing changes.
func TestAParentNamedTwiceHasOneEntry(t *testing.T) {
	s := newReportHarness(t, oneGatewayDocs)
	s.editObject(cluster.KindHTTPRoute, "a", "r", `{"spec": {"parentRefs": [{"name": "g"}, {"name": "g", "namespace": "a"}]}}`)
	s.writeReport()
	if n := s.writeReport(); n != 0 || len(s.getRoute("r").Status.Parents) != 1 {
		t.Errorf("%d writes, entries %+v", n, s.getRoute("r").Status.Parents)
	}
}

// TestEntriesOfLaterGenerationsStay checks that a status entry is not changed if it is about a later generation of the route
// than the generation that was read.
func TestEntriesOfLaterGenerationsStay(t *testing.T) {
	s := newReportHarness(t, oneGatewayDocs)
	s.editObject(cluster.KindHTTPRoute, "a", "r", `{"status": {"parents": [{"controllerName": "gateway.k8s.aws/alb", "parentRef": {"name": "g"},
		"conditions": [{"type": "Accepted", "status": "False", "reason": "Pending", "message": "", "observedGeneration": 9, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}]}}`)
	s.writeReport()
	if got := conditionsText(s.getRoute("r").Status.Parents[0].Conditions); got != "Accepted=False/Pending" {
		t.Errorf("conditions %s", got)
	}
}

func TestListenersAndSetsInTheReport(t *testing.T) {
	s := newReportHarness(t, `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: a, name: g}
spec:
  gatewayClassName: alb
  allowedListeners: {namespaces: {from: Same}}
  listeners:
  - {name: web, port: 80, protocol: HTTP, hostname: a.com}
  - {name: udp, port: 81, protocol: UDP}
  - {name: kinds, port: 82, protocol: HTTP, allowedRoutes: {kinds: [{kind: TLSRoute}]}}
  - {name: mixed, port: 83, protocol: HTTP, allowedRoutes: {kinds: [{kind: TLSRoute}, {kind: HTTPRoute}]}}
  - {name: tls, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: x, namespace: b}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {namespace: a, name: part}
spec:
  parentRef: {name: g}
  listeners:
  - {name: l1, port: 80, protocol: HTTP, hostname: a.com}
  - {name: l2, port: 80, protocol: HTTP, hostname: b.com}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {namespace: a, name: void}
spec:
  parentRef: {name: g}
  listeners:
  - {name: m1, port: 80, protocol: HTTPS, hostname: c.com}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {namespace: a, name: kinds}
spec:
  parentRef: {name: g}
  listeners:
  - {name: k1, port: 85, protocol: HTTP, allowedRoutes: {kinds: [{kind: TLSRoute}, {kind: HTTPRoute}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {namespace: b, name: refused}
spec:
  parentRef: {name: g, namespace: a}
  listeners:
  - {name: m1, port: 84, protocol: HTTP}
---
`)
	s.writeReport()
	gw := s.getGateway()
	if got := conditionsText(gw.Status.Conditions); got != "Accepted=True/ListenersNotValid Programmed=True/Programmed" || *gw.Status.AttachedListenerSets != 2 {
		t.Errorf("conditions %s, %d sets", got, *gw.Status.AttachedListenerSets)
	}
	want := map[string]string{
		"web":   "Conflicted=False/NoConflicts Accepted=True/Accepted ResolvedRefs=True/ResolvedRefs Programmed=True/Programmed",
		"udp":   "Conflicted=False/NoConflicts Accepted=False/UnsupportedProtocol ResolvedRefs=True/ResolvedRefs Programmed=False/UnsupportedProtocol",
		"kinds": "Conflicted=False/NoConflicts Accepted=True/Accepted ResolvedRefs=False/InvalidRouteKinds Programmed=False/InvalidRouteKinds",
		"mixed": "Conflicted=False/NoConflicts Accepted=True/Accepted ResolvedRefs=False/InvalidRouteKinds Programmed=True/Programmed",
		"tls":   "Conflicted=False/NoConflicts Accepted=True/Accepted ResolvedRefs=False/RefNotPermitted Programmed=False/Invalid",
	}
	for _, l := range gw.Status.Listeners {
		if got := conditionsText(l.Conditions); got != want[string(l.Name)] {
			t.Errorf("listener %s: %s", l.Name, got)
		}
	}
	set := func(namespace, name string) string {
		x, _ := cluster.Get[*gwv1.ListenerSet](cluster.NewView(s.src), cluster.KindListenerSet, namespace, name)
		return fmt.Sprintf("%s %d", conditionsText(x.Status.Conditions), len(x.Status.Listeners))
	}
	for _, c := range [][3]string{
		{"a", "part", "Accepted=True/ListenersNotValid Programmed=True/Programmed 2"},
		{"a", "void", "Accepted=False/ListenersNotValid Programmed=False/ListenersNotValid 1"},
		{"a", "kinds", "Accepted=True/ListenersNotValid Programmed=True/Programmed 1"}, // it serves HTTPRoutes
		{"b", "refused", "Accepted=False/NotAllowed Programmed=False/NotAllowed 0"},
	} {
		if got := set(c[0], c[1]); got != c[2] {
			t.Errorf("set %s: %s", c[1], got)
		}
	}
	if n := s.writeReport(); n != 0 {
		t.Errorf("%d writes in a pass without a change", n)
	}
	s.editObject(cluster.KindGatewayClass, "", "alb", `{"spec": {"controllerName": "example.com/other"}}`)
	if n := s.writeReport(); n != 4 {
		t.Errorf("%d writes for a Gateway that has left", n)
	}
	if got := set("a", "part"); got != "Accepted=Unknown/Pending Programmed=Unknown/Pending 0" {
		t.Errorf("set part: %s", got)
	}
}

func TestGatewayConditions(t *testing.T) {
	gw := finding.Ref{Kind: "Gateway", Namespace: "a", Name: "g"}
	for _, c := range []struct {
		name   string
		change func(s *reportHarness)
		want   string
	}{
		{"provisioning", func(s *reportHarness) {
			s.outcome.LiveLoadBalancers = map[string]engine.LiveLoadBalancer{model.LoadBalancerID: {ARN: liveARN}}
		}, "Accepted=True/Accepted Programmed=Unknown/Pending"},
		{"no load balancer", func(s *reportHarness) {
			s.outcome.LiveLoadBalancers = nil
			s.outcome.Findings = finding.List{{Object: gw, Reason: finding.SubnetsNotFound, Severity: finding.Error, Message: "no subnet"}}
		}, "Accepted=True/Accepted Programmed=False/Invalid"},
		{"class broken", func(s *reportHarness) {
			s.outcome.LiveLoadBalancers, s.outcome.Stack.Held.AllResources = nil, true
			s.outcome.Findings = finding.List{{Object: gw, Reason: finding.GatewayClassInvalid, Severity: finding.Error, Blocks: finding.BlocksMember, Message: "no configuration"}}
		}, "Accepted=False/Invalid Programmed=False/Invalid"},
		{"configuration broken", func(s *reportHarness) {
			s.outcome.LiveLoadBalancers, s.outcome.Stack.Held.AllResources = nil, true
			s.outcome.Findings = finding.List{{Object: gw, Reason: finding.ParametersInvalid, Severity: finding.Error, Blocks: finding.BlocksMember, Message: "no configuration"}}
		}, "Accepted=False/InvalidParameters Programmed=False/Invalid"},
		{"address", func(s *reportHarness) {
			s.editObject(cluster.KindGateway, "a", "g", `{"spec": {"addresses": [{"type": "IPAddress", "value": "10.0.0.1"}]}}`)
		}, "Accepted=False/UnsupportedAddress Programmed=True/Programmed"},
		{"address to be chosen", func(s *reportHarness) {
			s.editObject(cluster.KindGateway, "a", "g", `{"spec": {"addresses": [{"type": "IPAddress"}]}}`)
		}, "Accepted=True/Accepted Programmed=True/Programmed"},
		{"no valid listener", func(s *reportHarness) {
			s.editObject(cluster.KindGateway, "a", "g", `{"spec": {"listeners": [{"name": "http", "port": 80, "protocol": "UDP"}]}}`)
		}, "Accepted=False/ListenersNotValid Programmed=True/Programmed"},
		{"certificate is imported", func(s *reportHarness) {
			s.editObject(cluster.KindGateway, "a", "g", `{"spec": {"listeners": [{"name": "https", "port": 443, "protocol": "HTTPS", "tls": {"certificateRefs": [{"name": "own"}]}}]}}`)
			step := plan.Step{Address: plan.Address{Kind: plan.Certificate, ID: "imported/a/own"}, Wait: plan.Wait{For: "its ARN"}}
			s.outcome.Plan = plan.Plan{Steps: []plan.Step{step}}
		}, "Accepted=True/Accepted Programmed=False/Pending"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newReportHarness(t, oneGatewayDocs)
			c.change(s)
			s.writeReport()
			if got := conditionsText(s.getGateway().Status.Conditions); got != c.want {
				t.Errorf("conditions %s", got)
			}
			if s.writeReport() != 0 {
				t.Error("a pass without a change writes")
			}
		})
	}
}

// TestProgrammedIsRetainedWhileAWSStateIsUnknown checks that condition Programmed and the address stay while AWS cannot be
// read, and while the desired state cannot be determined.
func TestProgrammedIsRetainedWhileAWSStateIsUnknown(t *testing.T) {
	gw := finding.Ref{Kind: "Gateway", Namespace: "a", Name: "g"}
	for name, change := range map[string]func(s *reportHarness){
		"failed": func(s *reportHarness) {
			s.outcome.LiveLoadBalancers, s.outcome.DNSNames, s.outcome.Err = nil, nil, fmt.Errorf("denied")
		},
		"blocked": func(s *reportHarness) {
			s.outcome.Stack.Held.AllResources = true
			s.outcome.Findings = finding.List{{Object: gw, Reason: finding.ParametersInvalid, Severity: finding.Error, Blocks: finding.BlocksMember, Message: "no configuration"}}
		},
	} {
		s := newReportHarness(t, oneGatewayDocs)
		s.writeReport()
		change(s)
		s.writeReport()
		st := s.getGateway().Status
		if c := findCondition(st.Conditions, "Programmed"); c.Status != metav1.ConditionTrue || c.Message != liveARN || len(st.Addresses) != 1 {
			t.Errorf("%s: %+v", name, st)
		}
		if got := conditionsText(st.Listeners[0].Conditions); !strings.HasSuffix(got, "Programmed=True/Programmed") {
			t.Errorf("%s: listener %s", name, got)
		}
	}
}

func TestDryRunShowsOnlyThePlan(t *testing.T) {
	s := newReportHarness(t, oneGatewayDocs)
	s.editObject(cluster.KindGateway, "a", "g", `{"metadata": {"annotations": {"gateway.k8s.aws/dry-run": "true"}}}`)
	stack, _ := s.frontend.Translate(cluster.NewView(s.src), gatewayStackID, nil)
	if !stack.DryRun || !stack.Describe {
		t.Fatalf("dry run %t, describe %t", stack.DryRun, stack.Describe)
	}
	s.outcome = engine.Outcome{ID: gatewayStackID, Stack: stack, Done: true, Document: &document.Document{ID: "a/g"}}
	if n := s.writeReport(); n != 1 || !slices.Equal(s.eventsAndAnnotations, []string{cluster.GatewayPlanAnnotation}) || !strings.HasPrefix(conditionsText(s.getGateway().Status.Conditions), "Accepted=Unknown") {
		t.Errorf("%d statuses, %v, conditions %v", n, s.eventsAndAnnotations, s.getGateway().Status.Conditions)
	}
	// The finalizer shows that a load balancer exists, so the dry-run annotation has no effect and the plan annotation
	// is removed.
	s.editObject(cluster.KindGateway, "a", "g", `{"metadata": {"finalizers": ["gateway.k8s.aws/alb"], "annotations": {"gateway.k8s.aws/dry-run-plan": "{}"}}}`)
	s.outcome.Stack, _ = s.frontend.Translate(cluster.NewView(s.src), gatewayStackID, nil)
	if s.writeReport(); s.outcome.Stack.DryRun || !slices.Contains(s.eventsAndAnnotations, cluster.GatewayPlanAnnotation) {
		t.Errorf("dry run %t, %v", s.outcome.Stack.DryRun, s.eventsAndAnnotations)
	}
}
