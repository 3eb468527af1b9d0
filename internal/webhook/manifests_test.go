package webhook_test

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/fulcrum-lb/fulcrum/internal/webhook"
)

// readManifests returns the documents of a kind in a YAML file.
func readManifests[T any](t *testing.T, path, kind string) []T {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []T
	for _, doc := range bytes.Split(data, []byte("\n---\n")) {
		var head struct{ Kind string }
		if err := yaml.Unmarshal(doc, &head); err != nil {
			t.Fatal(err)
		}
		if head.Kind != kind {
			continue
		}
		var obj T
		if err := yaml.UnmarshalStrict(doc, &obj); err != nil {
			t.Fatal(err)
		}
		out = append(out, obj)
	}
	return out
}

// TestManifestsFitTheServer checks that the webhook manifests use only served paths, and the webhook names and failure
// policies of existing installations.
func TestManifestsFitTheServer(t *testing.T) {
	const dir = "../../config/webhook/"
	var got []string
	paths := map[string]bool{}
	for _, e := range webhook.Endpoints(testConfig(newStore(t, ""))) {
		paths[e.Path] = true
	}
	note := func(name string, client admissionv1.WebhookClientConfig, policy *admissionv1.FailurePolicyType, effects *admissionv1.SideEffectClass, rules []admissionv1.RuleWithOperations) {
		if client.Service == nil || client.Service.Path == nil || !paths[*client.Service.Path] {
			t.Fatalf("%s has no path that is served", name)
		}
		if effects == nil || *effects != admissionv1.SideEffectClassNone || policy == nil {
			t.Errorf("%s does not set side effects or the failure policy", name)
		}
		for _, r := range rules {
			got = append(got, fmt.Sprintf("%s %s %v %v %s", name, *client.Service.Path, r.Resources, r.Operations, *policy))
		}
	}
	for _, c := range readManifests[admissionv1.MutatingWebhookConfiguration](t, dir+"manifests.yaml", "MutatingWebhookConfiguration") {
		for _, w := range c.Webhooks {
			note(w.Name, w.ClientConfig, w.FailurePolicy, w.SideEffects, w.Rules)
		}
	}
	for _, c := range readManifests[admissionv1.ValidatingWebhookConfiguration](t, dir+"manifests.yaml", "ValidatingWebhookConfiguration") {
		for _, w := range c.Webhooks {
			note(w.Name, w.ClientConfig, w.FailurePolicy, w.SideEffects, w.Rules)
		}
	}
	for _, c := range readManifests[admissionv1.MutatingWebhookConfiguration](t, dir+"target-control.yaml", "") {
		for _, w := range c.Webhooks {
			note(w.Name, w.ClientConfig, w.FailurePolicy, w.SideEffects, w.Rules)
		}
	}
	slices.Sort(got)
	want := []string{
		"alb-target-control.namespace.elbv2.k8s.aws /mutate-alb-target-control-namespace-v1-pod [pods] [CREATE] Fail",
		"alb-target-control.object.elbv2.k8s.aws /mutate-alb-target-control-object-v1-pod [pods] [CREATE] Fail",
		"mpod.elbv2.k8s.aws /mutate-v1-pod [pods] [CREATE] Ignore",
		"mservice.elbv2.k8s.aws /mutate-v1-service [services] [CREATE] Fail",
		"mtargetgroupbinding.elbv2.k8s.aws /mutate-elbv2-k8s-aws-v1beta1-targetgroupbinding [targetgroupbindings] [CREATE UPDATE] Fail",
		"quicid.elbv2.k8s.aws /mutate-v1-pod-server-id [pods] [CREATE] Fail",
		"vglobalaccelerator.aga.k8s.aws /validate-aga-k8s-aws-v1beta1-globalaccelerator [globalaccelerators] [CREATE UPDATE] Fail",
		"vingress.elbv2.k8s.aws /validate-networking-v1-ingress [ingresses] [CREATE UPDATE] Fail",
		"vingressclassparams.elbv2.k8s.aws /validate-elbv2-k8s-aws-v1beta1-ingressclassparams [ingressclassparams] [CREATE UPDATE] Fail",
		"vtargetgroupbinding.elbv2.k8s.aws /validate-elbv2-k8s-aws-v1beta1-targetgroupbinding [targetgroupbindings] [CREATE UPDATE] Fail",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
