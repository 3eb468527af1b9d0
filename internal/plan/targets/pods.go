package targets

import (
	"cmp"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// maxEndpoints is the maximum number of endpoints of a binding. An address in an EndpointSlice counts once for each port of
// the EndpointSlice. Tenants can write EndpointSlices with thousands of addresses and ports, but AWS accepts far fewer
// targets in a target group.
const maxEndpoints = 50_000

// resolvePods sets the endpoints in r to the ready pods of the Service, and to pods that are unready only because of a
// readiness gate. If there are no such pods and o.FailOpen is set, the endpoints are pods on nodes whose Ready condition is
// Unknown.
func resolvePods(v *cluster.View, b *elbv2.TargetGroupBinding, svc *corev1.Service, port corev1.ServicePort, o Options, r *Resolution) {
	var found []*discoveryv1.EndpointSlice
	if o.UseEndpointsObjects {
		if found = slicesFromEndpointsObject(v, b, svc, r); r.BackendMissing {
			return
		}
	} else {
		found = endpointSlices(v, b, svc, r)
	}
	if r.SourceMissing {
		return
	}
	ready, unknown := podEndpoints(v, b, port, found, r)
	r.endpoints = ready
	if len(ready) == 0 && o.FailOpen {
		r.endpoints = unknown
	}
	if len(r.endpoints) == 0 && !r.ViewInconsistent && !o.UseEndpointsObjects {
		r.NoEndpointsReason = noEndpointsReason(svc, port, found, podReader(v, b.Namespace))
	}
}

// podEndpoints returns the endpoints that have to be registered, and those on nodes whose Ready condition is Unknown. It
// ignores endpoints above maxEndpoints, and adds a finding. EndpointSlices with the most ports come last, because the
// EndpointSlices that Kubernetes writes have few ports.
func podEndpoints(v *cluster.View, b *elbv2.TargetGroupBinding, port corev1.ServicePort, found []*discoveryv1.EndpointSlice, r *Resolution) (ready, unknown []Endpoint) {
	byPorts := func(a, b *discoveryv1.EndpointSlice) int { return cmp.Compare(len(a.Ports), len(b.Ports)) }
	for _, s := range slices.SortedStableFunc(slices.Values(found), byPorts) {
		numbers := portNumbers(s, port)
		if len(numbers) == 0 {
			continue
		}
		for _, e := range s.Endpoints {
			if len(ready)+len(unknown)+len(numbers) > maxEndpoints {
				r.Findings.Add(finding.Finding{
					Object: BindingRef(b), Field: "spec.serviceRef", Reason: finding.EndpointIgnored, Severity: finding.Warning,
					Message: fmt.Sprintf("the Service has more than %d endpoints; the others are not registered", maxEndpoints),
					Fix:     "check what writes the EndpointSlices of the Service",
				})
				return ready, unknown
			}
			pod, state := podOf(v, b, e, r)
			for _, number := range numbers {
				switch at := (Endpoint{Port: number, Pod: pod}); state {
				case endpointUsable:
					at.ID = e.Addresses[0]
					ready = append(ready, at)
				case endpointNodeUnknown:
					at.ID = e.Addresses[0]
					unknown = append(unknown, at)
				}
			}
		}
	}
	return ready, unknown
}

// podReader returns a function that reads a pod of the namespace by name. The function returns nil if the pod does not
// exist.
func podReader(v *cluster.View, namespace string) func(name string) *corev1.Pod {
	return func(name string) *corev1.Pod {
		p, _ := cluster.Get[*corev1.Pod](v, cluster.KindPod, namespace, name)
		return p
	}
}

// endpointSlices returns the EndpointSlices of a Service for the address family of the target group. Kubernetes creates an
// empty EndpointSlice for a Service without pods. If a Service with a selector has no EndpointSlice, the endpoints are
// unknown: endpointSlices sets r.SourceMissing and adds a finding.
func endpointSlices(v *cluster.View, b *elbv2.TargetGroupBinding, svc *corev1.Service, r *Resolution) []*discoveryv1.EndpointSlice {
	family := discoveryv1.AddressTypeIPv4
	if t := b.Spec.IPAddressType; t != nil && *t == elbv2.TargetGroupIPAddressTypeIPv6 {
		family = discoveryv1.AddressTypeIPv6
	}
	all := cluster.List[*discoveryv1.EndpointSlice](v, cluster.EndpointSlicesOf(svc.Namespace, svc.Name))
	if len(all) == 0 && len(svc.Spec.Selector) > 0 {
		message := fmt.Sprintf("Service %s/%s has no EndpointSlice, not even an empty one", svc.Namespace, svc.Name)
		fix := "check that the EndpointSlice controller of Kubernetes runs and that nothing deletes EndpointSlices"
		if svc.Spec.Type == corev1.ServiceTypeExternalName {
			message = fmt.Sprintf("Service %s/%s is of type %q, for which Kubernetes creates no EndpointSlices", svc.Namespace, svc.Name, svc.Spec.Type)
			fix = "change the type of the Service, or use another Service as backend"
		}
		r.setSourceMissing(b, message+"; registered addresses stay registered while their pods exist", fix)
	}
	return slices.DeleteFunc(slices.Clone(all), func(s *discoveryv1.EndpointSlice) bool { return s.AddressType != family })
}

// portNumbers returns the container port numbers of an EndpointSlice for a port of the Service, or all its ports if the port
// of the Service has no name. A named target port may have another number in each EndpointSlice.
func portNumbers(s *discoveryv1.EndpointSlice, port corev1.ServicePort) []int32 {
	var out []int32
	for _, p := range s.Ports {
		name := ""
		if p.Name != nil {
			name = *p.Name
		}
		if p.Port != nil && (port.Name == "" || name == port.Name) {
			out = append(out, *p.Port)
		}
	}
	return out
}

// endpointState is the decision whether to register an endpoint.
type endpointState int

const (
	endpointOmitted     endpointState = iota
	endpointUsable                    // the endpoint has to be registered
	endpointNodeUnknown               // the Ready condition of the node is Unknown; see Options.FailOpen
)

// podOf returns the pod of an endpoint and the state of the endpoint. Tenants can write EndpointSlices, so podOf omits an
// endpoint whose address does not belong to a pod in the namespace of the binding. It sets r.ViewInconsistent if the view
// may be outdated.
func podOf(v *cluster.View, b *elbv2.TargetGroupBinding, e discoveryv1.Endpoint, r *Resolution) (*corev1.Pod, endpointState) {
	ref := e.TargetRef
	if ref == nil || ref.Kind != "Pod" || len(e.Addresses) == 0 {
		return nil, endpointOmitted
	}
	if ref.Namespace != "" && ref.Namespace != b.Namespace {
		reportIgnoredEndpoint(b, e, r, fmt.Sprintf("its targetRef names a pod of namespace %q", ref.Namespace))
		return nil, endpointOmitted
	}
	pod, ok := cluster.Get[*corev1.Pod](v, cluster.KindPod, b.Namespace, ref.Name)
	if !ok || ref.UID != "" && pod.UID != ref.UID || cluster.IsPodFinished(pod) {
		r.ViewInconsistent = true
		return nil, endpointOmitted
	}
	addresses := cluster.PodAddresses(pod)
	if len(addresses) == 0 {
		r.ViewInconsistent = true
		return nil, endpointOmitted
	}
	if !slices.Contains(addresses, cluster.CanonicalIP(e.Addresses[0])) {
		r.ViewInconsistent = true
		reportIgnoredEndpoint(b, e, r, fmt.Sprintf("pod %s does not have this address", pod.Name))
		return nil, endpointOmitted
	}
	if isSuperseded(v, pod, e.Addresses[0]) {
		r.ViewInconsistent = true
		reportIgnoredEndpoint(b, e, r, "a newer pod has this address")
		return nil, endpointOmitted
	}
	if c := e.Conditions; c.Ready == nil || *c.Ready {
		return pod, endpointUsable
	}
	if podConditionStatus(pod, corev1.ContainersReady) != corev1.ConditionTrue {
		return pod, endpointOmitted
	}
	node, ok := cluster.Get[*corev1.Node](v, cluster.KindNode, "", pod.Spec.NodeName)
	if !ok {
		return pod, endpointOmitted
	}
	terminating := e.Conditions.Terminating != nil && *e.Conditions.Terminating
	switch nodeReadyStatus(node) {
	case corev1.ConditionTrue:
		if !terminating {
			return pod, endpointUsable
		}
	case corev1.ConditionUnknown:
		return pod, endpointNodeUnknown
	}
	return pod, endpointOmitted
}

// reportIgnoredEndpoint adds a finding about an endpoint that is not registered, because its EndpointSlice contradicts the
// pods of the cluster. why is the reason in the message.
func reportIgnoredEndpoint(b *elbv2.TargetGroupBinding, e discoveryv1.Endpoint, r *Resolution, why string) {
	r.Findings.Add(finding.Finding{
		Object: BindingRef(b), Field: "spec.serviceRef", Reason: finding.EndpointIgnored, Severity: finding.Warning,
		Message: fmt.Sprintf("endpoint %s of pod %s is not registered: %s", e.Addresses[0], e.TargetRef.Name, why),
		Fix:     "check what writes the EndpointSlices of the Service",
	})
}

// isServing reports whether a pod is ready, and is neither terminating nor finished.
func isServing(p *corev1.Pod) bool {
	return p.DeletionTimestamp == nil && !cluster.IsPodFinished(p) && podConditionStatus(p, corev1.PodReady) == corev1.ConditionTrue
}

// podConditionStatus returns the status of a pod condition, "" if the pod does not have it.
func podConditionStatus(p *corev1.Pod, t corev1.PodConditionType) corev1.ConditionStatus {
	c, _, _ := CurrentCondition(p, t)
	return c.Status
}
