// Package serving has the TLS server of the webhooks and its certificate. The certificate is read from files, which are
// reloaded when they change. Without files, the process creates a certificate, shares it with its replicas through a Secret,
// writes its CA into the webhook configurations, and replaces it long before it expires. A process without permission for
// the Secret, or outside a cluster, serves a certificate that it does not share.
package serving
