// Package webhook answers the admission requests of the API server: it validates Ingresses,
// IngressClassParams, TargetGroupBindings and GlobalAccelerators, completes TargetGroupBindings and Services, and adds
// readiness gates, server ids and sidecars to pods. It validates an Ingress by the
// translation that builds load balancers, with the proposed object in place of the stored one.
//
// It reads no Secret, writes nothing, and makes no call to AWS. Package serving has the certificate and the TLS server.
package webhook
