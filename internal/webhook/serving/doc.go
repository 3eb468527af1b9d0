// Package serving gives the webhooks a TLS server and a certificate. The certificate comes from
// files, which are read again as they change. Where there are none the process makes one itself,
// shares it with its replicas through a Secret, writes its CA into the webhook configurations, and
// replaces it long before it expires. Nothing waits for any of this: a process without rights to
// the Secret, or without webhooks in the cluster, serves all the same.
package serving
