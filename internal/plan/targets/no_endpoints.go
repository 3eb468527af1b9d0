package targets

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// NoEndpoints is why no pod serves behind a port of a Service.
type NoEndpoints struct {
	// Finding is about the Service.
	Finding finding.Finding
	// Since is when the Service, its EndpointSlices or its pods last changed. For Normal after that no endpoint is no fault,
	// as pods start or are replaced.
	Since  time.Time
	Normal time.Duration
	// Emptied reports that the Service has no endpoint and has had some: either its pods were scaled to zero, or its
	// selector was changed. Pods that are still there tell the one from the other.
	Emptied bool
}

// WhyNoEndpoints finds out why no pod serves behind a port of a Service, from all its slices of one family of addresses; nil if
// one does, or that is not known. pod returns the pod of an endpoint, nil if it is not known.
func WhyNoEndpoints(svc *corev1.Service, port corev1.ServicePort, list []*discoveryv1.EndpointSlice, pod func(name string) *corev1.Pod) *NoEndpoints {
	if len(list) == 0 || svc.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	out := &NoEndpoints{Since: svc.CreationTimestamp.Time, Normal: durations.MissingWait}
	later := func(at time.Time) {
		if at.After(out.Since) {
			out.Since = at
		}
	}
	var portless, waiting []*corev1.Pod
	endpoints := 0
	for _, s := range list {
		later(s.CreationTimestamp.Time)
		out.Emptied = out.Emptied || s.Generation > 1
		numbers := portNumbers(s, port)
		for _, e := range s.Endpoints {
			if e.Conditions.Terminating != nil && *e.Conditions.Terminating {
				return nil // being removed, so that this passes
			}
			endpoints++
			p := &corev1.Pod{} // of an endpoint that is no pod
			if e.TargetRef != nil {
				if p = pod(e.TargetRef.Name); p == nil {
					return nil
				}
			}
			later(changedAt(p))
			switch ready := e.Conditions.Ready == nil || *e.Conditions.Ready; {
			case len(numbers) == 0:
				portless = append(portless, p)
			case ready:
				return nil
			default:
				waiting = append(waiting, p)
			}
		}
	}
	reported := noReadyEndpoints(svc)
	f := finding.Finding{Object: serviceRef(svc), Severity: finding.Warning, Reason: finding.ServiceWithoutEndpoints}
	switch {
	case len(waiting) > 0:
		out.Emptied, out.Normal = false, durations.LongestWait
		f = NoneReady(svc, endpoints)
	case endpoints > 0 && port.TargetPort.Type == intstr.Int:
		return nil // every pod has every number, so the slices are not as Kubernetes makes them
	case endpoints > 0:
		out.Emptied = false
		f.Reason, f.Field = finding.TargetPortNotFound, targetPortField(svc, port)
		f.Message = fmt.Sprintf("%s for port %d: targetPort %q is the name of no container port of its pods%s", reported, port.Port, finding.Cut(port.TargetPort.String()), namedPorts(port.TargetPort, portless))
		f.Fix = "correct one of the two"
	case len(svc.Spec.Selector) == 0:
		f.Field, f.Message, f.Fix = "spec.selector", reported+" and no selector", "write its EndpointSlices, or set spec.selector"
	default:
		f.Reason, f.Field = finding.SelectorMatchesNoPod, "spec.selector"
		f.Message = fmt.Sprintf("%s: spec.selector %q matches no pod that has an address", reported, finding.Cut(labels.SelectorFromSet(svc.Spec.Selector).String()))
		f.Fix = "correct it, or start pods with these labels"
	}
	out.Finding = f
	return out
}

// WhyNoEndpointsOf is WhyNoEndpoints for the Service of a binding.
func WhyNoEndpointsOf(v *cluster.View, b *elbv2.TargetGroupBinding, svc *corev1.Service) *NoEndpoints {
	port, ok := portOf(svc, b.Spec.ServiceRef.Port)
	if !ok {
		return nil
	}
	return WhyNoEndpoints(svc, port, cluster.List[*discoveryv1.EndpointSlice](v, cluster.SlicesOf(svc.Namespace, svc.Name)), podIn(v, svc.Namespace))
}

func serviceRef(svc *corev1.Service) finding.Ref {
	return finding.Ref{Kind: string(cluster.KindService), Namespace: svc.Namespace, Name: svc.Name}
}

func noReadyEndpoints(svc *corev1.Service) string {
	return fmt.Sprintf("Service %s/%s has no ready endpoints", svc.Namespace, svc.Name)
}

// NoneReady returns the finding about a Service of whose pods none is ready.
func NoneReady(svc *corev1.Service, pods int) finding.Finding {
	return finding.Finding{
		Object: serviceRef(svc), Severity: finding.Warning, Reason: finding.ServiceWithoutEndpoints,
		Message: fmt.Sprintf("%s: its selector matches %s, and none is ready", noReadyEndpoints(svc), podsText(pods)),
		Fix:     "look at the pods and their readiness probes",
	}
}

func podsText(n int) string {
	if n == 1 {
		return "1 pod"
	}
	return fmt.Sprintf("%d pods", n)
}

func targetPortField(svc *corev1.Service, port corev1.ServicePort) string {
	i := slices.IndexFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port.Port && p.Protocol == port.Protocol })
	return fmt.Sprintf("spec.ports[%d].targetPort", max(i, 0))
}

// mostPortNames is how many names of container ports are compared with the one that a Service names.
const maxPortNames = 20

// namedPorts returns what the container ports of pods are named instead.
func namedPorts(want intstr.IntOrString, pods []*corev1.Pod) string {
	var names []string
	for _, p := range pods[:min(len(pods), 1)] {
		for _, c := range lastingContainers(p) {
			for _, port := range c.Ports {
				if port.Name != "" && len(names) < maxPortNames && !slices.Contains(names, port.Name) {
					names = append(names, port.Name)
				}
			}
		}
	}
	if near := finding.DidYouMean(want.String(), names); near != "" || len(names) == 0 {
		return near
	}
	return fmt.Sprintf(", which have %q", finding.Cut(strings.Join(names, ", ")))
}
