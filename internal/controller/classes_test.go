package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/gateway-api/pkg/consts"

	gwconfig "github.com/fulcrum-lb/fulcrum/api/gateway/v1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
	"github.com/fulcrum-lb/fulcrum/internal/translate/gatewayclass"
)

const classDocs = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: plain}
spec: {controllerName: gateway.k8s.aws/alb}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: full, annotations: {elbv2.k8s.aws/last-processed-config: old}}
spec: {controllerName: gateway.fulcrum.dev/aws, parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, namespace: infra, name: lb}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: lost}
spec: {controllerName: gateway.k8s.aws/nlb, parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, namespace: infra, name: none}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: foreign-kind}
spec: {controllerName: gateway.k8s.aws/nlb, parametersRef: {group: "", kind: ConfigMap, namespace: infra, name: lb}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: homeless}
spec: {controllerName: gateway.k8s.aws/nlb, parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: lb}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: theirs}
spec: {controllerName: example.com/other}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: shop, name: gate}
spec:
  gatewayClassName: plain
  infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: own}}
  listeners: [{name: web, port: 80, protocol: HTTP}]
---
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {namespace: infra, name: lb}
spec: {defaultTargetGroupConfiguration: {name: targets}}
---
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {namespace: infra, name: targets}
---
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {namespace: shop, name: own}
---
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {namespace: shop, name: unused}
---
apiVersion: v1
kind: Service
metadata: {namespace: shop, name: web}
spec: {ports: [{port: 80}]}
---
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {namespace: shop, name: web}
spec: {targetReference: {name: web}}
---
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {namespace: shop, name: other}
spec: {targetReference: {name: other}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {namespace: shop, name: web}
spec:
  parentRefs: [{name: gate}]
  rules:
  - backendRefs: [{name: web, port: 80}]
    filters: [{type: ExtensionRef, extensionRef: {group: gateway.k8s.aws, kind: ListenerRuleConfiguration, name: login}}]
---
apiVersion: gateway.k8s.aws/v1
kind: ListenerRuleConfiguration
metadata: {namespace: shop, name: login}
spec:
  actions:
  - type: authenticate-oidc
    authenticateOIDCConfig: {issuer: i, authorizationEndpoint: a, tokenEndpoint: t, userInfoEndpoint: u, secret: {name: client}}
---
apiVersion: gateway.k8s.aws/v1
kind: ListenerRuleConfiguration
metadata: {namespace: shop, name: unused}
`

// classHarness runs a classReconciler with objects in memory.
type classHarness struct {
	*testing.T
	store      *cluster.Memory
	reconciler *classReconciler
	now        time.Time
	// versions are the versions of the Gateway API CRDs.
	versions *Versions
}

func newClassHarness(t *testing.T, gates string) *classHarness {
	t.Helper()
	w := &classHarness{T: t, now: time.Unix(1000, 0), versions: &Versions{}}
	w.versions.Set(map[string]string{"gatewayclasses.gateway.networking.k8s.io": consts.BundleVersion})
	store, err := cluster.MemoryFromYAML(testclock.FromVariable(&w.now), []byte(classDocs))
	if err != nil {
		t.Fatal(err)
	}
	w.store = store
	cfg := config.Default()
	if err := cfg.Gates.Set(gates); err != nil {
		t.Fatal(err)
	}
	cl := kube.New(&cluster.ReducedSource{Source: store}, kube.MemoryAPI{Store: store}, testclock.FromVariable(&w.now))
	w.reconciler = newClasses(cfg, cl, NewMetrics(), engine.NoFence{}, testclock.FromVariable(&w.now), w.versions)
	return w
}

// reconcileAll reconciles all objects until a round writes nothing, and returns the number of rounds that wrote.
func (w *classHarness) reconcileAll() (wrote int) {
	w.Helper()
	for ; wrote < 10; wrote++ {
		changed := false
		stop := w.store.Watch(func(_, _ cluster.Object) { changed = true })
		for _, kind := range gatewayclass.Kinds {
			for _, obj := range w.store.All(kind) {
				if _, err := w.reconciler.Reconcile(w.Context(), cluster.RefOf(obj)); err != nil {
					w.Fatal(err)
				}
			}
		}
		stop()
		w.now = w.now.Add(time.Minute)
		if !changed {
			return wrote
		}
	}
	w.Fatal("the objects are written again and again")
	return
}

func getObject[T cluster.Object](w *classHarness, kind cluster.Kind, namespace, name string) T {
	w.Helper()
	obj, ok := cluster.Get[T](cluster.NewView(w.store), kind, namespace, name)
	if !ok {
		w.Fatalf("%s %s/%s is gone", kind, namespace, name)
	}
	return obj
}

func (w *classHarness) checkFinalizers(kind cluster.Kind, namespace, name string, want ...string) {
	w.Helper()
	if got := getObject[cluster.Object](w, kind, namespace, name).GetFinalizers(); !slices.Equal(got, want) {
		w.Errorf("%s %s/%s has finalizers %v, want %v", kind, namespace, name, got, want)
	}
}

func (w *classHarness) deleteAndCheck(kind cluster.Kind, namespace, name string, goes bool) {
	w.Helper()
	ref := cluster.Ref{Kind: kind, Namespace: namespace, Name: name}
	if err := w.store.Delete(ref); err != nil {
		w.Fatal(err)
	}
	w.reconcileAll()
	if obj, _ := w.store.Get(ref); (obj == nil) != goes {
		w.Errorf("%s is gone: %t, want %t", ref, obj == nil, goes)
	}
}

func TestClassesAreAccepted(t *testing.T) {
	w := newClassHarness(t, "")
	if n := w.reconcileAll(); n == 0 {
		t.Error("nothing was written")
	}
	for name, c := range map[string]struct{ status, reason, message string }{
		"plain":        {"True", "Accepted", "Accepted"},
		"full":         {"True", "Accepted", "Accepted"},
		"lost":         {"False", "InvalidParameters", `"infra/none" does not exist`},
		"foreign-kind": {"False", "InvalidParameters", `kind "ConfigMap"`},
		"homeless":     {"False", "InvalidParameters", "has no namespace"},
	} {
		o := getObject[*gwv1.GatewayClass](w, cluster.KindGatewayClass, "", name)
		got := meta.FindStatusCondition(o.Status.Conditions, "Accepted")
		if string(got.Status) != c.status || got.Reason != c.reason || !strings.Contains(got.Message, c.message) || got.ObservedGeneration != 1 {
			t.Errorf("%s: %+v", name, got)
		}
		if !meta.IsStatusConditionTrue(o.Status.Conditions, "SupportedVersion") || len(o.Status.Conditions) != 2 {
			t.Errorf("%s: %+v", name, o.Status.Conditions)
		}
		w.checkFinalizers(cluster.KindGatewayClass, "", name, gatewayclass.ClassFinalizer)
		if f := o.Status.SupportedFeatures; !slices.IsSortedFunc(f, func(a, b gwv1.SupportedFeature) int { return strings.Compare(string(a.Name), string(b.Name)) }) || len(f) < 5 {
			t.Errorf("%s: %v", name, f)
		}
	}
	if o := getObject[*gwv1.GatewayClass](w, cluster.KindGatewayClass, "", "theirs"); len(o.Finalizers) > 0 || o.Status.Conditions[0].Reason != "Pending" {
		t.Errorf("%+v", o)
	}
	lb := getObject[cluster.Object](w, cluster.KindLoadBalancerConfiguration, "infra", "lb")
	tg := getObject[cluster.Object](w, cluster.KindTargetGroupConfiguration, "infra", "targets")
	full := getObject[*gwv1.GatewayClass](w, cluster.KindGatewayClass, "", "full")
	if got := full.Annotations[cluster.ProcessedConfigAnnotation]; got != lb.GetResourceVersion()+"-"+tg.GetResourceVersion() || full.Annotations[cluster.ProcessedConfigAtAnnotation] == "" {
		t.Errorf("%v", full.Annotations)
	}
	before := meta.FindStatusCondition(full.Status.Conditions, "Accepted").LastTransitionTime
	if n := w.reconcileAll(); n != 0 {
		t.Errorf("%d rounds wrote without a change", n)
	}

	// The missing LoadBalancerConfiguration is created. Conditions that do not change retain their transition time.
	l, err := cluster.LoadYAML([]byte("apiVersion: gateway.k8s.aws/v1\nkind: LoadBalancerConfiguration\nmetadata: {namespace: infra, name: none}\n"))
	if err == nil {
		err = w.store.Put(l.Objects...)
	}
	if err != nil {
		t.Fatal(err)
	}
	w.reconcileAll()
	lost := getObject[*gwv1.GatewayClass](w, cluster.KindGatewayClass, "", "lost")
	if got := meta.FindStatusCondition(lost.Status.Conditions, "Accepted"); got.Message != "Accepted" || !got.LastTransitionTime.After(before.Time) {
		t.Errorf("%+v", got)
	}
	full = getObject[*gwv1.GatewayClass](w, cluster.KindGatewayClass, "", "full")
	if at := meta.FindStatusCondition(full.Status.Conditions, "Accepted").LastTransitionTime; !at.Equal(&before) {
		t.Errorf("%s, want %s", at, before)
	}
}

func TestClassesOfDisabledFeaturesAreNotChanged(t *testing.T) {
	w := newClassHarness(t, "NLBGatewayAPI=false")
	w.reconcileAll()
	w.checkFinalizers(cluster.KindGatewayClass, "", "lost")
	full := getObject[*gwv1.GatewayClass](w, cluster.KindGatewayClass, "", "full")
	if slices.ContainsFunc(full.Status.SupportedFeatures, func(f gwv1.SupportedFeature) bool { return f.Name == "TCPRoute" }) {
		t.Errorf("%v", full.Status.SupportedFeatures)
	}
}

func TestConfigurationsInUseRetainTheirFinalizer(t *testing.T) {
	w := newClassHarness(t, "")
	w.reconcileAll()
	w.checkFinalizers(cluster.KindLoadBalancerConfiguration, "infra", "lb", gatewayclass.LoadBalancerFinalizer)
	w.checkFinalizers(cluster.KindLoadBalancerConfiguration, "shop", "own", gatewayclass.LoadBalancerFinalizer)
	w.checkFinalizers(cluster.KindLoadBalancerConfiguration, "shop", "unused")
	w.checkFinalizers(cluster.KindTargetGroupConfiguration, "infra", "targets", gatewayclass.TargetGroupFinalizer)
	w.checkFinalizers(cluster.KindTargetGroupConfiguration, "shop", "web", gatewayclass.TargetGroupFinalizer)
	w.checkFinalizers(cluster.KindTargetGroupConfiguration, "shop", "other")
	w.checkFinalizers(cluster.KindListenerRuleConfiguration, "shop", "login", gatewayclass.ListenerRuleFinalizer)
	w.checkFinalizers(cluster.KindListenerRuleConfiguration, "shop", "unused")
	of := func(kind cluster.Kind, namespace, name string) gwconfig.ConfigurationStatus {
		if kind == cluster.KindLoadBalancerConfiguration {
			return getObject[*gwconfig.LoadBalancerConfiguration](w, kind, namespace, name).Status
		}
		return getObject[*gwconfig.TargetGroupConfiguration](w, kind, namespace, name).Status
	}
	if s := of(cluster.KindLoadBalancerConfiguration, "infra", "lb"); s.ObservedGatewayConfigurationGeneration != nil || *s.ObservedGatewayClassConfigurationGeneration != 1 {
		t.Errorf("%+v", s)
	}
	if s := of(cluster.KindTargetGroupConfiguration, "shop", "web"); *s.ObservedGatewayConfigurationGeneration != 1 || s.ObservedGatewayClassConfigurationGeneration != nil {
		t.Errorf("%+v", s)
	}

	w.deleteAndCheck(cluster.KindLoadBalancerConfiguration, "shop", "own", false)
	w.deleteAndCheck(cluster.KindTargetGroupConfiguration, "shop", "web", false)
	w.deleteAndCheck(cluster.KindTargetGroupConfiguration, "infra", "targets", false)
	w.deleteAndCheck(cluster.KindListenerRuleConfiguration, "shop", "login", false)
	w.deleteAndCheck(cluster.KindGatewayClass, "", "plain", false)
	w.deleteAndCheck(cluster.KindGatewayClass, "", "full", true)
	for _, ref := range []cluster.Ref{{Kind: cluster.KindTargetGroupConfiguration, Namespace: "infra", Name: "targets"}} {
		if obj, _ := w.store.Get(ref); obj != nil {
			t.Errorf("%s is still there", ref)
		}
	}
	w.deleteAndCheck(cluster.KindHTTPRoute, "shop", "web", true)
	w.deleteAndCheck(cluster.KindGateway, "shop", "gate", true)
	for _, ref := range []cluster.Ref{
		{Kind: cluster.KindGatewayClass, Name: "plain"}, {Kind: cluster.KindLoadBalancerConfiguration, Namespace: "shop", Name: "own"},
		{Kind: cluster.KindTargetGroupConfiguration, Namespace: "shop", Name: "web"}, {Kind: cluster.KindListenerRuleConfiguration, Namespace: "shop", Name: "login"},
	} {
		if obj, _ := w.store.Get(ref); obj != nil {
			t.Errorf("%s is still there", ref)
		}
	}
}

func TestListenerRuleConfigurationsNeedTheirClientSecret(t *testing.T) {
	w := newClassHarness(t, "")
	w.reconciler.options.SecretKey, w.reconciler.options.SecretValue = "tls", "yes"
	status := func(accepted bool, message string) {
		t.Helper()
		w.reconcileAll()
		s := getObject[*gwconfig.ListenerRuleConfiguration](w, cluster.KindListenerRuleConfiguration, "shop", "login").Status
		if *s.Accepted != accepted || !strings.Contains(*s.Message, message) || *s.ObservedGeneration != 1 {
			t.Errorf("%t %s %d", *s.Accepted, *s.Message, *s.ObservedGeneration)
		}
	}
	put := func(labels string) {
		t.Helper()
		l, err := cluster.LoadYAML([]byte("apiVersion: v1\nkind: Secret\nmetadata: {namespace: shop, name: client, labels: {" + labels + "}}\nstringData: {clientSecret: word}\n"))
		if err == nil {
			err = w.store.Put(l.Objects...)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	status(false, `Secret "shop/client" does not exist`)
	if s := getObject[*gwconfig.ListenerRuleConfiguration](w, cluster.KindListenerRuleConfiguration, "shop", "unused").Status; !*s.Accepted {
		t.Errorf("%+v", s)
	}
	put("")
	status(false, "--required-secrets-label")
	put("tls: 'yes'")
	status(true, "Accepted")
}

// TestSupportedVersion checks that the condition SupportedVersion compares the versions of the CRDs with the supported
// versions, and is updated when the versions change.
func TestSupportedVersion(t *testing.T) {
	const crd = "gateways.gateway.networking.k8s.io"
	w := newClassHarness(t, "")
	for _, c := range []struct {
		versions               map[string]string
		status, reason, phrase string
	}{
		{map[string]string{crd: consts.BundleVersion}, "True", "SupportedVersion", "version of the Gateway API CRDs is supported"},
		{map[string]string{crd: "v1.99.0"}, "False", "UnsupportedVersion", `CRD gateways.gateway.networking.k8s.io has version "v1.99.0"`},
		{map[string]string{crd: "v1.4.1", "httproutes.gateway.networking.k8s.io": "v1.6.0"}, "True", "SupportedVersion", "version of the Gateway API CRDs is supported"},
		{map[string]string{crd: "v1.6.0", "httproutes.gateway.networking.k8s.io": ""}, "False", "UnsupportedVersion", `CRD httproutes.gateway.networking.k8s.io has version ""`},
		{map[string]string{crd: "v0.8.1"}, "False", "UnsupportedVersion", `version "v0.8.1"`},
		{map[string]string{crd: "v2.0.0"}, "False", "UnsupportedVersion", `version "v2.0.0"`},
		{map[string]string{crd: "main"}, "False", "UnsupportedVersion", `version "main"`},
		{nil, "Unknown", "Pending", "gateway-versions.yaml"},
		{map[string]string{crd: consts.BundleVersion}, "True", "SupportedVersion", "version of the Gateway API CRDs is supported"},
	} {
		w.versions.Set(c.versions)
		w.reconcileAll()
		o := getObject[*gwv1.GatewayClass](w, cluster.KindGatewayClass, "", "plain")
		got := meta.FindStatusCondition(o.Status.Conditions, "SupportedVersion")
		if string(got.Status) != c.status || got.Reason != c.reason || !strings.Contains(got.Message, c.phrase) {
			t.Errorf("%v: %+v", c.versions, got)
		}
		if !meta.IsStatusConditionTrue(o.Status.Conditions, "Accepted") {
			t.Errorf("%v: the class is not accepted", c.versions)
		}
	}
}

// TestListenerSetStatusIsNotWrittenRepeatedly checks that the controller clears the status of a ListenerSet at most six
// times per hour if another controller restores it after each time.
func TestListenerSetStatusIsNotWrittenRepeatedly(t *testing.T) {
	w := newClassHarness(t, "GatewayListenerSet=true")
	ref := cluster.Ref{Kind: cluster.KindListenerSet, Namespace: "shop", Name: "more"}
	theirs := &gwv1.ListenerSet{}
	theirs.Namespace, theirs.Name = ref.Namespace, ref.Name
	theirs.Spec.ParentRef.Name = "of-another-controller"
	for _, of := range []string{"Accepted", "Programmed"} {
		theirs.Status.Conditions = append(theirs.Status.Conditions, metav1.Condition{Type: of, Status: metav1.ConditionTrue, Reason: of, Message: of})
	}
	cleared := 0
	for end := w.now.Add(time.Hour); w.now.Before(end); w.now = w.now.Add(time.Second) {
		if err := w.store.Put(theirs.DeepCopy()); err != nil {
			t.Fatal(err)
		}
		next, err := w.reconciler.Reconcile(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		set := getObject[*gwv1.ListenerSet](w, ref.Kind, ref.Namespace, ref.Name)
		switch shown := set.Status.Conditions[0].Status == metav1.ConditionTrue; {
		case !shown:
			cleared++
		case next.After <= 0:
			t.Fatal("what is left now is never taken off")
		}
	}
	if cleared == 0 || cleared > 6 {
		t.Errorf("the status was taken off %d times in an hour", cleared)
	}
}
