package serving

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/fulcrum-lb/fulcrum/internal/webhook"
)

// certManagerAnnotation is the annotation that causes cert-manager to write the CA bundle.
const certManagerAnnotation = "cert-manager.io/inject-ca-from"

// webhookConfiguration is a mutating or validating webhook configuration.
type webhookConfiguration struct {
	version       string
	webhooks      []webhookEntry
	hasOtherOwner bool // whether another controller writes the bundle
	mutating      bool
}

// webhookEntry is one webhook of a configuration.
type webhookEntry struct {
	client     admissionv1.WebhookClientConfig
	conditions []admissionv1.MatchCondition
}

// usesService reports whether the API server calls the webhook through this Service.
func (w webhookEntry) usesService(namespace, service string) bool {
	s := w.client.Service
	return s != nil && s.Namespace == namespace && s.Name == service
}

// readConfigurations returns the webhook configurations that exist and that the controller may read.
func (k *CertificateKeeper) readConfigurations(ctx context.Context) ([]webhookConfiguration, error) {
	var out []webhookConfiguration
	m, err := k.Hooks.MutatingWebhookConfigurations().Get(ctx, k.Configuration, metav1.GetOptions{})
	if err == nil {
		configuration := webhookConfiguration{version: m.ResourceVersion, hasOtherOwner: m.Annotations[certManagerAnnotation] != "", mutating: true}
		for _, w := range m.Webhooks {
			configuration.webhooks = append(configuration.webhooks, webhookEntry{w.ClientConfig, w.MatchConditions})
		}
		out = append(out, configuration)
	}
	if err := k.ignoreMissingOrForbidden(err); err != nil {
		return nil, err
	}
	v, err := k.Hooks.ValidatingWebhookConfigurations().Get(ctx, k.Configuration, metav1.GetOptions{})
	if err == nil {
		configuration := webhookConfiguration{version: v.ResourceVersion, hasOtherOwner: v.Annotations[certManagerAnnotation] != ""}
		for _, w := range v.Webhooks {
			configuration.webhooks = append(configuration.webhooks, webhookEntry{w.ClientConfig, w.MatchConditions})
		}
		out = append(out, configuration)
	}
	return out, k.ignoreMissingOrForbidden(err)
}

// writeBundle writes the CA bundle into those webhooks that use the Service and have a different bundle.
func (k *CertificateKeeper) writeBundle(ctx context.Context, configuration webhookConfiguration, bundle []byte) error {
	if configuration.hasOtherOwner || len(bundle) == 0 {
		return nil
	}
	var changes []webhook.PatchOperation
	for i, w := range configuration.webhooks {
		if w.usesService(k.Namespace, k.Service) && !bytes.Equal(w.client.CABundle, bundle) {
			changes = append(changes, webhook.PatchOperation{Op: "add", Path: fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", i), Value: bundle})
		}
	}
	return k.patch(ctx, configuration, changes)
}

// patch applies changes to a webhook configuration. It fails if the configuration has changed since it was read.
func (k *CertificateKeeper) patch(ctx context.Context, configuration webhookConfiguration, changes []webhook.PatchOperation) error {
	if len(changes) == 0 {
		return nil
	}
	data, err := json.Marshal(append([]webhook.PatchOperation{{Op: "test", Path: "/metadata/resourceVersion", Value: configuration.version}}, changes...))
	if err != nil {
		return err
	}
	if configuration.mutating {
		_, err = k.Hooks.MutatingWebhookConfigurations().Patch(ctx, k.Configuration, types.JSONPatchType, data, metav1.PatchOptions{})
	} else {
		_, err = k.Hooks.ValidatingWebhookConfigurations().Patch(ctx, k.Configuration, types.JSONPatchType, data, metav1.PatchOptions{})
	}
	return err
}
