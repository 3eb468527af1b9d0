package targets

import (
	"encoding/base64"
	"encoding/hex"

	corev1 "k8s.io/api/core/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
)

// QUICAnnotation is the annotation of a pod that names its containers with QUIC servers, separated by commas.
const QUICAnnotation = "service.beta.kubernetes.io/aws-load-balancer-quic-enabled-containers"

// IsQUIC reports whether the targets of a binding need QUIC server ids, by which a load balancer
// finds the pod of a connection after the address of the client has changed.
func IsQUIC(b *elbv2.TargetGroupBinding) bool {
	p := b.Spec.TargetGroupProtocol
	return p != nil && (*p == elbv2.ProtocolQUIC || *p == elbv2.ProtocolTCPQUIC)
}

// serverID returns the QUIC server id of the container that declares a port, or the first one of the pod if no
// container declares the port; empty if there is none.
func serverID(p *corev1.Pod, port int32, variable string) string {
	if _, ok := p.Annotations[QUICAnnotation]; !ok {
		return ""
	}
	first := ""
	for _, c := range servingContainers(p) {
		id := containerServerID(c, variable)
		if id == "" {
			continue
		}
		for _, declared := range c.Ports {
			if declared.ContainerPort == port {
				return id
			}
		}
		if first == "" {
			first = id
		}
	}
	return first
}

// containerServerID returns the QUIC server id in the environment of a container. An id that is set at run time does not
// appear in the pod object.
func containerServerID(c corev1.Container, variable string) string {
	if variable == "" {
		variable = DefaultQUICVariable
	}
	for _, e := range c.Env {
		if e.Name != variable || e.ValueFrom != nil {
			continue
		}
		if raw, err := base64.StdEncoding.DecodeString(e.Value); err == nil && len(raw) > 0 {
			return "0x" + hex.EncodeToString(raw)
		}
	}
	return ""
}
