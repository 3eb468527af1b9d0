package cluster

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// TestUnusedFieldsOfGatewayKindsAreNoEvent checks, for the optional kinds, such as those of the Gateway API, that a change
// of a field that the controller reads counts as a change of content after Reduce. A change of any other field does not.
func TestUnusedFieldsOfGatewayKindsAreNoEvent(t *testing.T) {
	set := func(key string) func(Object) {
		return func(o Object) { o.SetAnnotations(map[string]string{key: "v"}) }
	}
	for _, typ := range Types() {
		if !typ.Optional() {
			continue
		}
		read := map[string]func(Object){"generation": func(o Object) { o.SetGeneration(2) }, "finalizer": func(o Object) { o.SetFinalizers([]string{"x"}) }}
		unavailable := map[string]func(Object){
			"label": func(o Object) { o.SetLabels(map[string]string{"a": "b"}) }, "annotation": set("a/b"),
			"owner":          func(o Object) { o.SetOwnerReferences([]metav1.OwnerReference{{UID: "u"}}) },
			"managed fields": func(o Object) { o.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "m"}}) },
		}
		switch typ.Kind {
		case KindGateway:
			read["dry run"], read["add-on"] = set(naming.DryRunAnnotation), set(AddonAnnotationPrefix+"shield")
			read["status"] = func(o Object) {
				o.(*gwv1.Gateway).Status.Addresses = []gwv1.GatewayStatusAddress{{Value: "x"}}
			}
			unavailable["plan"] = set(GatewayPlanAnnotation)
		case KindGatewayClass:
			read["configuration"] = set(ProcessedConfigAnnotation)
		}
		for want, changes := range map[bool]map[string]func(Object){true: read, false: unavailable} {
			for what, change := range changes {
				a, b := typ.New(), typ.New()
				for i, o := range []Object{a, b} {
					o.SetName("x")
					o.SetResourceVersion([]string{"1", "2"}[i])
				}
				change(b)
				a, b = Reduce(a, ""), Reduce(b, "")
				if got := !SameContent(a, b); got != want {
					t.Errorf("%s: a change of the %s is an event: %t", typ.Kind, what, got)
				}
				if d := cmp.Diff(b, Reduce(b.DeepCopyObject().(Object), "")); d != "" {
					t.Errorf("%s: reduced twice:\n%s", typ.Kind, d)
				}
			}
		}
	}
}

const gatewayDocs = `
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: infra, name: gate, finalizers: [gateway.k8s.aws/alb, others/x]}
spec:
  gatewayClassName: alb
  listeners:
  - {name: web, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: cert}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {namespace: shop, name: web}
spec:
  parentRefs: [{name: gate, namespace: infra}]
  rules: [{backendRefs: [{name: web, port: 80}]}, {matches: [], filters: [{type: RequestRedirect, requestRedirect: {scheme: https}}]}]
---
apiVersion: gateway.k8s.aws/v1
kind: ListenerRuleConfiguration
metadata: {namespace: shop, name: rule}
spec: {actions: [{type: fixed-response, fixedResponseConfig: {statusCode: 404}}]}
`

func TestSchemaDefaultsAreSet(t *testing.T) {
	m, err := MemoryFromYAML(nil, []byte(gatewayDocs))
	if err != nil {
		t.Fatal(err)
	}
	v := NewView(m)
	gw, _ := Get[*gwv1.Gateway](v, KindGateway, "infra", "gate")
	l := gw.Spec.Listeners[0]
	if *l.AllowedRoutes.Namespaces.From != gwv1.NamespacesFromSame || *l.TLS.Mode != gwv1.TLSModeTerminate || *l.TLS.CertificateRefs[0].Kind != "Secret" {
		t.Errorf("%+v", l)
	}
	if len(gw.Status.Conditions) != 2 || gw.Status.Conditions[0].Status != metav1.ConditionUnknown {
		t.Errorf("%+v", gw.Status.Conditions)
	}
	route, _ := Get[*gwv1.HTTPRoute](v, KindHTTPRoute, "shop", "web")
	if *route.Spec.ParentRefs[0].Kind != "Gateway" || *route.Spec.Rules[0].Matches[0].Path.Value != "/" || len(route.Spec.Rules[1].Matches) != 0 ||
		*route.Spec.Rules[1].Filters[0].RequestRedirect.StatusCode != 302 {
		t.Errorf("%+v", route.Spec)
	}
}

func TestClearedStatusOfAGateway(t *testing.T) {
	m, err := MemoryFromYAML(clocktesting.NewFakePassiveClock(time.Unix(100, 0)), []byte(gatewayDocs))
	if err != nil {
		t.Fatal(err)
	}
	get := func() *gwv1.Gateway {
		gw, _ := Get[*gwv1.Gateway](NewView(m), KindGateway, "infra", "gate")
		return gw
	}
	if ClearedStatus(get(), naming.ALBGatewayFinalizer) != nil {
		t.Error("ClearedStatus returned a status, although there is nothing to clear")
	}
	patch := func(fields any) {
		data, err := json.Marshal(map[string]any{"status": fields})
		if err == nil {
			_, err = m.Patch(get(), StatusPart, types.MergePatchType, data)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	was := get()
	shown := was.DeepCopy().Status
	shown.Addresses = []gwv1.GatewayStatusAddress{{Value: "name"}}
	shown.Listeners = []gwv1.ListenerStatus{{Name: "web", Conditions: []metav1.Condition{}}}
	shown.Conditions[0].Status = metav1.ConditionTrue
	shown.Conditions = append(shown.Conditions, metav1.Condition{Type: "Theirs"})
	patch(shown)
	if gw := get(); gw.Generation != 1 || SameContent(was, gw) || len(StatusOf(gw).(*gwv1.GatewayStatus).Conditions) != 3 {
		t.Errorf("%+v", gw)
	}
	patch(ClearedStatus(get(), naming.ALBGatewayFinalizer))
	want := was.Status
	want.Conditions = append(want.Conditions, metav1.Condition{Type: "Theirs"})
	if d := cmp.Diff(want, get().Status); d != "" {
		t.Error(d)
	}
	patch(shown)
	both := get().DeepCopy()
	both.Finalizers = append(both.Finalizers, naming.NLBGatewayFinalizer)
	if ClearedStatus(both, naming.ALBGatewayFinalizer) != nil {
		t.Error("ClearedStatus would clear the status of the other load balancer")
	}
}
