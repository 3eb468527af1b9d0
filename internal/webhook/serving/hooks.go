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

// certManager is the annotation by which another controller is asked to write the bundle.
const certManager = "cert-manager.io/inject-ca-from"

// hook is a webhook configuration as it was read.
type hook struct {
	version string
	clients []admissionv1.WebhookClientConfig
	foreign bool // somebody else keeps the bundle
	patch   func(ctx context.Context, data []byte) error
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
			h.clients = append(h.clients, w.ClientConfig)
		}
		out = append(out, h)
	}
	if err := k.unread(err); err != nil {
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
			h.clients = append(h.clients, w.ClientConfig)
		}
		out = append(out, h)
	}
	return out, k.unread(err)
}

// trust writes the bundle into the webhooks of a Service that have another one. It fails where the
// configuration has changed since it was read.
func (h hook) trust(ctx context.Context, namespace, service string, bundle []byte) error {
	if h.foreign || len(bundle) == 0 {
		return nil
	}
	type change struct {
		Op    string `json:"op"`
		Path  string `json:"path"`
		Value any    `json:"value"`
	}
	changes := []change{{"test", "/metadata/resourceVersion", h.version}}
	for i, c := range h.clients {
		ours := c.Service != nil && c.Service.Namespace == namespace && c.Service.Name == service
		if ours && !bytes.Equal(c.CABundle, bundle) {
			changes = append(changes, change{"add", fmt.Sprintf("/webhooks/%d/clientConfig/caBundle", i), bundle})
		}
	}
	if len(changes) == 1 {
		return nil
	}
	data, err := json.Marshal(changes)
	if err != nil {
		return err
	}
	return h.patch(ctx, data)
}
