package e2e

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fulcrum-lb/fulcrum/internal/webhook/serving"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// renderings is where the tests of the chart keep what its values files render to.
const renderings = "../../charts/testdata/golden"

// chartAccount is the user of the chart's default service account.
const chartAccount = "system:serviceaccount:kube-system:aws-load-balancer-controller"

// TestChartUpgradesInPlace: a real API server accepts the change from what the chart of
// aws-load-balancer-controller has rendered to what this one does, and back, for each values file. Every object
// stays the same object.
func TestChartUpgradesInPlace(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a world")
	}
	w := worldtest.Start(t, world.Options{Cluster: "charts", Nodes: 1, WithoutAWS: true, GatewayAPI: "standard"})
	applier, err := manifest.NewApplier(w.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := manifest.Load("../../charts/fulcrum/crds", "testdata/chart/kinds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	apply := func(what string, objects []*unstructured.Unstructured) map[string]*unstructured.Unstructured {
		t.Helper()
		if err := applier.Apply(t.Context(), objects); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
		out := map[string]*unstructured.Unstructured{}
		for _, o := range objects {
			live, err := applier.Get(t.Context(), o)
			if err != nil {
				t.Fatalf("%s: %v", what, err)
			}
			out[manifest.Name(o)] = live
		}
		return out
	}
	apply("definitions", kinds)
	files, err := filepath.Glob(filepath.Join(renderings, "*.yaml"))
	if err != nil || len(files) < 11 {
		t.Fatalf("%d renderings, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		ours, err := manifest.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		theirs := asOtherChart(t, ours)
		before := apply(name+", before", theirs)
		during := apply(name+", upgraded", ours)
		after := apply(name+", rolled back", theirs)
		for _, key := range slices.Sorted(maps.Keys(before)) {
			if now := during[key]; now != nil && now.GetUID() != before[key].GetUID() || after[key].GetUID() != before[key].GetUID() {
				t.Errorf("%s: %s is another object after the upgrade", name, key)
			}
		}
		for _, key := range slices.Sorted(maps.Keys(during)) {
			if before[key] != nil && before[key].GetKind() == "Deployment" && during[key].GetGeneration() == before[key].GetGeneration() {
				t.Errorf("%s: the upgrade does not change %s", name, key)
			}
		}
		if err := applier.Delete(t.Context(), append(slices.Clone(theirs), ours...)); err != nil {
			t.Fatal(err)
		}
	}

	installed, err := manifest.Load(filepath.Join(renderings, "default.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	apply("installation", installed)
	certificateWithRightsOfChart(t, w)
}

// asOtherChart makes of a rendering what differs in one of aws-load-balancer-controller's chart 3.5.0, so that an
// upgrade has something to change. Names, selectors and types are the same by the contract that the chart's own
// tests check.
func asOtherChart(t *testing.T, ours []*unstructured.Unstructured) []*unstructured.Unstructured {
	t.Helper()
	set := func(u *unstructured.Unstructured, v any, path ...string) {
		t.Helper()
		if err := unstructured.SetNestedField(u.Object, v, path...); err != nil {
			t.Fatal(err)
		}
	}
	var out []*unstructured.Unstructured
	for _, o := range ours {
		u := o.DeepCopy()
		switch u.GetKind() {
		case "PrometheusRule", "NetworkPolicy", "ConfigMap", "GatewayClass":
			continue
		case "Role", "RoleBinding":
			if strings.Contains(u.GetName(), "webhook-certificate") {
				continue
			}
		}
		labels := u.GetLabels()
		if labels["helm.sh/chart"] != "" {
			labels["helm.sh/chart"] = "aws-load-balancer-controller-3.5.0"
		}
		labels["app.kubernetes.io/version"] = "v3.5.0"
		u.SetLabels(labels)
		switch u.GetKind() {
		case "Deployment":
			containers, _, err := unstructured.NestedSlice(u.Object, "spec", "template", "spec", "containers")
			if err != nil {
				t.Fatal(err)
			}
			c := containers[0].(map[string]any)
			c["image"] = "registry.example.com/aws-load-balancer-controller:v3.5.0"
			c["securityContext"] = map[string]any{"readOnlyRootFilesystem": true, "runAsNonRoot": true, "allowPrivilegeEscalation": false}
			c["volumeMounts"] = []any{map[string]any{"name": "cert", "mountPath": "/tmp/k8s-webhook-server/serving-certs", "readOnly": true}}
			set(u, containers, "spec", "template", "spec", "containers")
			set(u, []any{map[string]any{"name": "cert", "secret": map[string]any{"defaultMode": int64(420), "secretName": "aws-load-balancer-tls"}}}, "spec", "template", "spec", "volumes")
			set(u, map[string]any{"fsGroup": int64(65534)}, "spec", "template", "spec", "securityContext")
		case "ClusterRole":
			set(u, []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"services"}, "verbs": []any{"get", "list", "watch"}}}, "rules")
		case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
			hooks, _, err := unstructured.NestedSlice(u.Object, "webhooks")
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range hooks {
				delete(h.(map[string]any), "matchConditions")
			}
			set(u, hooks, "webhooks")
		}
		out = append(out, u)
	}
	return out
}

// certificateWithRightsOfChart: with the rights that the chart grants and no others, the self-made certificate is
// shared and trusted, and the match conditions name the right user from the start.
func certificateWithRightsOfChart(t *testing.T, w *world.World) {
	t.Helper()
	cfg := w.RESTConfig()
	cfg.Impersonate = rest.ImpersonationConfig{UserName: chartAccount, Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	own, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	conditions := func() string {
		t.Helper()
		v, err := w.Kube().AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "aws-load-balancer-webhook", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		out := ""
		for _, h := range v.Webhooks {
			out += fmt.Sprintln(h.Name, h.MatchConditions)
		}
		return out
	}
	before := conditions()
	keeper := &serving.Keeper{
		Secrets: own.CoreV1().Secrets("kube-system"), Hooks: own.AdmissionregistrationV1(), Namespace: "kube-system",
		Secret: "aws-load-balancer-tls", Service: "aws-load-balancer-webhook-service", Configuration: "aws-load-balancer-webhook",
		User: serving.Self(own.AuthenticationV1().SelfSubjectReviews()), Now: time.Now, Log: logr.Discard(),
	}
	// Rights take a moment to be known to the API server.
	eventually(t, "the bundle is in the webhook configuration", func() error {
		if err := keeper.Sync(t.Context()); err != nil {
			return err
		}
		v, err := w.Kube().AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "aws-load-balancer-webhook", metav1.GetOptions{})
		if err != nil {
			return err
		}
		m, err := w.Kube().AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "aws-load-balancer-webhook", metav1.GetOptions{})
		if err != nil {
			return err
		}
		bundles := [][]byte{}
		for _, h := range v.Webhooks {
			bundles = append(bundles, h.ClientConfig.CABundle)
		}
		for _, h := range m.Webhooks {
			bundles = append(bundles, h.ClientConfig.CABundle)
		}
		for _, b := range bundles {
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(b)
			if _, err := keeper.Certificate().Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "aws-load-balancer-webhook-service.kube-system.svc"}); err != nil {
				return err
			}
		}
		return nil
	})
	if after := conditions(); after != before {
		t.Errorf("the controller had to correct the match conditions of the chart:\n%s\n%s", before, after)
	}
}

// TestWebhooksOfChart: a real API server asks the controller through the webhook configurations of the chart.
func TestWebhooksOfChart(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a world")
	}
	dir := t.TempDir()
	ca := selfSigned(t, dir)
	w := worldtest.Start(t, world.Options{Cluster: "charthooks", Nodes: 1})
	port := openPort(t)
	if err := w.StartController(worldtest.Controller(t), "--webhook-cert-dir="+dir, fmt.Sprintf("--webhook-bind-port=%d", port)); err != nil {
		t.Fatal(err)
	}
	if err := w.ControllerReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	rendered, err := os.ReadFile(filepath.Join(renderings, "default.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifest.Parse(rendered)
	if err != nil {
		t.Fatal(err)
	}
	hooks := slices.DeleteFunc(objects, func(u *unstructured.Unstructured) bool {
		return !strings.HasSuffix(u.GetKind(), "WebhookConfiguration")
	})
	if len(hooks) != 2 {
		t.Fatalf("%d webhook configurations", len(hooks))
	}
	for _, h := range hooks {
		reachLocally(t, h, port, ca)
	}
	applier, err := manifest.NewApplier(w.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	if err := applier.Apply(t.Context(), hooks); err != nil {
		t.Fatal(err)
	}
	apply := func(doc string) error {
		t.Helper()
		o, err := manifest.Parse([]byte(doc))
		if err != nil {
			t.Fatal(err)
		}
		return applier.Apply(t.Context(), o)
	}
	eventually(t, "class parameters are denied", func() error {
		return deniedWith(apply(`{apiVersion: elbv2.k8s.aws/v1beta1, kind: IngressClassParams, metadata: {name: bad}, spec: {subnets: {}}}`), "spec.subnets: Required value")
	})
	if err := deniedWith(apply(`{apiVersion: elbv2.k8s.aws/v1beta1, kind: TargetGroupBinding, metadata: {name: a, namespace: default}, spec: {serviceRef: {name: web, port: 80}}}`), "targetGroupARN or targetGroupName"); err != nil {
		t.Error(err)
	}
	service, err := manifest.Parse([]byte(`{apiVersion: v1, kind: Service, metadata: {name: web, namespace: default}, spec: {type: LoadBalancer, ports: [{port: 80}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	if err := applier.Apply(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	live, err := applier.Get(t.Context(), service[0])
	if err != nil {
		t.Fatal(err)
	}
	if class, _, _ := unstructured.NestedString(live.Object, "spec", "loadBalancerClass"); class != "service.k8s.aws/nlb" {
		t.Errorf("a Service of type LoadBalancer has the class %q", class)
	}
	if bytes.Contains(rendered, []byte("caBundle")) {
		t.Error("the chart renders a bundle without a certificate")
	}
}
