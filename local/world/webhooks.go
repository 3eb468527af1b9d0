package world

import (
	"context"
	"encoding/base64"
	"fmt"
	"net"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fulcrum-lb/fulcrum/config/webhook"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
)

// webhookCertificate begins the names of the files with the certificate of the webhooks.
const webhookCertificate = "webhooks"

// WebhookArgs are the arguments with which a controller serves webhooks by a certificate of this world.
func (w *World) WebhookArgs() ([]string, error) {
	if err := w.creds.issue(webhookCertificate, []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
		return nil, fmt.Errorf("certificate of webhooks: %w", err)
	}
	return []string{"--webhook-cert-dir=" + w.creds.dir, "--webhook-cert-file=" + webhookCertificate + ".crt", "--webhook-key-file=" + webhookCertificate + ".key"}, nil
}

// InstallWebhooks has the API server ask the webhooks that a controller with WebhookArgs serves: those of config/webhook,
// at an address of this machine in place of a Service.
func (w *World) InstallWebhooks(ctx context.Context) error {
	objects, err := manifest.Parse(webhook.Manifests)
	if err != nil {
		return fmt.Errorf("webhooks: %w", err)
	}
	var hooks []*unstructured.Unstructured
	for _, o := range objects {
		found, err := reachWebhooks(o, w.WebhookPort(), w.creds.caPEM)
		if err != nil {
			return fmt.Errorf("webhooks: %w", err)
		}
		if found {
			hooks = append(hooks, o)
		}
	}
	applier, err := manifest.NewApplier(w.RESTConfig())
	if err != nil {
		return err
	}
	return applier.Apply(ctx, hooks)
}

// reachWebhooks puts the address of this machine into a configuration; false for any other object.
func reachWebhooks(o *unstructured.Unstructured, port int, ca []byte) (bool, error) {
	list, found, err := unstructured.NestedSlice(o.Object, "webhooks")
	if err != nil || !found {
		return false, err
	}
	for _, item := range list {
		hook, ok := item.(map[string]any)
		if !ok {
			return false, fmt.Errorf("%s %s has a webhook that is no object", o.GetKind(), o.GetName())
		}
		path, _, err := unstructured.NestedString(hook, "clientConfig", "service", "path")
		if err != nil {
			return false, err
		}
		hook["clientConfig"] = map[string]any{
			"url": fmt.Sprintf("https://127.0.0.1:%d%s", port, path), "caBundle": base64.StdEncoding.EncodeToString(ca),
		}
	}
	return true, unstructured.SetNestedSlice(o.Object, list, "webhooks")
}
