package world

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/fulcrum-lb/fulcrum/config/webhook"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
)

const (
	// webhookCertificate is the name, without extension, of the files with the certificate of the webhooks.
	webhookCertificate = "webhooks"
	// webhookClientCertificate is the name, without extension, of the files with the client certificate of the API server for
	// webhooks.
	webhookClientCertificate = "webhook-caller"
)

// admissionConfig makes the API server authenticate to all webhooks with a client certificate:
// https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/#authenticate-apiservers
const admissionConfig = `apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: ValidatingAdmissionWebhook
  configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: %[1]q}
- name: MutatingAdmissionWebhook
  configuration: {apiVersion: apiserver.config.k8s.io/v1, kind: WebhookAdmissionConfiguration, kubeConfigFile: %[1]q}
`

const webhookClientKubeconfig = `apiVersion: v1
kind: Config
users:
- name: '*'
  user: {client-certificate: %q, client-key: %q}
`

// writeAdmissionConfig writes the admission configuration of the API server and the client certificate with which the API
// server authenticates to webhooks.
func (c *credentials) writeAdmissionConfig() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	if err := c.issueCert(x509.ExtKeyUsageClientAuth, webhookClientCertificate, key, []string{"webhook-caller"}, nil); err != nil {
		return err
	}
	callers := c.path("webhook-callers.kubeconfig")
	if err := os.WriteFile(callers, fmt.Appendf(nil, webhookClientKubeconfig, c.path(webhookClientCertificate+".crt"), c.path(webhookClientCertificate+".key")), 0o600); err != nil {
		return err
	}
	return os.WriteFile(c.path("admission.yaml"), fmt.Appendf(nil, admissionConfig, callers), 0o600)
}

// WebhookArgs creates a certificate for webhooks, and returns arguments for a controller. With these arguments, the
// controller serves its webhooks with this certificate, and only to the API server of this local world.
func (w *World) WebhookArgs() ([]string, error) {
	if err := w.creds.issueServerCert(webhookCertificate, []string{"localhost"}, []net.IP{net.IPv4(127, 0, 0, 1)}); err != nil {
		return nil, fmt.Errorf("certificate of webhooks: %w", err)
	}
	return []string{
		"--webhook-cert-dir=" + w.creds.dir, "--webhook-cert-file=" + webhookCertificate + ".crt", "--webhook-key-file=" + webhookCertificate + ".key",
		"--kube-ca-pem-filepath=" + w.creds.path("ca.crt"),
	}, nil
}

// InstallWebhooks applies the webhook configurations in config/webhook, with URLs on this machine instead of Services. The
// controller must have been started with WebhookArgs.
func (w *World) InstallWebhooks(ctx context.Context) error {
	objects, err := manifest.Parse(webhook.Manifests)
	if err != nil {
		return fmt.Errorf("webhooks: %w", err)
	}
	var hooks []*unstructured.Unstructured
	for _, o := range objects {
		found, err := setWebhookURLs(o, w.WebhookPort(), w.creds.caPEM)
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

// setWebhookURLs replaces the Services in a webhook configuration with URLs on this machine, and sets the CA bundle to ca
// (PEM). It returns false for an object without webhooks.
func setWebhookURLs(o *unstructured.Unstructured, port int, ca []byte) (bool, error) {
	list, found, err := unstructured.NestedSlice(o.Object, "webhooks")
	if err != nil || !found {
		return false, err
	}
	for _, item := range list {
		hook, ok := item.(map[string]any)
		if !ok {
			return false, fmt.Errorf("%s %s has a webhook that is not an object", o.GetKind(), o.GetName())
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
