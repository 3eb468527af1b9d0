package webhook

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	"github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// The names of the target control agent, its labels and its annotations.
const (
	agentInjector           = "albTargetControlAgentInjector"
	agentName               = "alb-target-control-agent"
	agentNamespaceLabel     = "elbv2.k8s.aws/alb-target-control-agent-injection"
	agentPodLabel           = "elbv2.k8s.aws/alb-target-control-agent-inject"
	agentAnnotation         = "elbv2.k8s.aws/alb-target-control-agent-"
	agentInjectedAnnotation = agentAnnotation + "injected"
	// agentInjectedPath is the path of agentInjectedAnnotation in a JSON patch, which has ~1 for a slash in a key.
	agentInjectedPath     = "/metadata/annotations/elbv2.k8s.aws~1alb-target-control-agent-injected"
	agentDefaultNamespace = "kube-system"
)

// AgentConfigName is the name of the ALBTargetControlConfig that configures the agent.
const AgentConfigName = "aws-load-balancer-controller-alb-target-control-agent-config"

// injectAgent adds the target control agent, which is the sidecar of the ALB target optimizer, to a new pod. It does so if
// the pod or its namespace has the label of the agent, and if a configuration of the agent exists.
func (c Config) injectAgent(ctx context.Context, r Request) (Response, error) {
	pod := &corev1.Pod{}
	if err := r.decode(r.Object, pod); err != nil {
		return Response{}, err
	}
	if c.AgentConfigs == nil || r.Operation != admissionv1.Create {
		return Response{}, nil
	}
	v := cluster.NewView(c.Source)
	wantsInjection := isAgentEnabled(v, r.Namespace, pod)
	if v.Err() != nil || !wantsInjection {
		return Response{}, v.Err()
	}
	cfg, err := c.agentConfig(ctx, r.Namespace)
	if err != nil || cfg == nil {
		return Response{}, err
	}
	changes, err := addAgent(pod, cfg.Spec)
	if err != nil {
		return deny(agentInjector, "%v", err), nil
	}
	return Response{Changes: changes}, nil
}

// agentConfig returns the configuration of the agent. It looks first in the namespace of the pod, then in the namespace of
// the controller, and then in agentDefaultNamespace. It returns nil if no configuration exists.
func (c Config) agentConfig(ctx context.Context, namespace string) (*v1beta1.ALBTargetControlConfig, error) {
	tried := map[string]bool{"": true}
	for _, ns := range []string{namespace, c.ControllerNamespace, agentDefaultNamespace} {
		if tried[ns] {
			continue
		}
		tried[ns] = true
		if cfg, err := c.AgentConfigs.AgentConfig(ctx, ns); err != nil || cfg != nil {
			return cfg, err
		}
	}
	return nil, nil
}

// isAgentEnabled reports whether the label of a pod enables the agent. If the pod has no such label, the label of its
// namespace is used.
func isAgentEnabled(v *cluster.View, namespace string, pod *corev1.Pod) bool {
	switch pod.Labels[agentPodLabel] {
	case "false":
		return false
	case "true":
		return true
	}
	ns, ok := cluster.Get[*corev1.Namespace](v, cluster.KindNamespace, "", namespace)
	return ok && ns.Labels[agentNamespaceLabel] == "enabled"
}

// addAgent returns the changes that add the agent to a pod that does not have the agent. Annotations of the pod override the
// configuration. An invalid annotation is an error.
func addAgent(pod *corev1.Pod, cfg v1beta1.ALBTargetControlConfigSpec) ([]PatchOperation, error) {
	if slices.ContainsFunc(pod.Spec.Containers, func(con corev1.Container) bool { return con.Name == agentName }) {
		return nil, nil
	}
	agent, err := agentContainer(pod.Annotations, *cfg.DeepCopy())
	if err != nil {
		return nil, err
	}
	mark := newSetChange(agentInjectedPath, "true")
	if len(pod.Annotations) == 0 {
		mark = newSetChange("/metadata/annotations", map[string]string{agentInjectedAnnotation: "true"})
	}
	return []PatchOperation{newSetChange("/spec/containers/-", agent), mark}, nil
}

// agentSetting is a setting of the agent.
type agentSetting struct {
	annotation string             // the annotation that overrides the field value
	variable   string             // the environment variable with the value
	value      string             // the value in the configuration
	check      func(string) error // checks the value of the annotation; nil allows any value
	required   bool               // whether the environment variable is set even if the value is empty
}

// agentContainer returns the container of the agent for a configuration and the annotations of a pod.
func agentContainer(annotations map[string]string, cfg v1beta1.ALBTargetControlConfigSpec) (corev1.Container, error) {
	const data, control = 0, 1
	settings := []agentSetting{
		{"data-address", "TARGET_CONTROL_DATA_ADDRESS", cfg.DataAddress, checkAddress, true},
		{"control-address", "TARGET_CONTROL_CONTROL_ADDRESS", cfg.ControlAddress, checkAddress, true},
		{"destination-address", "TARGET_CONTROL_DESTINATION_ADDRESS", cfg.DestinationAddress, checkAddress, true},
		{"max-concurrency", "TARGET_CONTROL_MAX_CONCURRENCY", strconv.Itoa(int(ptr.Deref(cfg.MaxConcurrency, 1))), checkNumberUpTo1000, true},
		{"tls-cert-path", "TARGET_CONTROL_TLS_CERT_PATH", ptr.Deref(cfg.TLSCertPath, ""), nil, false},
		{"tls-key-path", "TARGET_CONTROL_TLS_KEY_PATH", ptr.Deref(cfg.TLSKeyPath, ""), nil, false},
		{"tls-security-policy", "TARGET_CONTROL_TLS_SECURITY_POLICY", ptr.Deref(cfg.TLSSecurityPolicy, ""), nil, false},
		{"protocol-version", "TARGET_CONTROL_PROTOCOL_VERSION", ptr.Deref(cfg.ProtocolVersion, ""), checkOneOf("HTTP1", "HTTP2", "GRPC"), false},
		{"rust-log", "RUST_LOG", ptr.Deref(cfg.RustLog, ""), checkOneOf("debug", "info", "error"), false},
	}
	agent := corev1.Container{Name: agentName, Image: cfg.Image, Resources: agentResources(annotations, cfg.Resources)}
	if image := annotations[agentAnnotation+"image"]; image != "" {
		agent.Image = image
	}
	for i, s := range settings {
		if v := annotations[agentAnnotation+s.annotation]; v != "" {
			if s.check != nil {
				if err := s.check(v); err != nil {
					return corev1.Container{}, fmt.Errorf("annotation %s%s: %q %w", agentAnnotation, s.annotation, v, err)
				}
			}
			settings[i].value = v
		}
		if v := settings[i].value; v != "" || s.required {
			agent.Env = append(agent.Env, corev1.EnvVar{Name: s.variable, Value: v})
		}
	}
	for _, p := range []struct {
		name    string
		setting int
	}{{"data", data}, {"control", control}} {
		port, err := portOf(settings[p.setting].value)
		if err != nil {
			return corev1.Container{}, fmt.Errorf("%s address of the target control agent: %w", p.name, err)
		}
		agent.Ports = append(agent.Ports, corev1.ContainerPort{Name: p.name, ContainerPort: port, Protocol: corev1.ProtocolTCP})
	}
	return agent, nil
}

// agentResources returns the resources of the configuration, overridden by annotations. Annotations that cannot be parsed
// are ignored.
func agentResources(annotations map[string]string, cfg *corev1.ResourceRequirements) corev1.ResourceRequirements {
	out := corev1.ResourceRequirements{}
	if cfg != nil {
		out = *cfg
	}
	for _, s := range []struct {
		annotation string
		list       *corev1.ResourceList
		name       corev1.ResourceName
	}{
		{"cpu-request", &out.Requests, corev1.ResourceCPU}, {"cpu-limit", &out.Limits, corev1.ResourceCPU},
		{"memory-request", &out.Requests, corev1.ResourceMemory}, {"memory-limit", &out.Limits, corev1.ResourceMemory},
	} {
		q, err := resource.ParseQuantity(annotations[agentAnnotation+s.annotation])
		if err != nil {
			continue
		}
		if *s.list == nil {
			*s.list = corev1.ResourceList{}
		}
		(*s.list)[s.name] = q
	}
	return out
}

// checkAddress returns an error if a text is not an IP address with a port.
func checkAddress(s string) error {
	host, _, err := net.SplitHostPort(s)
	if err == nil {
		_, err = netip.ParseAddr(host)
	}
	if err == nil {
		_, err = portOf(s)
	}
	if err != nil {
		return errors.New("is not an IP address and a port, such as 127.0.0.1:80")
	}
	return nil
}

// portOf returns the port at the end of an address. It returns an error if the port is not from 1 to 65535.
func portOf(address string) (int32, error) {
	n, err := strconv.ParseUint(address[strings.LastIndexByte(address, ':')+1:], 10, 16)
	if err != nil || n == 0 {
		return 0, fmt.Errorf("%q has no valid port", address)
	}
	return int32(n), nil
}

// checkNumberUpTo1000 returns an error if a text is not a number from 0 to 1000.
func checkNumberUpTo1000(s string) error {
	if n, err := strconv.Atoi(s); err != nil || n < 0 || n > 1000 {
		return errors.New("is not a number from 0 to 1000")
	}
	return nil
}

// checkOneOf returns a function that returns an error if a text is not one of the values.
func checkOneOf(values ...string) func(string) error {
	return func(s string) error {
		if !slices.Contains(values, s) {
			return fmt.Errorf("is not one of %s", strings.Join(values, ", "))
		}
		return nil
	}
}
