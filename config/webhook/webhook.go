// Package webhook has a file with the webhook configurations of the controller.
package webhook

import _ "embed"

// Manifests is the YAML of config/webhook/manifests.yaml: the webhook configurations, and the Service of the webhooks.
//
//go:embed manifests.yaml
var Manifests []byte
