// Package webhook holds the webhook configurations as they are shipped.
package webhook

import _ "embed"

// Manifests are the configurations of config/webhook/manifests.yaml, with the Service in front of the webhooks.
//
//go:embed manifests.yaml
var Manifests []byte
