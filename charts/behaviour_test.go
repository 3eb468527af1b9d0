package charts

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	networkingv1 "k8s.io/api/networking/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/fake"
	"k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
	"sigs.k8s.io/yaml"
)

// convertTo converts a rendered object to its Go type. A field that the type does not have is an error.
func convertTo[T any](t *testing.T, u *unstructured.Unstructured) *T {
	t.Helper()
	out := new(T)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(u.Object, out, true); err != nil {
		t.Fatalf("%s %s: %v", u.GetKind(), u.GetName(), err)
	}
	return out
}

// renderValues renders the chart with values, which are YAML, and returns the objects. The default cluster name is "shop".
func renderValues(t *testing.T, values string, o renderOptions) []*unstructured.Unstructured {
	t.Helper()
	v := parseValues(t, values)
	if v["clusterName"] == nil {
		v["clusterName"] = "shop"
	}
	return parseObjects(t, render(t, v, o))
}

func hasKind(all []*unstructured.Unstructured, kind string) bool {
	return slices.ContainsFunc(all, func(u *unstructured.Unstructured) bool { return u.GetKind() == kind })
}

// TestPodsAreRestricted checks that the pods of each values file meet level "restricted" of the Pod Security Standards. It
// skips values files that set hostNetwork, which this level forbids.
func TestPodsAreRestricted(t *testing.T) {
	checks, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range valuesFiles(t) {
		d := convertTo[appsv1.Deployment](t, findObject(t, parseObjects(t, render(t, readValues(t, name), renderOptions{})), "Deployment", ""))
		if d.Spec.Template.Spec.HostNetwork {
			continue // set by the values
		}
		for _, r := range checks.EvaluatePod(api.LevelVersion{Level: api.LevelRestricted, Version: api.LatestVersion()}, &d.Spec.Template.ObjectMeta, &d.Spec.Template.Spec) {
			if !r.Allowed {
				t.Errorf("%s: %s: %s", name, r.ForbiddenReason, r.ForbiddenDetail)
			}
		}
	}
}

// TestObjectsHaveReleaseLabels checks that every object has the labels of the release. It has the labels of Helm unless the
// value "creator" names another creator.
func TestObjectsHaveReleaseLabels(t *testing.T) {
	for _, name := range valuesFiles(t) {
		values := readValues(t, name)
		for _, u := range parseObjects(t, render(t, values, renderOptions{})) {
			l := u.GetLabels()
			helm := values["creator"] == nil
			if l["app.kubernetes.io/instance"] != releaseName || l["app.kubernetes.io/version"] == "" || l["app.kubernetes.io/name"] == "" {
				t.Errorf("%s: %s %s: the labels are %v", name, u.GetKind(), u.GetName(), l)
			}
			if (l["app.kubernetes.io/managed-by"] == "Helm") != helm || (l["helm.sh/chart"] != "") != helm {
				t.Errorf("%s: %s %s: the labels of Helm are %v", name, u.GetKind(), u.GetName(), l)
			}
		}
	}
}

// TestNamesDeriveFromReleaseName checks that the names of objects are derived from the release name as in the chart of
// aws-load-balancer-controller.
func TestNamesDeriveFromReleaseName(t *testing.T) {
	for want, o := range map[string]struct{ release, values string }{
		"lbs-aws-load-balancer-controller": {"lbs", ""},
		"my-aws-load-balancer-controller":  {"my-aws-load-balancer-controller", ""},
		"edge":                             {"lbs", "{fullnameOverride: edge}"},
		"lbs-lbc":                          {"lbs", "{nameOverride: lbc}"},
		"lbc-1":                            {"lbc-1", "{nameOverride: lbc}"},
		strings.Repeat("a", 60) + "-aw":    {strings.Repeat("a", 60), ""},
		strings.Repeat("b", 62):            {"lbs", "{fullnameOverride: " + strings.Repeat("b", 62) + "-c}"},
	} {
		all := renderValues(t, o.values, renderOptions{release: o.release})
		d := findObject(t, all, "Deployment", "")
		if d.GetName() != want || findObject(t, all, "ServiceAccount", "").GetName() != want {
			t.Errorf("%v: the Deployment is %s, not %s", o, d.GetName(), want)
		}
		if got := fieldAt[string](t, d.Object, "spec", "selector", "matchLabels", "app.kubernetes.io/instance"); got != o.release {
			t.Errorf("%v: the selector has the instance %s", o, got)
		}
	}
	long := renderValues(t, "{nameOverride: "+strings.Repeat("n", 50)+"}", renderOptions{})
	if name := findObject(t, long, "Service", "").GetName(); name != strings.Repeat("n", 42)+"-webhook-service" {
		t.Errorf("the Service of the webhooks is %s", name)
	}
}

// TestOldKubernetesGetsOnlyKnownObjects checks that the HorizontalPodAutoscaler has API version autoscaling/v2beta2 for
// Kubernetes 1.22, and that webhooks have match conditions only from Kubernetes 1.28.
func TestOldKubernetesGetsOnlyKnownObjects(t *testing.T) {
	old := renderValues(t, "{autoscaling: {enabled: true}}", renderOptions{kubernetes: "v1.22.17"})
	if v := findObject(t, old, "HorizontalPodAutoscaler", "").GetAPIVersion(); v != "autoscaling/v2beta2" {
		t.Errorf("the HorizontalPodAutoscaler has the version %s", v)
	}
	for _, version := range []string{"v1.22.17", "v1.27.9", "v1.28.0-eks-1234567", "v1.37.0"} {
		conditions := 0
		for _, w := range convertTo[admissionv1.ValidatingWebhookConfiguration](t, findObject(t, renderValues(t, "{}", renderOptions{kubernetes: version}), "ValidatingWebhookConfiguration", "")).Webhooks {
			conditions += len(w.MatchConditions)
		}
		if (conditions > 0) != (version >= "v1.28") {
			t.Errorf("%s: %d match conditions", version, conditions)
		}
	}
}

// TestMetricsAddressIsRendered checks that the address "0" removes the container port, the pod annotations and the
// ServiceMonitor of metrics, and their port in the NetworkPolicy. For other addresses, the chart renders the port of the address.
func TestMetricsAddressIsRendered(t *testing.T) {
	off := renderValues(t, `{metricsBindAddr: "0", serviceMonitor: {enabled: true}, networkPolicy: {enabled: true}}`, renderOptions{})
	d := convertTo[appsv1.Deployment](t, findObject(t, off, "Deployment", ""))
	if len(d.Spec.Template.Spec.Containers[0].Ports) != 1 || len(d.Spec.Template.Annotations) > 0 || hasKind(off, "ServiceMonitor") {
		t.Errorf("without metrics there are ports %v and annotations %v", d.Spec.Template.Spec.Containers[0].Ports, d.Spec.Template.Annotations)
	}
	if ports := policyPorts(t, off); strings.Contains(ports, "8080") || !strings.Contains(ports, "9443") {
		t.Errorf("without metrics the NetworkPolicy allows the ports %s", ports)
	}
	if ports := policyPorts(t, renderValues(t, "{networkPolicy: {enabled: true}}", renderOptions{})); !strings.Contains(ports, "8080") {
		t.Errorf("with metrics the NetworkPolicy allows the ports %s", ports)
	}
	for address, port := range map[string]string{":8081": "8081", "[::1]:9": "9", "10.0.0.1:80": "80", "": "8080"} {
		d := convertTo[appsv1.Deployment](t, findObject(t, renderValues(t, fmt.Sprintf("{metricsBindAddr: %q}", address), renderOptions{}), "Deployment", ""))
		if got := d.Spec.Template.Annotations["prometheus.io/port"]; got != port || fmt.Sprint(d.Spec.Template.Spec.Containers[0].Ports[1].ContainerPort) != port {
			t.Errorf("%q: the port is %s", address, got)
		}
	}
}

// policyPorts returns the ports that the rendered NetworkPolicy allows for incoming connections.
func policyPorts(t *testing.T, all []*unstructured.Unstructured) string {
	t.Helper()
	var out []string
	for _, in := range convertTo[networkingv1.NetworkPolicy](t, findObject(t, all, "NetworkPolicy", "")).Spec.Ingress {
		for _, p := range in.Ports {
			out = append(out, p.Port.String())
		}
	}
	return strings.Join(out, " ")
}

// TestDisruptionBudgetNeedsTwoReplicas checks that a PodDisruptionBudget is rendered only if there are always at least two
// replicas. With one replica it would block node drains.
func TestDisruptionBudgetNeedsTwoReplicas(t *testing.T) {
	for values, want := range map[string]bool{
		"{podDisruptionBudget: {maxUnavailable: 1}}":                                                                true,
		"{podDisruptionBudget: {maxUnavailable: 1}, replicaCount: 1}":                                               false,
		"{podDisruptionBudget: {maxUnavailable: 1}, replicaCount: 1, autoscaling: {enabled: true, minReplicas: 2}}": true,
		"{podDisruptionBudget: {maxUnavailable: 1}, replicaCount: 2, autoscaling: {enabled: true, minReplicas: 1}}": false,
		"{}": false,
	} {
		if got := hasKind(renderValues(t, values, renderOptions{}), "PodDisruptionBudget"); got != want {
			t.Errorf("%s: PodDisruptionBudget rendered: %v", values, got)
		}
	}
}

// TestValuesMayBeText checks that a map or a list may also be given as a string with commas, and a number or a boolean as a
// string. Both forms render the same Deployment.
func TestValuesMayBeText(t *testing.T) {
	for a, b := range map[string]string{
		"{serviceTargetENISGTags: {b: c, a: d}}":                      `{serviceTargetENISGTags: "a=d,b=c"}`,
		"{awsApiEndpoints: {EC2: 'https://a'}}":                       "{awsApiEndpoints: EC2=https://a}",
		"{awsApiThrottle: ['ACM:.*=1:2', 'EC2:.*=3:4']}":              "{awsApiThrottle: 'ACM:.*=1:2,EC2:.*=3:4'}",
		"{certDiscovery: {allowedCertificateAuthorityARNs: [a, b]}}":  "{certDiscovery: {allowedCertificateAuthorityARNs: 'a,b'}}",
		"{maxTargetsPerTargetGroup: 1000000}":                         `{maxTargetsPerTargetGroup: "1000000"}`,
		"{controllerConfig: {featureGates: {ALBSingleSubnet: true}}}": `{controllerConfig: {featureGates: {ALBSingleSubnet: "true"}}}`,
		"{drift: off}":                    `{drift: "off"}`,
		"{webhooks: off}":                 `{webhooks: "off"}`,
		"{extraArgs: {log-level: debug}}": "{extraArgs: [--log-level=debug]}",
	} {
		x, y := findObject(t, renderValues(t, a, renderOptions{}), "Deployment", ""), findObject(t, renderValues(t, b, renderOptions{}), "Deployment", "")
		if d := cmp.Diff(x.Object, y.Object); d != "" {
			t.Errorf("%s and %s differ:\n%s", a, b, d)
		}
	}
}

// TestValuesReachTheController checks that the controller parses the rendered flags to the texts and numbers of the values.
func TestValuesReachTheController(t *testing.T) {
	for values, want := range map[string]map[string]string{
		"{defaultTags: {version: 1.2, small: 0.5}}":                          {"version": "1.2", "small": "0.5"},
		"{defaultTags: {account: 123456789012, big: 100000000000000000000}}": {"account": "123456789012", "big": "100000000000000000000"},
		"{defaultTags: {owners: 'a, b'}}":                                    {"owners": "a, b"},
		"{defaultTags: {query: 'a=b, \"c\"=d'}}":                             {"query": `a=b, "c"=d`},
		"{defaultTags: {query: 'a=b,c', owners: 'a'}}":                       {"query": "a=b,c", "owners": "a"},
	} {
		v := parseValues(t, values)
		v["clusterName"] = "shop"
		c, err := parseArguments(renderedArguments(t, v))
		if d := cmp.Diff(want, c.Defaults.Tags); d != "" || err != nil {
			t.Errorf("%s: %v (-want +got):\n%s", values, err, d)
		}
	}
	d := convertTo[appsv1.Deployment](t, findObject(t, renderValues(t, "{env: {RATIO: 0.25, COUNT: 3}}", renderOptions{}), "Deployment", ""))
	if env := d.Spec.Template.Spec.Containers[0].Env; len(env) != 2 || env[0].Value != "3" || env[1].Value != "0.25" {
		t.Errorf("the environment is %v", env)
	}
}

// TestWebhooksCanBeDisabled checks that the chart has no webhook configurations if webhooks are off, because the
// API server must not call webhooks that are not served.
func TestWebhooksCanBeDisabled(t *testing.T) {
	for _, values := range []string{"{webhooks: off}", `{webhooks: "off"}`, "{webhooks: false}"} {
		all := renderValues(t, values, renderOptions{})
		if hasKind(all, "MutatingWebhookConfiguration") || hasKind(all, "ValidatingWebhookConfiguration") {
			t.Errorf("%s: there are webhook configurations", values)
		}
		if args := renderedArguments(t, map[string]any{"clusterName": "shop", "webhooks": parseValues(t, values)["webhooks"]}); !slices.Contains(args, "--webhooks=off") {
			t.Errorf("%s: the arguments are %v", values, args)
		}
	}
	if args := renderedArguments(t, map[string]any{"clusterName": "shop", "drift": false}); !slices.Contains(args, "--drift=off") {
		t.Errorf("drift: false does not set --drift=off: %v", args)
	}
}

// lookupClient returns objects in memory for calls of the template function "lookup".
type lookupClient struct{ dynamic.Interface }

func (c lookupClient) GetClientFor(version, kind string) (dynamic.NamespaceableResourceInterface, bool, error) {
	gv, err := schema.ParseGroupVersion(version)
	return c.Resource(gv.WithResource(strings.ToLower(kind) + "s")), true, err
}

// TestWebhookCertificateSource checks where the certificate of the webhooks comes from: the values, an existing Secret,
// cert-manager or the controller.
func TestWebhookCertificateSource(t *testing.T) {
	encoded := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	secret := func(labels, annotations map[string]string) *unstructured.Unstructured {
		u := &unstructured.Unstructured{Object: map[string]any{
			"apiVersion": "v1", "kind": "Secret",
			"metadata": map[string]any{"name": "aws-load-balancer-tls", "namespace": releaseNamespace},
			"data":     map[string]any{"ca.crt": encoded("authority"), "tls.crt": encoded("certificate"), "tls.key": encoded("secret-key")},
		}}
		u.SetLabels(labels)
		u.SetAnnotations(annotations)
		return u
	}
	ofHelm := map[string]string{"meta.helm.sh/release-name": releaseName}
	for name, c := range map[string]struct {
		found                      *unstructured.Unstructured
		values                     string
		rendered, mounted, trusted bool
	}{
		"first installation":             {nil, "{}", false, false, false},
		"of the other chart":             {secret(map[string]string{"app.kubernetes.io/managed-by": "Helm"}, ofHelm), "{}", true, true, true},
		"of the other chart, not wanted": {secret(map[string]string{"app.kubernetes.io/managed-by": "Helm"}, ofHelm), "{keepTLSSecret: false}", false, false, false},
		"made by hand":                   {secret(nil, nil), "{}", false, true, true},
		"made by the controller":         {secret(map[string]string{"app.kubernetes.io/managed-by": "fulcrum"}, nil), "{}", false, false, false},
		"by cert-manager":                {secret(nil, nil), "{enableCertManager: true}", false, true, false},
		"given":                          {secret(nil, ofHelm), "{webhookTLS: {caCert: a, cert: b, key: c}}", true, true, true},
		"given in part":                  {nil, "{webhookTLS: {caCert: a, cert: b}}", false, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewSimpleDynamicClient(runtime.NewScheme())
			if c.found != nil {
				client = fake.NewSimpleDynamicClient(runtime.NewScheme(), c.found)
			}
			values := parseValues(t, c.values)
			values["clusterName"] = "shop"
			text := render(t, values, renderOptions{lookup: lookupClient{client}})
			all := parseObjects(t, text)
			if got := hasKind(all, "Secret"); got != c.rendered {
				t.Errorf("the Secret is rendered: %v", got)
			}
			d := convertTo[appsv1.Deployment](t, findObject(t, all, "Deployment", ""))
			if got := len(d.Spec.Template.Spec.Volumes) > 0; got != c.mounted {
				t.Errorf("the Secret is mounted: %v", got)
			}
			v := convertTo[admissionv1.ValidatingWebhookConfiguration](t, findObject(t, all, "ValidatingWebhookConfiguration", ""))
			m := convertTo[admissionv1.MutatingWebhookConfiguration](t, findObject(t, all, "MutatingWebhookConfiguration", ""))
			for _, w := range v.Webhooks {
				if (len(w.ClientConfig.CABundle) > 0) != c.trusted {
					t.Errorf("%s has the bundle %q", w.Name, w.ClientConfig.CABundle)
				}
			}
			for _, w := range m.Webhooks {
				if (len(w.ClientConfig.CABundle) > 0) != c.trusted {
					t.Errorf("%s has the bundle %q", w.Name, w.ClientConfig.CABundle)
				}
			}
			if c.trusted != (d.Spec.Template.Annotations["checksum/webhook-tls"] != "") {
				t.Error("the pods must have the annotation checksum/webhook-tls if the chart knows the certificate, and not otherwise")
			}
			if hasKind(all, "Certificate") != (name == "by cert-manager") || (v.Annotations["cert-manager.io/inject-ca-from"] != "") != (name == "by cert-manager") ||
				v.Annotations["cert-manager.io/inject-ca-from"] != m.Annotations["cert-manager.io/inject-ca-from"] {
				t.Error("the Certificate or the annotation cert-manager.io/inject-ca-from is wrong")
			}
			if strings.Contains(text, "secret-key") {
				t.Error("the manifests contain the private key as plain text")
			}
		})
	}
}

// TestAcceleratorWebhookFollowsFeatureGate checks that the webhook for GlobalAccelerators is rendered only if the feature
// gate is on. Users can therefore write GlobalAccelerators while the gate is off.
func TestAcceleratorWebhookFollowsFeatureGate(t *testing.T) {
	for value, want := range map[string]bool{"true": true, `"true"`: true, `"1"`: true, "false": false, `"false"`: false, "null": false} {
		all := renderValues(t, "{controllerConfig: {featureGates: {GlobalAcceleratorController: "+value+"}}}", renderOptions{})
		hooks := convertTo[admissionv1.ValidatingWebhookConfiguration](t, findObject(t, all, "ValidatingWebhookConfiguration", "")).Webhooks
		if got := slices.ContainsFunc(hooks, func(w admissionv1.ValidatingWebhook) bool { return w.Name == "vglobalaccelerator.aga.k8s.aws" }); got != want {
			t.Errorf("gate %s: the webhook is there: %t", value, got)
		}
	}
}

// TestWebhooksMatchConfig checks that the chart renders the webhooks of config/webhook. Tests of these files are therefore
// also valid for the chart.
func TestWebhooksMatchConfig(t *testing.T) {
	all := renderValues(t, "{controllerConfig: {featureGates: {ALBTargetControlAgent: true, GlobalAcceleratorController: true}}}", renderOptions{})
	var mutating []admissionv1.MutatingWebhook
	var validating []admissionv1.ValidatingWebhook
	for _, doc := range strings.Split(string(readFile(t, "../config/webhook/manifests.yaml"))+"\n---\nkind: MutatingWebhookConfiguration\n"+string(readFile(t, "../config/webhook/target-control.yaml")), "\n---\n") {
		doc = strings.NewReplacer("values: [fulcrum]", "values: [aws-load-balancer-controller]", "kube-system:fulcrum'", "kube-system:aws-load-balancer-controller'").Replace(doc)
		var head struct{ Kind string }
		if err := yaml.Unmarshal([]byte(doc), &head); err != nil {
			t.Fatal(err)
		}
		switch head.Kind {
		case "MutatingWebhookConfiguration":
			var c admissionv1.MutatingWebhookConfiguration
			if err := yaml.UnmarshalStrict([]byte(doc), &c); err != nil {
				t.Fatal(err)
			}
			mutating = append(mutating, c.Webhooks...)
		case "ValidatingWebhookConfiguration":
			var c admissionv1.ValidatingWebhookConfiguration
			if err := yaml.UnmarshalStrict([]byte(doc), &c); err != nil {
				t.Fatal(err)
			}
			validating = append(validating, c.Webhooks...)
		}
	}
	m := convertTo[admissionv1.MutatingWebhookConfiguration](t, findObject(t, all, "MutatingWebhookConfiguration", "")).Webhooks
	v := convertTo[admissionv1.ValidatingWebhookConfiguration](t, findObject(t, all, "ValidatingWebhookConfiguration", "")).Webhooks
	byName := func(a, b admissionv1.MutatingWebhook) int { return strings.Compare(a.Name, b.Name) }
	slices.SortFunc(mutating, byName)
	slices.SortFunc(m, byName)
	if d := cmp.Diff(mutating, m); d != "" {
		t.Errorf("-config +chart:\n%s", d)
	}
	if d := cmp.Diff(validating, v); d != "" {
		t.Errorf("-config +chart:\n%s", d)
	}
}

// TestRightsMatchConfig checks that the chart grants each permission of config/rbac, and no other. Permissions of Roles are
// granted in Roles, so that none of them is granted in all namespaces.
func TestRightsMatchConfig(t *testing.T) {
	all := renderValues(t, "{}", renderOptions{})
	var granted, needed []string
	for _, u := range all {
		switch u.GetKind() {
		case "ClusterRole", "Role":
			granted = append(granted, permissionLines(u.GetKind(), convertTo[rbacv1.ClusterRole](t, u).Rules)...)
		}
	}
	for _, r := range shippedRoles(t) {
		// The chart has no role for the ConfigMap of QUIC server IDs: its rules for shared target groups cover the
		// ConfigMap.
		if r.Metadata.Name != "fulcrum-server-ids" {
			needed = append(needed, permissionLines(r.Kind, r.Rules)...)
		}
	}
	slices.Sort(granted)
	slices.Sort(needed)
	if d := cmp.Diff(slices.Compact(needed), slices.Compact(granted)); d != "" {
		t.Errorf("-config +chart:\n%s", d)
	}
	secrets := func(values string) bool {
		role := convertTo[rbacv1.ClusterRole](t, findObject(t, renderValues(t, values, renderOptions{}), "ClusterRole", ""))
		return slices.Contains(permissionLines("ClusterRole", role.Rules), "ClusterRole list secrets  []")
	}
	if secrets("{}") || !secrets("{clusterSecretsPermissions: {allowAllSecrets: true}}") {
		t.Error("the ClusterRole allows list on Secrets by default, or not with allowAllSecrets")
	}
	other := findObject(t, renderValues(t, "{leaderElectionID: '{{ .Release.Name }}-mine', leaderElectionNamespace: '{{ .Release.Name }}-leases', nameOverride: lbc}", renderOptions{}), "Role", releaseName+"-lbc-leader-election-role")
	if !strings.Contains(fmt.Sprint(other.Object), "["+releaseName+"-mine]") || other.GetNamespace() != releaseName+"-leases" {
		t.Errorf("the Role does not name the Lease of leaderElectionID, or is not in leaderElectionNamespace: %v", other.Object)
	}
}

// permissionLines returns one line for each combination of verb, resource and API group, with the kind of the role and the
// resource names of the rule.
func permissionLines(kind string, rules []rbacv1.PolicyRule) []string {
	var out []string
	for _, r := range rules {
		for _, g := range r.APIGroups {
			for _, resource := range r.Resources {
				for _, v := range r.Verbs {
					out = append(out, fmt.Sprint(kind, " ", v, " ", resource, " ", g, " ", r.ResourceNames))
				}
			}
		}
	}
	return out
}
