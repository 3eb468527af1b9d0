package targets

import (
	"encoding/base64"
	"encoding/hex"

	corev1 "k8s.io/api/core/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
)

// QUICAnnotation is the annotation of a pod that names its containers with QUIC servers, separated by commas.
const QUICAnnotation = "service.beta.kubernetes.io/aws-load-balancer-quic-enabled-containers"

// IsQUIC reports whether the targets of a binding need QUIC server IDs. A load balancer uses the server ID to find the pod
// of a connection after the address of the client has changed.
func IsQUIC(b *elbv2.TargetGroupBinding) bool {
	p := b.Spec.TargetGroupProtocol
	return p != nil && (*p == elbv2.ProtocolQUIC || *p == elbv2.ProtocolTCPQUIC)
}

// serverID returns the QUIC server ID of the container that declares a port. If no container with a server ID declares the
// port, serverID returns the first server ID of the pod. The result is empty if the pod has no server ID or no
// QUICAnnotation. variable is the environment variable with the server ID.
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

// containerServerID returns the QUIC server ID in the environment of a container as hexadecimal text, or "" if there is
// none. It ignores values with valueFrom, because the pod object does not contain them.
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
