// Package serving has the TLS server of the webhooks and its certificate. The certificate is read from files, which are
// reloaded when they change. Without files, the process creates a certificate, shares it with its replicas through a Secret,
// writes its CA into the webhook configurations, and replaces the certificate long before it expires. A process outside a
// cluster, or without permission for the Secret, serves a certificate that only this process has.
package serving
