package e2e

import (
	"bytes"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/webhook/serving"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/world"
	"github.com/fulcrum-lb/fulcrum/local/worldtest"
)

// goldenDir is the directory of the golden files of the chart's tests.
const goldenDir = "../../charts/testdata/golden"

// chartServiceAccountUser is the user name of the service account that the chart creates with its default values.
const chartServiceAccountUser = "system:serviceaccount:kube-system:aws-load-balancer-controller"

// TestChartUpgradesInPlace installs the chart of aws-load-balancer-controller with each values file. Then it upgrades the
// release to our chart, rolls it back and uninstalls it. The upgrade and the rollback must not replace an object, and the
// upgrade must not change the certificate of the webhooks. The uninstallation must not delete our CRDs.
func TestChartUpgradesInPlace(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a world")
	}
	w := worldtest.Start(t, world.Options{Cluster: "charts", Nodes: 1, WithoutAWS: true, GatewayAPI: "standard"})
	// The test only needs the API server. The other roles would start pods for each chart that is installed.
	for _, role := range []string{world.RoleControllerManager, world.RoleScheduler, world.RoleKwok, world.RoleAgent} {
		if err := w.Kill(role); err != nil {
			t.Fatal(err)
		}
	}
	applier, err := manifest.NewApplier(w.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	kinds, err := manifest.Load("testdata/chart/kinds.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := applier.Apply(t.Context(), kinds); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(goldenDir, "*.yaml"))
	if err != nil || len(files) < 11 {
		t.Fatalf("%d renderings, %v", len(files), err)
	}
	sh := newShell(t, w)
	secret := webhookSecret(t)
	for i, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		ours, err := manifest.Load(file)
		if err != nil {
			t.Fatal(err)
		}
		theirs := toOtherChart(t, ours, secret)
		r := &helmRelease{shell: sh, applier: applier, name: name, valuesFile: "charts/testdata/values/" + name + ".yaml"}
		// Helm 3, which installed most existing releases, merges on the client. Helm 4 upgrades a release with the
		// method of its installation, so the test uses both methods.
		how := "--server-side=" + strconv.FormatBool(i%2 == 1)
		before := r.runHelm("install "+r.writeChart(theirs, i == 0)+" "+how, theirs)
		during := r.runHelm("upgrade charts/fulcrum", append(slices.Clone(ours), secretsIn(theirs)...))
		after := r.runHelm("rollback", theirs)
		for _, key := range slices.Sorted(maps.Keys(before)) {
			was := before[key]
			if now := during[key]; now != nil && now.GetUID() != was.GetUID() || after[key].GetUID() != was.GetUID() {
				t.Errorf("%s: the upgrade or the rollback replaced %s", name, key)
			}
			if during[key] == nil && was.GetKind() != "Secret" {
				t.Errorf("%s: the upgrade removes %s", name, key)
			}
			switch was.GetKind() {
			case "Deployment":
				if during[key].GetGeneration() == was.GetGeneration() {
					t.Errorf("%s: the upgrade does not change %s", name, key)
				}
				if d := cmp.Diff(was.Object["spec"], after[key].Object["spec"]); d != "" {
					t.Errorf("%s: %s is not rolled back:\n%s", name, key, d)
				}
			case "Secret":
				if d := cmp.Diff(was.Object["data"], during[key].Object["data"]); d != "" {
					t.Errorf("%s: the certificate of the webhooks changes in the upgrade", name)
				}
			case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
				if d := cmp.Diff(caBundles(was), caBundles(during[key])); d != "" {
					t.Errorf("%s: the upgrade changes the CA bundles of the webhooks:\n%s", name, d)
				}
			}
		}
		r.runHelm("uninstall", nil)
		for _, o := range append(slices.Clone(theirs), ours...) {
			if live, err := applier.Get(t.Context(), o); err == nil && live.GetDeletionTimestamp() == nil {
				t.Errorf("%s: %s still exists after the uninstallation", name, manifest.KindAndName(o))
			}
		}
	}
	definitions, err := manifest.Load("../../charts/fulcrum/crds")
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range definitions {
		if live, err := applier.Get(t.Context(), d); err != nil || live.GetDeletionTimestamp() != nil {
			t.Errorf("%s does not exist after the uninstallation: %v", manifest.KindAndName(d), err)
		}
	}

	sh.mustRun("helm install aws-load-balancer-controller charts/fulcrum -n kube-system -f charts/testdata/values/default.yaml")
	checkCertificateWithChartRights(t, w)
	// The upgrade also works for objects that the controller has changed.
	sh.mustRun("helm upgrade aws-load-balancer-controller charts/fulcrum -n kube-system -f charts/testdata/values/irsa.yaml")
}

// helmRelease is the Helm release aws-load-balancer-controller with one values file. name is used in messages.
type helmRelease struct {
	*shell
	applier          *manifest.Applier
	name, valuesFile string
}

// runHelm runs a helm command (verb and arguments) for the release. It returns the current state of objects, by
// manifest.KindAndName, and fails the test if one of them does not exist.
func (r *helmRelease) runHelm(what string, objects []*unstructured.Unstructured) map[string]*unstructured.Unstructured {
	r.t.Helper()
	verb, rest, _ := strings.Cut(what, " ")
	command := "helm " + verb + " aws-load-balancer-controller " + rest + " -n kube-system"
	if verb == "install" || verb == "upgrade" {
		command += " -f " + r.valuesFile
	}
	if out, code := r.tryCommand(command); code != 0 {
		r.t.Fatalf("%s: %s: %s", r.name, command, out)
	}
	out := map[string]*unstructured.Unstructured{}
	for _, o := range objects {
		live, err := r.applier.Get(r.t.Context(), o)
		if err != nil {
			r.t.Fatalf("%s: after %s: %v", r.name, verb, err)
		}
		out[manifest.KindAndName(o)] = live
	}
	return out
}

// writeChart writes a chart that renders to objects, whatever the values, and returns its directory. If definitions is true,
// the chart also contains the CRDs of our chart.
func (r *helmRelease) writeChart(objects []*unstructured.Unstructured, definitions bool) string {
	r.t.Helper()
	dir := filepath.Join(r.t.TempDir(), "aws-load-balancer-controller")
	r.requireNoError(os.MkdirAll(filepath.Join(dir, "templates"), 0o700))
	if definitions {
		r.requireNoError(os.CopyFS(filepath.Join(dir, "crds"), os.DirFS("../../charts/fulcrum/crds")))
	}
	r.requireNoError(os.WriteFile(filepath.Join(dir, "Chart.yaml"), []byte("{apiVersion: v2, name: aws-load-balancer-controller, version: 3.5.0, appVersion: v3.5.0}\n"), 0o600))
	var text bytes.Buffer
	for _, o := range objects {
		b, err := json.Marshal(o)
		r.requireNoError(err)
		if bytes.Contains(b, []byte("{{")) {
			r.t.Fatalf("%s contains {{, which Helm would interpret as a template", manifest.KindAndName(o))
		}
		fmt.Fprintf(&text, "---\n%s\n", b)
	}
	r.requireNoError(os.WriteFile(filepath.Join(dir, "templates", "all.yaml"), text.Bytes(), 0o600))
	return dir
}

// webhookSecret returns a Secret like the one that the other chart creates for the certificate of the webhooks if the
// values contain no certificate. The Secret has no name yet.
func webhookSecret(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	dir := t.TempDir()
	data := map[string]any{"ca.crt": base64.StdEncoding.EncodeToString(writeLocalhostCertificate(t, dir))}
	for _, name := range []string{"tls.crt", "tls.key"} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		data[name] = base64.StdEncoding.EncodeToString(b)
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "type": "kubernetes.io/tls", "data": data,
		"metadata": map[string]any{"namespace": "kube-system"},
	}}
}

func secretsIn(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(u *unstructured.Unstructured) bool { return u.GetKind() != "Secret" })
}

// caBundles returns the CA bundles in a webhook configuration, by name of the webhook.
func caBundles(configuration *unstructured.Unstructured) map[string]any {
	out := map[string]any{}
	hooks, _, _ := unstructured.NestedSlice(configuration.Object, "webhooks")
	for _, h := range hooks {
		m, _ := h.(map[string]any)
		client, _ := m["clientConfig"].(map[string]any)
		out[fmt.Sprint(m["name"])] = client["caBundle"]
	}
	return out
}

// toOtherChart returns objects like those that version 3.5.0 of the chart of aws-load-balancer-controller renders with the
// same values. It copies the objects that our chart renders, and changes them. Names, selectors and types stay the same, as
// they are in the real chart; the tests of the chart check that. If ours contains no Secret or Certificate for the webhooks,
// a copy of secret is added.
func toOtherChart(t *testing.T, ours []*unstructured.Unstructured, secret *unstructured.Unstructured) []*unstructured.Unstructured {
	t.Helper()
	set := func(u *unstructured.Unstructured, v any, path ...string) {
		t.Helper()
		if err := unstructured.SetNestedField(u.Object, v, path...); err != nil {
			t.Fatal(err)
		}
	}
	prefix, given := "", false
	for _, o := range ours {
		switch o.GetKind() {
		case "ValidatingWebhookConfiguration":
			prefix = strings.TrimSuffix(o.GetName(), "-webhook")
		case "Secret", "Certificate":
			given = true
		}
	}
	var out []*unstructured.Unstructured
	var bundle any
	if !given {
		secret = secret.DeepCopy()
		secret.SetName(prefix + "-tls")
		bundle, _, _ = unstructured.NestedFieldNoCopy(secret.Object, "data", "ca.crt")
		out = append(out, secret)
	}
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
			set(u, []any{map[string]any{"name": "cert", "secret": map[string]any{"defaultMode": int64(420), "secretName": prefix + "-tls"}}}, "spec", "template", "spec", "volumes")
			set(u, map[string]any{"fsGroup": int64(65534)}, "spec", "template", "spec", "securityContext")
		case "ClusterRole":
			set(u, []any{map[string]any{"apiGroups": []any{""}, "resources": []any{"services"}, "verbs": []any{"get", "list", "watch"}}}, "rules")
		case "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration":
			hooks, _, err := unstructured.NestedSlice(u.Object, "webhooks")
			if err != nil {
				t.Fatal(err)
			}
			for _, h := range hooks {
				m := h.(map[string]any)
				delete(m, "matchConditions")
				if !given {
					m["clientConfig"].(map[string]any)["caBundle"] = bundle
				}
			}
			set(u, hooks, "webhooks")
		}
		out = append(out, u)
	}
	return out
}

// checkCertificateWithChartRights checks that the permissions in the chart are sufficient to share the generated certificate
// and to make the API server trust it. It also checks that the match conditions in the chart name the user of the
// controller, so the controller does not have to correct them.
func checkCertificateWithChartRights(t *testing.T, w *world.World) {
	t.Helper()
	cfg := w.RESTConfig()
	cfg.Impersonate = rest.ImpersonationConfig{UserName: chartServiceAccountUser, Groups: []string{"system:serviceaccounts", "system:authenticated"}}
	own, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	conditions := func() string {
		t.Helper()
		v, err := w.KubeClient().AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "aws-load-balancer-webhook", metav1.GetOptions{})
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
	keeper := &serving.CertificateKeeper{
		Secrets: own.CoreV1().Secrets("kube-system"), Hooks: own.AdmissionregistrationV1(), Namespace: "kube-system",
		Secret: "aws-load-balancer-tls", Service: "aws-load-balancer-webhook-service", Configuration: "aws-load-balancer-webhook",
		SelfSubjectReviews: own.AuthenticationV1().SelfSubjectReviews(), Clock: clock.RealClock{}, Log: logr.Discard(),
	}
	// The API server applies new roles after a moment.
	eventually(t, "the bundle is in the webhook configuration", func() error {
		if err := keeper.Sync(t.Context()); err != nil {
			return err
		}
		v, err := w.KubeClient().AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "aws-load-balancer-webhook", metav1.GetOptions{})
		if err != nil {
			return err
		}
		m, err := w.KubeClient().AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "aws-load-balancer-webhook", metav1.GetOptions{})
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

// TestWebhooksOfChart checks that a real API server calls the webhooks of the controller if the webhook configurations of
// the chart are applied.
func TestWebhooksOfChart(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a world")
	}
	dir := t.TempDir()
	ca := writeLocalhostCertificate(t, dir)
	w := worldPool.AcquireForTest(t, world.Options{})
	port := w.WebhookPort()
	if err := w.StartController(worldtest.ControllerPath(t), "--webhook-cert-dir="+dir); err != nil {
		t.Fatal(err)
	}
	if err := w.AwaitControllerReady(t.Context()); err != nil {
		t.Fatal(err)
	}
	rendered, err := os.ReadFile(filepath.Join(goldenDir, "default.yaml"))
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
		useLocalWebhooks(t, h, port, ca)
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
		return checkDenied(apply(`{apiVersion: elbv2.k8s.aws/v1beta1, kind: IngressClassParams, metadata: {name: bad}, spec: {subnets: {}}}`), "spec.subnets: Required value")
	})
	if err := checkDenied(apply(`{apiVersion: elbv2.k8s.aws/v1beta1, kind: TargetGroupBinding, metadata: {name: a, namespace: default}, spec: {serviceRef: {name: web, port: 80}}}`), "targetGroupARN or targetGroupName"); err != nil {
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
	if err := applier.Delete(t.Context(), service); err != nil {
		t.Error(err)
	}
	if bytes.Contains(rendered, []byte("caBundle")) {
		t.Error("the chart sets caBundle, but the values contain no certificate")
	}
}
