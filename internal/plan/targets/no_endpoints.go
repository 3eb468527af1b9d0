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
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// NoEndpointsReason is the reason why a port of a Service has no ready endpoint.
type NoEndpointsReason struct {
	// Finding is the finding about the Service.
	Finding finding.Finding
	// Since is the time at which the Service, its EndpointSlices or its pods last changed.
	Since time.Time
	// ReportDelay is the time after Since during which the finding is not reported, because pods may be starting.
	ReportDelay time.Duration
	// HadEndpoints is set if the Service had endpoints before: its pods were scaled to zero, or its selector was changed.
	// The selector was changed if the pods still run.
	HadEndpoints bool
}

// noEndpointsReason returns the reason why a port of a Service has no ready endpoint. list has the EndpointSlices of the
// Service, either all or those of one address family. The result is nil if the port has a ready endpoint, or if the reason
// is unknown. pod returns the pod of an endpoint by name, nil if it does not exist.
func noEndpointsReason(svc *corev1.Service, port corev1.ServicePort, list []*discoveryv1.EndpointSlice, pod func(name string) *corev1.Pod) *NoEndpointsReason {
	if len(list) == 0 || svc.Spec.Type == corev1.ServiceTypeExternalName {
		return nil
	}
	out := &NoEndpointsReason{Since: svc.CreationTimestamp.Time, ReportDelay: durations.MissingWait}
	setLater := func(at time.Time) {
		if at.After(out.Since) {
			out.Since = at
		}
	}
	var portless, waiting []*corev1.Pod
	endpoints := 0
	for _, s := range list {
		setLater(s.CreationTimestamp.Time)
		out.HadEndpoints = out.HadEndpoints || s.Generation > 1
		numbers := portNumbers(s, port)
		for _, e := range s.Endpoints {
			if e.Conditions.Terminating != nil && *e.Conditions.Terminating {
				return nil // the endpoint is being removed
			}
			endpoints++
			p := &corev1.Pod{} // for an endpoint that is not a pod
			if e.TargetRef != nil {
				if p = pod(e.TargetRef.Name); p == nil {
					return nil
				}
			}
			setLater(podChangedAt(p))
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
	prefix := noReadyEndpointsPrefix(svc)
	f := finding.Finding{Object: serviceRef(svc), Severity: finding.Warning, Reason: finding.ServiceWithoutEndpoints}
	switch {
	case len(waiting) > 0:
		out.HadEndpoints, out.ReportDelay = false, durations.LongestWait
		f = NoReadyPodsFinding(svc, endpoints)
		if len(svc.Spec.Selector) == 0 {
			f.Message = fmt.Sprintf("%s: its EndpointSlices have %s, and none is ready", prefix, plan.CountText(endpoints, "endpoint"))
			f.Fix = "set the condition ready of the endpoints when they are ready"
		}
	case endpoints > 0 && port.TargetPort.Type == intstr.Int:
		return nil // each pod has a numeric port, so another client has written the EndpointSlices
	case endpoints > 0:
		out.HadEndpoints = false
		f.Reason, f.Field = finding.TargetPortNotFound, targetPortField(svc, port)
		f.Message = fmt.Sprintf("%s for port %d: targetPort %q is the name of no container port of its pods%s", prefix, port.Port, finding.TruncateValue(port.TargetPort.String()), portNamesHint(port.TargetPort, portless))
		f.Fix = "correct targetPort, or the name of the container port"
	case len(svc.Spec.Selector) == 0:
		f.Field, f.Message, f.Fix = "spec.selector", prefix+" and no selector", "create EndpointSlices for the Service, or set spec.selector"
	default:
		f.Reason, f.Field = finding.SelectorMatchesNoPod, "spec.selector"
		f.Message = fmt.Sprintf("%s: spec.selector %q matches no pod that has an address", prefix, finding.TruncateValue(labels.SelectorFromSet(svc.Spec.Selector).String()))
		f.Fix = "correct the selector, or start pods with these labels"
	}
	out.Finding = f
	return out
}

// NoEndpointsReasonOf returns the reason why the Service port of a binding has no ready endpoint; nil if it has one, or if
// the reason is unknown.
func NoEndpointsReasonOf(v *cluster.View, b *elbv2.TargetGroupBinding, svc *corev1.Service) *NoEndpointsReason {
	port, ok := portOf(svc, b.Spec.ServiceRef.Port)
	if !ok {
		return nil
	}
	return noEndpointsReason(svc, port, cluster.List[*discoveryv1.EndpointSlice](v, cluster.EndpointSlicesOf(svc.Namespace, svc.Name)), podReader(v, svc.Namespace))
}

// serviceRef returns the reference of a Service in findings.
func serviceRef(svc *corev1.Service) finding.Ref {
	return finding.Ref{Kind: cluster.KindService, Namespace: svc.Namespace, Name: svc.Name}
}

// noReadyEndpointsPrefix returns the beginning of each message about a Service without ready endpoints.
func noReadyEndpointsPrefix(svc *corev1.Service) string {
	return fmt.Sprintf("Service %s/%s has no ready endpoints", svc.Namespace, svc.Name)
}

// NoReadyPodsFinding returns the finding about a Service whose pods are all unready.
func NoReadyPodsFinding(svc *corev1.Service, pods int) finding.Finding {
	return finding.Finding{
		Object: serviceRef(svc), Severity: finding.Warning, Reason: finding.ServiceWithoutEndpoints,
		Message: fmt.Sprintf("%s: its selector matches %s, and none is ready", noReadyEndpointsPrefix(svc), plan.CountText(pods, "pod")),
		Fix:     "look at the pods and their readiness probes",
	}
}

// targetPortField returns, for findings, the path of the targetPort field of a Service port.
func targetPortField(svc *corev1.Service, port corev1.ServicePort) string {
	i := slices.IndexFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port.Port && p.Protocol == port.Protocol })
	return fmt.Sprintf("spec.ports[%d].targetPort", max(i, 0))
}

// maxPortNames is the maximum number of names of container ports that are compared with the target port of a Service.
const maxPortNames = 20

// portNamesHint returns the end of the message about a target port: a similar name of a container port, or all names.
func portNamesHint(want intstr.IntOrString, pods []*corev1.Pod) string {
	var names []string
	for _, p := range pods[:min(len(pods), 1)] {
		for _, c := range servingContainers(p) {
			for _, port := range c.Ports {
				if port.Name != "" && len(names) < maxPortNames && !slices.Contains(names, port.Name) {
					names = append(names, port.Name)
				}
			}
		}
	}
	if hint := finding.SpellingHint(want.String(), names); hint != "" || len(names) == 0 {
		return hint
	}
	return fmt.Sprintf(", which have %q", finding.TruncateValue(strings.Join(names, ", ")))
}
