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
	mutating bool
}

// hookPart is what is kept of one webhook.
type hookPart struct {
	client     admissionv1.WebhookClientConfig
	conditions []admissionv1.MatchCondition
}

// usesService reports whether the webhook is reached through a Service.
func (w hookPart) usesService(namespace, service string) bool {
	s := w.client.Service
	return s != nil && s.Namespace == namespace && s.Name == service
}

// readHooks reads the configurations that exist. Without the right to, there are none.
func (k *Keeper) readHooks(ctx context.Context) ([]hook, error) {
	var out []hook
	m, err := k.Hooks.MutatingWebhookConfigurations().Get(ctx, k.Configuration, metav1.GetOptions{})
	if err == nil {
		h := hook{version: m.ResourceVersion, foreign: m.Annotations[certManager] != "", mutating: true}
		for _, w := range m.Webhooks {
			h.webhooks = append(h.webhooks, hookPart{w.ClientConfig, w.MatchConditions})
		}
		out = append(out, h)
	}
	if err := k.ignoreUnavailable(err); err != nil {
		return nil, err
	}
	v, err := k.Hooks.ValidatingWebhookConfigurations().Get(ctx, k.Configuration, metav1.GetOptions{})
	if err == nil {
		h := hook{version: v.ResourceVersion, foreign: v.Annotations[certManager] != ""}
		for _, w := range v.Webhooks {
			h.webhooks = append(h.webhooks, hookPart{w.ClientConfig, w.MatchConditions})
		}
		out = append(out, h)
	}
	return out, k.ignoreUnavailable(err)
}

// change is a change of a JSON patch.
type change struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// writeBundle writes the bundle into those webhooks of the Service that have another one.
func (k *Keeper) writeBundle(ctx context.Context, h hook, bundle []byte) error {
	if h.foreign || len(bundle) == 0 {
		return nil
	}
	var changes []change
	for i, w := range h.webhooks {
		if w.usesService(k.Namespace, k.Service) && !bytes.Equal(w.client.CABundle, bundle) {
			changes = append(changes, change{"add", fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", i), bundle})
		}
	}
	return k.write(ctx, h, changes)
}

// write changes the configuration. It fails where that has changed since it was read.
func (k *Keeper) write(ctx context.Context, h hook, changes []change) error {
	if len(changes) == 0 {
		return nil
	}
	data, err := json.Marshal(append([]change{{"test", "/metadata/resourceVersion", h.version}}, changes...))
	if err != nil {
		return err
	}
	if h.mutating {
		_, err = k.Hooks.MutatingWebhookConfigurations().Patch(ctx, k.Configuration, types.JSONPatchType, data, metav1.PatchOptions{})
	} else {
		_, err = k.Hooks.ValidatingWebhookConfigurations().Patch(ctx, k.Configuration, types.JSONPatchType, data, metav1.PatchOptions{})
	}
	return err
}
