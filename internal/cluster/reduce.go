package cluster

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"unique"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// Prefixes of the annotations that the controller reads, and other annotations that it reads.
const (
	annotationPrefix = "alb.ingress.kubernetes.io/"
	servicePrefix    = "service.beta.kubernetes.io/"
	podENIAnnotation = "vpc.amazonaws.com/pod-eni" // the network interfaces of a pod that has its own security groups
	quicAnnotation   = "service.beta.kubernetes.io/aws-load-balancer-quic-enabled-containers"
)

// largeAnnotationBytes is the length in bytes above which Reduce retains an annotation of an Ingress or Gateway that the
// controller does not read. The removal of such an annotation must cause an event, because the plan annotation of the
// controller may then fit into the object.
const largeAnnotationBytes = 4 << 10

// Reduce removes the fields of an object that the controller does not read, and returns the result. This keeps the cache
// small, and changes of these fields cause no events. Reduce is idempotent. It may change obj. quicEnv is the name of the
// environment variable that is retained in containers that serve QUIC. All other environment variables are removed.
func Reduce(obj Object, quicEnv string) Object {
	reduceManagedFields(obj)
	switch o := obj.(type) {
	case *corev1.Pod:
		return reducePod(o, quicEnv)
	case *corev1.Node:
		return reduceNode(o)
	case *corev1.Namespace:
		return &corev1.Namespace{TypeMeta: o.TypeMeta, ObjectMeta: reduceMeta(o.ObjectMeta, o.Labels, nil)}
	case *networkingv1.Ingress:
		o.ObjectMeta = reduceMeta(o.ObjectMeta, nil, func(k string) bool {
			return isIngressAnnotation(k) || isMistypedPrefix(k, annotationPrefix) || k == ClassAnnotation || k == naming.AdoptedByAnnotation || len(o.Annotations[k]) > largeAnnotationBytes && k != corev1.LastAppliedConfigAnnotation
		})
	case *networkingv1.IngressClass:
		o.ObjectMeta = reduceMeta(o.ObjectMeta, nil, func(k string) bool { return k == DefaultClassAnnotation })
	case *elbv2.IngressClassParams:
		o.ObjectMeta = reduceMeta(o.ObjectMeta, nil, nil)
	case *corev1.Service:
		o.ObjectMeta = reduceMeta(o.ObjectMeta, nil, func(k string) bool {
			return isIngressAnnotation(k) || strings.HasPrefix(k, servicePrefix) || k == LoadBalancerGroupAnnotation || k == naming.AdoptedByAnnotation || isMistypedPrefix(k, servicePrefix)
		})
		shown := o.Status.LoadBalancer.Ingress
		o.Status = corev1.ServiceStatus{}
		// The load balancer of another controller may be an endpoint of an accelerator.
		if len(finalizerValues(o)) > 0 || o.Spec.Type == corev1.ServiceTypeLoadBalancer {
			o.Status.LoadBalancer.Ingress = shown
		}
	case *discoveryv1.EndpointSlice:
		reduceEndpointSlice(o)
	default:
		if reduceOptionalKind(obj) {
			return obj
		}
		if a := obj.GetAnnotations(); a[corev1.LastAppliedConfigAnnotation] != "" {
			delete(a, corev1.LastAppliedConfigAnnotation)
			obj.SetAnnotations(a)
		}
	}
	return obj
}

// isIngressAnnotation reports whether an annotation has the prefix of the annotations of Ingresses.
func isIngressAnnotation(annotation string) bool {
	return strings.HasPrefix(annotation, annotationPrefix)
}

// isMistypedPrefix reports whether the prefix of an annotation is similar to the expected prefix. Such annotations are
// retained, because findings report them.
func isMistypedPrefix(annotation, prefix string) bool {
	has, _, _ := strings.Cut(annotation, "/")
	return finding.NearestWord(has+"/", []string{prefix}) != ""
}

// reduceMeta returns the metadata that the controller reads, with the given labels and with the annotations for which read
// returns true. If read is nil, it returns no annotations.
func reduceMeta(m metav1.ObjectMeta, labels map[string]string, read func(key string) bool) metav1.ObjectMeta {
	out := metav1.ObjectMeta{
		Name: m.Name, Namespace: m.Namespace, UID: m.UID, ResourceVersion: m.ResourceVersion, Generation: m.Generation,
		CreationTimestamp: m.CreationTimestamp, DeletionTimestamp: m.DeletionTimestamp, Finalizers: m.Finalizers,
		ManagedFields: m.ManagedFields, Labels: labels,
	}
	for k, v := range m.Annotations {
		if read != nil && read(k) {
			metav1.SetMetaDataAnnotation(&out, k, v)
		}
	}
	return out
}

// reducePod is Reduce for a pod.
func reducePod(p *corev1.Pod, quicEnv string) *corev1.Pod {
	meta := reduceMeta(p.ObjectMeta, nil, func(k string) bool { return k == podENIAnnotation || k == quicAnnotation })
	meta.Generation, meta.Finalizers, meta.Namespace = 0, nil, intern(meta.Namespace)
	_, quic := meta.Annotations[quicAnnotation]
	spec := corev1.PodSpec{NodeName: intern(p.Spec.NodeName), HostNetwork: p.Spec.HostNetwork}
	for _, g := range p.Spec.ReadinessGates {
		if isReadinessGate(g.ConditionType) {
			g.ConditionType = intern(g.ConditionType)
			spec.ReadinessGates = append(spec.ReadinessGates, g)
		}
	}
	for _, c := range p.Spec.Containers {
		if c, read := reduceContainer(c, quic, quicEnv); read {
			spec.Containers = append(spec.Containers, c)
		}
	}
	for _, c := range p.Spec.InitContainers {
		// An init container with restartPolicy Always is a sidecar, which may serve requests.
		if c.RestartPolicy == nil || *c.RestartPolicy != corev1.ContainerRestartPolicyAlways {
			continue
		}
		if c, read := reduceContainer(c, quic, quicEnv); read {
			spec.InitContainers = append(spec.InitContainers, c)
		}
	}
	status := corev1.PodStatus{Phase: intern(p.Status.Phase), PodIP: p.Status.PodIP}
	if len(p.Status.PodIPs) > 1 || len(p.Status.PodIPs) == 1 && p.Status.PodIPs[0].IP != p.Status.PodIP {
		status.PodIPs = p.Status.PodIPs
	}
	for _, c := range p.Status.Conditions {
		c.Type, c.Status = intern(c.Type), intern(c.Status)
		switch {
		case isReadinessGate(c.Type):
			c.LastProbeTime = metav1.Time{}
			status.Conditions = append(status.Conditions, c)
		case c.Type == corev1.PodReady:
			status.Conditions = append(status.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status})
		case c.Type == corev1.ContainersReady:
			status.Conditions = append(status.Conditions, corev1.PodCondition{Type: c.Type, Status: c.Status, LastTransitionTime: c.LastTransitionTime})
		}
	}
	status.Conditions = slices.Clip(status.Conditions)
	return &corev1.Pod{TypeMeta: p.TypeMeta, ObjectMeta: meta, Spec: spec, Status: status}
}

// intern returns a copy of s that all objects with the same text share, to save memory.
func intern[T ~string](s T) T { return unique.Make(s).Value() }

// isReadinessGate reports whether the controller sets the readiness gate or pod condition with this type.
func isReadinessGate(t corev1.PodConditionType) bool {
	return strings.HasPrefix(string(t), readinessGatePrefix) || strings.HasPrefix(string(t), legacyReadinessGatePrefix)
}

// reduceContainer returns a container with its named ports. If quic is true, it returns all ports, and the environment
// variable quicEnv, which has the server ID. It also reports whether the result has a port or a variable.
func reduceContainer(c corev1.Container, quic bool, quicEnv string) (corev1.Container, bool) {
	out := corev1.Container{RestartPolicy: c.RestartPolicy}
	for _, p := range c.Ports {
		if quic || p.Name != "" {
			out.Ports = append(out.Ports, corev1.ContainerPort{Name: intern(p.Name), ContainerPort: p.ContainerPort, Protocol: intern(p.Protocol)})
		}
	}
	for _, e := range c.Env {
		if quic && quicEnv != "" && e.Name == quicEnv {
			out.Env = append(out.Env, e)
		}
	}
	return out, len(out.Ports)+len(out.Env) > 0
}

// reduceNode is Reduce for a node.
func reduceNode(n *corev1.Node) *corev1.Node {
	meta := reduceMeta(n.ObjectMeta, n.Labels, nil)
	meta.Generation, meta.Finalizers = 0, nil
	out := &corev1.Node{TypeMeta: n.TypeMeta, ObjectMeta: meta}
	out.Spec = corev1.NodeSpec{ProviderID: n.Spec.ProviderID, Taints: n.Spec.Taints, Unschedulable: n.Spec.Unschedulable}
	out.Status.Addresses = n.Status.Addresses
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			// The heartbeat time is removed, because it changes every few minutes for each node.
			out.Status.Conditions = append(out.Status.Conditions, corev1.NodeCondition{Type: c.Type, Status: c.Status})
		}
	}
	return out
}

// reduceEndpointSlice is Reduce for an EndpointSlice. It retains the label with the Service, the ports, and the addresses,
// conditions and pods of endpoints.
func reduceEndpointSlice(s *discoveryv1.EndpointSlice) {
	var labels map[string]string
	if svc, ok := s.Labels[discoveryv1.LabelServiceName]; ok {
		labels = map[string]string{discoveryv1.LabelServiceName: svc}
	}
	s.ObjectMeta = reduceMeta(s.ObjectMeta, labels, nil)
	all := s.Endpoints
	s.Endpoints = make([]discoveryv1.Endpoint, len(all)) // a new slice, because the decoded slice has unused capacity
	for i, e := range all {
		s.Endpoints[i] = discoveryv1.Endpoint{Addresses: e.Addresses, Conditions: e.Conditions}
		if t := e.TargetRef; t != nil {
			s.Endpoints[i].TargetRef = &corev1.ObjectReference{Kind: intern(t.Kind), Namespace: intern(t.Namespace), Name: t.Name, UID: t.UID}
		}
	}
}

// SameContent reports whether two states of an object are equal, apart from the resourceVersion, managed fields, and
// annotations that the controller writes and never reads. Both states must be results of Reduce.
func SameContent(a, b Object) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if a.GetUID() != b.GetUID() {
		return false
	}
	if a.GetResourceVersion() != "" && a.GetResourceVersion() == b.GetResourceVersion() {
		return true
	}
	c := shallowCopy(b)
	c.SetResourceVersion(a.GetResourceVersion())
	c.SetManagedFields(a.GetManagedFields())
	switch kind, _ := KindOf(a); kind {
	case KindIngress:
		copyAnnotation(c, IngressPlanAnnotation, a)
	case KindGateway:
		copyAnnotation(c, GatewayPlanAnnotation, a)
	}
	return equality.Semantic.DeepEqual(a, c)
}

// shallowCopy copies the fields of an object, but not the values that they point to.
func shallowCopy(o Object) Object {
	out := newOfSameKind(o)
	reflect.ValueOf(out).Elem().Set(reflect.ValueOf(o).Elem())
	return out
}

// newOfSameKind returns an empty object of the same kind.
func newOfSameKind(o Object) Object {
	return reflect.New(reflect.TypeOf(o).Elem()).Interface().(Object)
}

// copyAnnotation copies an annotation from like to obj, or removes the annotation from obj if like does not have it.
func copyAnnotation(obj Object, key string, like Object) {
	all := maps.Clone(obj.GetAnnotations())
	v, ok := like.GetAnnotations()[key]
	switch {
	case ok && all == nil:
		all = map[string]string{key: v}
	case ok:
		all[key] = v
	default:
		delete(all, key)
	}
	obj.SetAnnotations(all)
}
