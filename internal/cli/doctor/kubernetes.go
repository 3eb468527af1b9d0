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

// kubernetes checks the cluster.
func (d *doctor) kubernetes(ctx context.Context) {
	const area = "kubernetes"
	rc, err := input.ReadOnlyConfig(d.Config.Kubernetes.Kubeconfig, d.Context, d.Env)
	if err == nil {
		err = input.CheckReachable(ctx, rc)
	}
	if err != nil {
		d.fail(area, err, "check --kubeconfig, --context and KUBECONFIG")
		return
	}
	version := "of unknown version"
	if dc, err := discovery.NewDiscoveryClientForConfig(rc); err == nil {
		if v, err := dc.ServerVersion(); err == nil {
			version = v.GitVersion
		}
	}
	d.addResult(area, healthy, "", "API server %s at %s", version, rc.Host)
	if err := d.connectAPI(rc); err != nil {
		d.fail(area, err, "")
		return
	}
	d.definitions(ctx)
	d.leader(ctx)
	d.webhook(ctx)
	store, err := d.Objects(ctx, strings.NewReader(""), io.Discard)
	if err != nil {
		d.addUnchecked(area, broken, err, "bind the rules of config/rbac with the verbs get and list to whoever runs doctor", "objects cannot be read, so that neither classes nor orphans were looked at: ")
		return
	}
	d.store = store
	d.classes()
}

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

// definitions compares the custom resource definitions of the cluster with those of this version.
func (d *doctor) definitions(ctx context.Context) {
	const area = "definitions"
	docs, err := crd.Documents()
	if err != nil {
		d.fail(area, err, "")
		return
	}
	fine := 0
	for _, doc := range docs {
		var want unstructured.Unstructured
		if err := yaml.Unmarshal(doc, &want.Object); err != nil {
			d.fail(area, err, "")
			return
		}
		have := unstructured.Unstructured{}
		have.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
		err := d.api.Get(ctx, client.ObjectKey{Name: want.GetName()}, &have)
		gateways := strings.HasSuffix(want.GetName(), ".gateway.k8s.aws")
		accelerators := strings.HasSuffix(want.GetName(), ".aga.k8s.aws")
		switch {
		case apierrors.IsNotFound(err) && accelerators && !d.Config.Gates.On(config.GlobalAcceleratorController):
		case apierrors.IsNotFound(err) && accelerators:
			d.addResult(area, broken, "run \"kubectl apply -f config/crd\"", "%s is not installed, so GlobalAccelerators are not served", want.GetName())
		case apierrors.IsNotFound(err) && gateways:
			d.addResult(area, warned, "run \"kubectl apply -f config/crd\" to use Gateways", "%s is not installed, so Gateways are not served", want.GetName())
		case apierrors.IsNotFound(err):
			d.addResult(area, broken, "run \"kubectl apply -f config/crd\"", "%s is not installed", want.GetName())
		case err != nil:
			d.fail(area, err, "grant the right to read custom resource definitions")
		default:
			lacks := lackingFields(want.Object, have.Object)
			if len(lacks) > 0 {
				d.addResult(area, warned, "run \"kubectl apply -f config/crd\"", "%s is older than this version: it lacks %s", want.GetName(), output.JoinFirst(lacks))
				continue
			}
			fine++
			if accelerators {
				d.acceleratorDefaults(want.Object, have.Object)
			}
		}
	}
	if fine > 0 {
		d.addResult(area, healthy, "", "%d custom resource definitions are as this version has them", fine)
	}
}

// lackingFields returns versions and fields of a definition that another one of the same name does not have.
func lackingFields(want, have map[string]any) []string {
	theirs := map[string]bool{}
	for _, f := range fieldsOf(have) {
		theirs[f] = true
	}
	var out []string
	for _, f := range fieldsOf(want) {
		parent := f[:max(strings.LastIndexByte(f, '.'), 0)]
		if !theirs[f] && (parent == "" || theirs[parent]) {
			out = append(out, f)
		}
	}
	return out
}

// fieldsOf returns the versions of a definition and the paths of their fields, in order.
func fieldsOf(definition map[string]any) []string {
	var out []string
	eachField(definition, func(path string, _ map[string]any) { out = append(out, path) })
	slices.Sort(out)
	return out
}

// eachField calls see for each version of a definition, and for each field of it with its schema.
func eachField(definition map[string]any, see func(path string, schema map[string]any)) {
	versions, _, _ := unstructured.NestedSlice(definition, "spec", "versions")
	for _, v := range versions {
		version, ok := v.(map[string]any)
		if !ok {
			continue
		}
		name, _ := version["name"].(string)
		root, _, _ := unstructured.NestedMap(version, "schema", "openAPIV3Schema")
		see(name, nil)
		eachNestedField(name, root, see)
	}
}

func eachNestedField(path string, node map[string]any, see func(path string, schema map[string]any)) {
	properties, _ := node["properties"].(map[string]any)
	for name, below := range properties {
		schema, _ := below.(map[string]any)
		see(path+"."+name, schema)
		eachNestedField(path+"."+name, schema, see)
	}
	if items, ok := node["items"].(map[string]any); ok {
		eachNestedField(path, items, see)
	}
}

// leader looks at the lease of the controller.
func (d *doctor) leader(ctx context.Context) {
	const area = "controller"
	if !d.Config.Election.Enabled {
		d.addResult(area, healthy, "", "it has no Lease, because --enable-leader-election=false is given")
		return
	}
	namespace := cmp.Or(d.Config.Election.Namespace, "kube-system")
	lease := coordinationv1.Lease{}
	err := d.api.Get(ctx, client.ObjectKey{Namespace: namespace, Name: d.Config.Election.ID}, &lease)
	switch {
	case apierrors.IsNotFound(err):
		d.addResult(area, warned, "start it, or give the flags with which it runs: --leader-election-namespace names the namespace of its Lease, and with --enable-leader-election=false it has none", "no controller has ever had the Lease %s/%s", namespace, d.Config.Election.ID)
	case err != nil:
		d.fail(area, err, "grant the right to read Leases")
	case lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity == "" || lease.Spec.RenewTime == nil:
		d.addResult(area, warned, "look at the pods of the controller", "no controller has the Lease %s/%s now", namespace, d.Config.Election.ID)
	default:
		if age := d.Env.Time().Sub(lease.Spec.RenewTime.Time); age > time.Minute {
			d.addResult(area, broken, "look at the logs of its pods", "the controller %q has not renewed the Lease %s/%s for %s", *lease.Spec.HolderIdentity, namespace, d.Config.Election.ID, age.Round(time.Second))
			return
		}
		d.addResult(area, healthy, "", "%q has the Lease %s/%s", *lease.Spec.HolderIdentity, namespace, d.Config.Election.ID)
	}
}

// hook is one webhook of a configuration.
type hook struct {
	name   string
	client admissionv1.WebhookClientConfig
	policy *admissionv1.FailurePolicyType
}

// webhook checks the configurations of the webhooks, their certificates and the endpoints of their Services.
func (d *doctor) webhook(ctx context.Context) {
	const area = "webhooks"
	name := d.Config.Serving.WebhookConfiguration()
	var mutating admissionv1.MutatingWebhookConfiguration
	var validating admissionv1.ValidatingWebhookConfiguration
	var hooks []hook
	for _, x := range []struct {
		kind string
		obj  client.Object
	}{{"MutatingWebhookConfiguration", &mutating}, {"ValidatingWebhookConfiguration", &validating}} {
		err := d.api.Get(ctx, client.ObjectKey{Name: name}, x.obj)
		switch {
		case apierrors.IsNotFound(err):
			d.addResult(area, warned, "apply config/webhook/manifests.yaml if you want it, or set --webhook-name-prefix as the controller has it", "there is no %s %q, so what users write is judged by the controller alone", x.kind, name)
		case err != nil:
			d.fail(area, err, "grant the right to read webhook configurations")
		}
	}
	for _, w := range mutating.Webhooks {
		hooks = append(hooks, hook{w.Name, w.ClientConfig, w.FailurePolicy})
	}
	for _, w := range validating.Webhooks {
		hooks = append(hooks, hook{w.Name, w.ClientConfig, w.FailurePolicy})
	}
	fine := 0
	for _, h := range hooks {
		result := warned
		if h.policy == nil || *h.policy == admissionv1.Fail {
			result = broken // the API server refuses what it cannot ask about
		}
		switch what, fix, err := d.webhookFault(ctx, h); {
		case err != nil:
			d.addUnchecked(area, result, err, fix, fmt.Sprintf("webhook %s: ", h.name))
		case what != "":
			d.addResult(area, result, fix, "webhook %s: %s", h.name, what)
		default:
			fine++
		}
	}
	if fine > 0 {
		d.addResult(area, healthy, "", "%d webhooks have a valid CA and ready endpoints", fine)
	}
}

// webhookFault returns what is wrong with a webhook, "" if nothing is, or why that is not known.
func (d *doctor) webhookFault(ctx context.Context, h hook) (what, fix string, err error) {
	if len(h.client.CABundle) == 0 {
		return "it has no caBundle", "wait until the controller has written it, or look at its logs", nil
	}
	until, err := lastExpiry(h.client.CABundle)
	switch now := d.Env.Time(); {
	case err != nil:
		return fmt.Sprintf("its caBundle cannot be read: %v", err), "remove it, and the controller writes its own", nil
	case now.After(until):
		return "its CA expired at " + until.UTC().Format(time.RFC3339), "restart the controller, or renew the certificate", nil
	case now.Add(durations.Lifetime / 52).After(until): // a week
		return "its CA expires at " + until.UTC().Format(time.RFC3339), "look at the logs of the controller, or renew the certificate", nil
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

// lastExpiry returns when the last CA of a bundle expires: during a rotation there are two.
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
		return last, errors.New("it is not PEM")
	}
	return last, nil
}
