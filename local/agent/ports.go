package agent

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/fulcrum-lb/fulcrum/local/echo"
)

// podPorts returns the ports of a protocol that a pod opens: those that its containers declare, and the target ports of
// its Services, since Kubernetes does not require a declaration.
func (a *agent) podPorts(pod *corev1.Pod, protocol corev1.Protocol) []int {
	set := map[int]bool{}
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if protocolOrTCP(p.Protocol) == protocol {
				set[int(p.ContainerPort)] = true
			}
		}
	}
	for _, s := range a.servicesOf(pod) {
		for _, p := range s.Spec.Ports {
			if n := targetPort(pod, p); n > 0 && protocolOrTCP(p.Protocol) == protocol {
				set[n] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(set))
}

// protocolOrTCP returns the protocol of a port, by default TCP.
func protocolOrTCP(p corev1.Protocol) corev1.Protocol { return cmp.Or(p, corev1.ProtocolTCP) }

// targetPort returns the port of a pod to which a port of a Service forwards, or 0 if there is none.
func targetPort(pod *corev1.Pod, p corev1.ServicePort) int {
	if p.TargetPort.Type == intstr.Int {
		return cmp.Or(int(p.TargetPort.IntVal), int(p.Port))
	}
	for _, c := range pod.Spec.Containers {
		for _, cp := range c.Ports {
			if cp.Name == p.TargetPort.StrVal {
				return int(cp.ContainerPort)
			}
		}
	}
	return 0
}

// portProtocol returns the protocol of a pod's port: from the name of the container port, else from the appProtocol of
// a Service, else HTTP.
func (a *agent) portProtocol(key string, port int) echo.Protocol {
	pod, err := a.podOf(key)
	if err != nil {
		return echo.HTTP
	}
	for _, c := range pod.Spec.Containers {
		for _, p := range c.Ports {
			if int(p.ContainerPort) != port {
				continue
			}
			if known, ok := echo.ProtocolOf(p.Name); ok {
				return known
			}
		}
	}
	for _, s := range a.servicesOf(pod) {
		for _, p := range s.Spec.Ports {
			if targetPort(pod, p) != port {
				continue
			}
			if p.AppProtocol != nil {
				if known, ok := echo.ProtocolOf(*p.AppProtocol); ok {
					return known
				}
			}
		}
	}
	return echo.HTTP
}

// servicesOf returns the Services that select a pod, sorted by name.
func (a *agent) servicesOf(pod *corev1.Pod) []*corev1.Service {
	all, err := a.services.Services(pod.Namespace).List(labels.Everything())
	if err != nil {
		return nil
	}
	var out []*corev1.Service
	for _, s := range all {
		if len(s.Spec.Selector) > 0 && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(pod.Labels)) {
			out = append(out, s)
		}
	}
	slices.SortFunc(out, func(x, y *corev1.Service) int { return cmp.Compare(x.Name, y.Name) })
	return out
}

// enqueuePodsOfService enqueues the pods of a Service, which may have new ports.
func (a *agent) enqueuePodsOfService(s *corev1.Service) {
	if len(s.Spec.Selector) == 0 {
		return
	}
	pods, err := a.pods.Pods(s.Namespace).List(labels.SelectorFromSet(s.Spec.Selector))
	if err != nil {
		return
	}
	for _, p := range pods {
		a.podQueue.Add(p.Namespace + "/" + p.Name)
	}
}

// podIdentity returns the names, labels and address that the server of a pod shows in its responses.
func (a *agent) podIdentity(key string, c *podEmulation) echo.Identity {
	id := echo.Identity{Node: c.node, Address: c.address.String()}
	pod, err := a.podOf(key)
	if err != nil {
		return id
	}
	id.Pod, id.Namespace = pod.Name, pod.Namespace
	id.Labels = pod.Labels
	id.App = cmp.Or(pod.Labels["app.kubernetes.io/name"], pod.Labels["app"])
	if s := a.servicesOf(pod); len(s) > 0 {
		id.Service = s[0].Name
	}
	return id
}
