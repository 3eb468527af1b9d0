// Package serving has the TLS server of the webhooks and its certificate. The certificate is read from files, which are
// read again when they change. Without files the process makes a certificate, shares it with its replicas through a
// Secret, writes its CA into the webhook configurations, and replaces it long before it expires. A process without rights
// to the Secret, or without webhooks in the cluster, serves with a certificate of its own.
package serving
