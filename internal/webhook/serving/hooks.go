package serving

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// certManager is the annotation that makes cert-manager write the bundle.
const certManager = "cert-manager.io/inject-ca-from"

// hook is a webhook configuration as it was read.
type hook struct {
	version  string
	webhooks []hookPart
	foreign  bool // another controller writes the bundle
	patch    func(ctx context.Context, data []byte) error
}

// hookPart is what is kept of one webhook.
type hookPart struct {
	client     admissionv1.WebhookClientConfig
	conditions []admissionv1.MatchCondition
}

// of reports whether the webhook is reached through a Service.
func (w hookPart) of(namespace, service string) bool {
	s := w.client.Service
	return s != nil && s.Namespace == namespace && s.Name == service
}

// readHooks reads the configurations that exist. Without the right to, there are none.
func (k *Keeper) readHooks(ctx context.Context) ([]hook, error) {
	var out []hook
	mutating := k.Hooks.MutatingWebhookConfigurations()
	m, err := mutating.Get(ctx, k.Configuration, metav1.GetOptions{})
	if err == nil {
		h := hook{version: m.ResourceVersion, foreign: m.Annotations[certManager] != "", patch: func(ctx context.Context, data []byte) error {
			_, err := mutating.Patch(ctx, k.Configuration, types.JSONPatchType, data, metav1.PatchOptions{})
			return err
		}}
		for _, w := range m.Webhooks {
			h.webhooks = append(h.webhooks, hookPart{w.ClientConfig, w.MatchConditions})
		}
		out = append(out, h)
	}
	if err := k.unavailable(err); err != nil {
		return nil, err
	}
	validating := k.Hooks.ValidatingWebhookConfigurations()
	v, err := validating.Get(ctx, k.Configuration, metav1.GetOptions{})
	if err == nil {
		h := hook{version: v.ResourceVersion, foreign: v.Annotations[certManager] != "", patch: func(ctx context.Context, data []byte) error {
			_, err := validating.Patch(ctx, k.Configuration, types.JSONPatchType, data, metav1.PatchOptions{})
			return err
		}}
		for _, w := range v.Webhooks {
			h.webhooks = append(h.webhooks, hookPart{w.ClientConfig, w.MatchConditions})
		}
		out = append(out, h)
	}
	return out, k.unavailable(err)
}

// change is one of a JSON patch.
type change struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// trust writes the bundle into those webhooks of a Service that have another one.
func (h hook) trust(ctx context.Context, namespace, service string, bundle []byte) error {
	if h.foreign || len(bundle) == 0 {
		return nil
	}
	var changes []change
	for i, w := range h.webhooks {
		if w.of(namespace, service) && !bytes.Equal(w.client.CABundle, bundle) {
			changes = append(changes, change{"add", fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", i), bundle})
		}
	}
	return h.write(ctx, changes)
}

// write changes the configuration. It fails where that has changed since it was read.
func (h hook) write(ctx context.Context, changes []change) error {
	if len(changes) == 0 {
		return nil
	}
	data, err := json.Marshal(append([]change{{"test", "/metadata/resourceVersion", h.version}}, changes...))
	if err != nil {
		return err
	}
	return h.patch(ctx, data)
}
