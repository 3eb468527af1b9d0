package doctor

import (
	"cmp"
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/fulcrum-lb/fulcrum/config/crd"
	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// checkKubernetes checks the API server and the objects of the cluster that the controller needs. It sets d.api if the
// API server can be reached, and d.store if the objects can be read.
func (d *doctor) checkKubernetes(ctx context.Context) {
	const area = "kubernetes"
	rc, err := input.ReadOnlyConfig(d.Config.Kubernetes.Kubeconfig, d.Context, d.Env)
	if err == nil {
		err = input.CheckReachable(ctx, rc)
	}
	if err != nil {
		d.addFailure(area, err, "check --kubeconfig, --context and KUBECONFIG")
		return
	}
	version := "of unknown version"
	if dc, err := discovery.NewDiscoveryClientForConfig(rc); err == nil {
		if v, err := dc.ServerVersion(); err == nil {
			version = v.GitVersion
		}
	}
	d.addResult(area, resultOK, "", "API server %s at %s", version, rc.Host)
	if err := d.connectAPI(rc); err != nil {
		d.addFailure(area, err, "")
		return
	}
	d.checkDefinitions(ctx)
	d.checkLease(ctx)
	d.checkWebhooks(ctx)
	store, err := d.Objects(ctx, strings.NewReader(""), io.Discard)
	if err != nil {
		d.addUnchecked(area, resultError, err, "grant the user of doctor the verbs get and list of the roles in config/rbac", "objects cannot be read, so classes and orphans were not checked: ")
		return
	}
	d.store = store
	d.checkClasses()
}

// connectAPI sets d.api to a client that can also read Leases and webhook configurations.
func (d *doctor) connectAPI(rc *rest.Config) error {
	scheme, err := cluster.NewScheme()
	if err != nil {
		return err
	}
	for _, add := range []func(*runtime.Scheme) error{coordinationv1.AddToScheme, admissionv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return err
		}
	}
	d.api, err = client.New(rc, client.Options{Scheme: scheme})
	return err
}

// checkDefinitions compares the CustomResourceDefinitions of the cluster with those of this version.
func (d *doctor) checkDefinitions(ctx context.Context) {
	const area = "definitions"
	docs, err := crd.Documents()
	if err != nil {
		d.addFailure(area, err, "")
		return
	}
	current := 0
	for _, doc := range docs {
		var want unstructured.Unstructured
		if err := yaml.Unmarshal(doc, &want.Object); err != nil {
			d.addFailure(area, err, "")
			return
		}
		have := unstructured.Unstructured{}
		have.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
		err := d.api.Get(ctx, client.ObjectKey{Name: want.GetName()}, &have)
		gateways := strings.HasSuffix(want.GetName(), ".gateway.k8s.aws")
		accelerators := strings.HasSuffix(want.GetName(), ".aga.k8s.aws")
		switch {
		case apierrors.IsNotFound(err) && accelerators && !d.Config.Gates.IsEnabled(config.GlobalAcceleratorController):
		case apierrors.IsNotFound(err) && accelerators:
			d.addResult(area, resultError, "run \"kubectl apply -f config/crd\"", "%s is not installed, so GlobalAccelerators are not served", want.GetName())
		case apierrors.IsNotFound(err) && gateways:
			d.addResult(area, resultWarning, "run \"kubectl apply -f config/crd\" to use Gateways", "%s is not installed, so Gateways are not served", want.GetName())
		case apierrors.IsNotFound(err):
			d.addResult(area, resultError, "run \"kubectl apply -f config/crd\"", "%s is not installed", want.GetName())
		case err != nil:
			d.addFailure(area, err, "grant the right to read custom resource definitions")
		default:
			missing := missingFields(want.Object, have.Object)
			if len(missing) > 0 {
				d.addResult(area, resultWarning, "run \"kubectl apply -f config/crd\"", "%s is older than this version: it lacks %s", want.GetName(), output.JoinFirst(missing))
				continue
			}
			current++
			if accelerators {
				d.checkAcceleratorDefaults(want.Object, have.Object)
			}
		}
	}
	if current > 0 {
		d.addResult(area, resultOK, "", "%d custom resource definitions are equal to those of this version", current)
	}
}

// missingFields returns the versions and field paths that exist in CustomResourceDefinition want but not in have. It
// omits the fields below a missing field.
func missingFields(want, have map[string]any) []string {
	present := map[string]bool{}
	for _, f := range fieldsOf(have) {
		present[f] = true
	}
	var out []string
	for _, f := range fieldsOf(want) {
		parent := f[:max(strings.LastIndexByte(f, '.'), 0)]
		if !present[f] && (parent == "" || present[parent]) {
			out = append(out, f)
		}
	}
	return out
}

// fieldsOf returns, sorted, the versions of a CustomResourceDefinition and the paths of their fields, such as
// "v1.spec.name".
func fieldsOf(definition map[string]any) []string {
	var out []string
	forEachField(definition, func(path string, _ map[string]any) { out = append(out, path) })
	slices.Sort(out)
	return out
}

// forEachField calls visit for each version of a CustomResourceDefinition, with a nil schema, and for each field of the
// version, with the schema of the field.
func forEachField(definition map[string]any, visit func(path string, schema map[string]any)) {
	versions, _, _ := unstructured.NestedSlice(definition, "spec", "versions")
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok {
			continue
		}
		name, _ := version["name"].(string)
		root, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
		visit(name, nil)
		forEachNestedField(name, root, visit)
	}
}

// forEachNestedField calls visit for each field below a node of a schema. path is the path of the node.
func forEachNestedField(path string, node map[string]any, visit func(path string, schema map[string]any)) {
	properties, _ := node["properties"].(map[string]any)
	for name, child := range properties {
		schema, _ := child.(map[string]any)
		visit(path+"."+name, schema)
		forEachNestedField(path+"."+name, schema, visit)
	}
	if items, ok := node["items"].(map[string]any); ok {
		forEachNestedField(path, items, visit)
	}
}

// checkLease checks that a controller has renewed the Lease of leader election within the last minute.
func (d *doctor) checkLease(ctx context.Context) {
	const area = "controller"
	if !d.Config.Election.Enabled {
		d.addResult(area, resultOK, "", "the controller has no Lease, because --enable-leader-election=false is set")
		return
	}
	namespace := cmp.Or(d.Config.Election.Namespace, "kube-system")
	lease := coordinationv1.Lease{}
	err := d.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: d.Config.Election.ID}, &lease)
	switch {
	case apierrors.IsNotFound(err):
		d.addResult(area, resultWarning, "start the controller, or set the flags with which it runs: --leader-election-namespace names the namespace of its Lease, and with --enable-leader-election=false it has none", "the Lease %s/%s does not exist", namespace, d.Config.Election.ID)
	case err != nil:
		d.addFailure(area, err, "grant the right to read Leases")
	case lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" || lease.Spec.RenewTime == nil:
		d.addResult(area, resultWarning, "look at the pods of the controller", "no controller has the Lease %s/%s now", namespace, d.Config.Election.ID)
	default:
		if age := d.Env.Time().Sub(lease.Spec.RenewTime.Time); age > time.Minute {
			d.addResult(area, resultError, "look at the logs of the pods of the controller", "the controller %q has not renewed the Lease %s/%s for %s", *lease.Spec.HolderIdentity, namespace, d.Config.Election.ID, age.Round(time.Second))
			return
		}
		d.addResult(area, resultOK, "", "%q has the Lease %s/%s", *lease.Spec.HolderIdentity, namespace, d.Config.Election.ID)
	}
}

// webhookEntry is one webhook of a mutating or validating webhook configuration.
type webhookEntry struct {
	name   string
	client admissionv1.WebhookClientConfig
	policy *admissionv1.FailurePolicyType
}

// checkWebhooks checks the webhook configurations, the certificates of the webhooks, and the endpoints of their Services.
func (d *doctor) checkWebhooks(ctx context.Context) {
	const area = "webhooks"
	name := d.Config.Serving.WebhookConfiguration()
	var mutating admissionv1.MutatingWebhookConfiguration
	var validating admissionv1.ValidatingWebhookConfiguration
	var hooks []webhookEntry
	for _, configuration := range []struct {
		kind string
		obj  client.Object
	}{{"MutatingWebhookConfiguration", &mutating}, {"ValidatingWebhookConfiguration", &validating}} {
		err := d.api.Get(ctx, client.ObjectKey{Name: name}, configuration.obj)
		switch {
		case apierrors.IsNotFound(err):
			d.addResult(area, resultWarning, "apply config/webhook/manifests.yaml to use the webhooks, or set --webhook-name-prefix to the value that the controller uses", "%s %q does not exist; objects are checked only by the controller, after they are stored", configuration.kind, name)
		case err != nil:
			d.addFailure(area, err, "grant the right to read webhook configurations")
		}
	}
	for _, w := range mutating.Webhooks {
		hooks = append(hooks, webhookEntry{w.Name, w.ClientConfig, w.FailurePolicy})
	}
	for _, w := range validating.Webhooks {
		hooks = append(hooks, webhookEntry{w.Name, w.ClientConfig, w.FailurePolicy})
	}
	working := 0
	for _, h := range hooks {
		result := resultWarning
		if h.policy == nil || *h.policy == admissionv1.Fail {
			result = resultError // the API server refuses objects while the webhook does not answer
		}
		switch fault, fix, err := d.webhookFault(ctx, h); {
		case err != nil:
			d.addUnchecked(area, result, err, fix, fmt.Sprintf("webhook %s: ", h.name))
		case fault != "":
			d.addResult(area, result, fix, "webhook %s: %s", h.name, fault)
		default:
			working++
		}
	}
	if working > 0 {
		d.addResult(area, resultOK, "", "%d webhooks have a valid CA and ready endpoints", working)
	}
}

// webhookFault returns a problem of a webhook and its fix. fault is "" if the webhook has no problem. If the endpoints of
// the Service of the webhook cannot be read, webhookFault returns an error, and fix is the fix for this error.
func (d *doctor) webhookFault(ctx context.Context, h webhookEntry) (fault, fix string, err error) {
	if len(h.client.CABundle) == 0 {
		return "it has no caBundle", "wait until the controller has written it, or look at its logs", nil
	}
	expiry, err := lastExpiry(h.client.CABundle)
	switch now := d.Env.Time(); {
	case err != nil:
		return fmt.Sprintf("its caBundle cannot be read: %v", err), "remove the caBundle; the controller then writes a new one", nil
	case now.After(expiry):
		return "its CA expired at " + expiry.UTC().Format(time.RFC3339), "restart the controller, or renew the certificate", nil
	case now.Add(durations.CertificateLifetime / 52).After(expiry): // less than a week is left
		return "its CA expires at " + expiry.UTC().Format(time.RFC3339), "look at the logs of the controller, or renew the certificate", nil
	}
	s := h.client.Service
	if s == nil {
		return "", "", nil
	}
	var slices discoveryv1.EndpointSliceList
	if err := d.api.List(ctx, &slices, client.InNamespace(s.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: s.Name}); err != nil {
		return "", "grant the right to list EndpointSlices", fmt.Errorf("the endpoints of Service %s/%s cannot be read: %w", s.Namespace, s.Name, err)
	}
	for _, slice := range slices.Items {
		for _, e := range slice.Endpoints {
			if e.Conditions.Ready == nil || *e.Conditions.Ready {
				return "", "", nil
			}
		}
	}
	return fmt.Sprintf("Service %s/%s has no ready endpoint", s.Namespace, s.Name), "start the controller, or remove the webhook configuration", nil
}

// lastExpiry returns the latest expiry time of the CAs in a PEM bundle. During a rotation, a bundle has two CAs.
func lastExpiry(bundle []byte) (time.Time, error) {
	var last time.Time
	for rest := bundle; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		cert, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return time.Time{}, err
		}
		if cert.NotAfter.After(last) {
			last = cert.NotAfter
		}
	}
	if last.IsZero() {
		return last, errors.New("it is not in PEM format")
	}
	return last, nil
}
