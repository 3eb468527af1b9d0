// Package webhook answers the API server's admission questions: it validates Ingresses,
// IngressClassParams, TargetGroupBindings and GlobalAccelerators, completes TargetGroupBindings and Services, and adds
// readiness gates, server ids and sidecars to pods. An Ingress is judged by the same translation
// that builds load balancers, over a view in which the proposed object has replaced the stored one.
//
// It reads no Secret, writes nothing, and asks AWS only about the target group that a
// TargetGroupBinding names. It holds no certificate and opens no port; package serving does.
package webhook
