// Package webhook answers the admission requests of the API server: it validates Ingresses, IngressClassParams,
// TargetGroupBindings and GlobalAccelerators, completes TargetGroupBindings and Services, and adds readiness gates, server
// IDs and sidecars to pods. To validate an Ingress, it translates the proposed object in place of the stored object, with
// the same translation that the controller uses.
//
// The package reads no Secret, writes nothing, and makes no call to AWS. Package serving has the TLS server and its
// certificate.
package webhook
