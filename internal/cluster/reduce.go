package cluster

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// keptAnnotations of pods: the network interfaces of one that has security groups of its own, and
// its containers that serve QUIC.
var keptAnnotations = []string{
	"vpc.amazonaws.com/pod-eni", "service.beta.kubernetes.io/aws-load-balancer-quic-enabled-containers",
}

// Reduce drops from an object what no translator reads, so that a cache stays small and changes
// of no interest are not seen as changes. It is idempotent, and changes the object it is given.
// quicEnv names the environment variable of containers that is kept; all others are dropped.
func Reduce(obj Object, quicEnv string) Object {
	reduceEdits(obj)
	if a := obj.GetAnnotations(); a[corev1.LastAppliedConfigAnnotation] != "" {
		delete(a, corev1.LastAppliedConfigAnnotation)
		obj.SetAnnotations(a)
	}
	switch o := obj.(type) {
	case *corev1.Pod:
		return reducePod(o, quicEnv)
	case *corev1.Node:
		return reduceNode(o)
	}
	return obj
}

func reducePod(p *corev1.Pod, quicEnv string) *corev1.Pod {
	meta := metav1.ObjectMeta{
		Name: p.Name, Namespace: p.Namespace, UID: p.UID, ResourceVersion: p.ResourceVersion,
		CreationTimestamp: p.CreationTimestamp, DeletionTimestamp: p.DeletionTimestamp,
	}
	for _, k := range keptAnnotations {
		if v, ok := p.Annotations[k]; ok {
			metav1.SetMetaDataAnnotation(&meta, k, v)
		}
	}
	spec := corev1.PodSpec{
		NodeName: p.Spec.NodeName, HostNetwork: p.Spec.HostNetwork,
		ReadinessGates: p.Spec.ReadinessGates,
	}
	for _, c := range p.Spec.Containers {
		spec.Containers = append(spec.Containers, reduceContainer(c, quicEnv))
	}
	for _, c := range p.Spec.InitContainers {
		// An init container that is restarted runs beside the others and may serve.
		if c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			spec.InitContainers = append(spec.InitContainers, reduceContainer(c, quicEnv))
		}
	}
	conditions := slices.Clone(p.Status.Conditions)
	for i := range conditions {
		conditions[i].LastProbeTime = metav1.Time{}
	}
	return &corev1.Pod{TypeMeta: p.TypeMeta, ObjectMeta: meta, Spec: spec, Status: corev1.PodStatus{
		Phase: p.Status.Phase, PodIP: p.Status.PodIP, PodIPs: p.Status.PodIPs, Conditions: conditions,
	}}
}

func reduceContainer(c corev1.Container, quicEnv string) corev1.Container {
	out := corev1.Container{Name: c.Name, Ports: c.Ports, RestartPolicy: c.RestartPolicy}
	for _, e := range c.Env {
		if quicEnv != "" && e.Name == quicEnv {
			out.Env = append(out.Env, e)
		}
	}
	return out
}

func reduceNode(n *corev1.Node) *corev1.Node {
	out := &corev1.Node{TypeMeta: n.TypeMeta, ObjectMeta: metav1.ObjectMeta{
		Name: n.Name, UID: n.UID, ResourceVersion: n.ResourceVersion, Labels: n.Labels,
		CreationTimestamp: n.CreationTimestamp, DeletionTimestamp: n.DeletionTimestamp,
	}}
	out.Spec = corev1.NodeSpec{ProviderID: n.Spec.ProviderID, Taints: n.Spec.Taints, Unschedulable: n.Spec.Unschedulable}
	out.Status.Addresses = n.Status.Addresses
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			// Heartbeats come every few minutes from every node and say nothing new.
			out.Status.Conditions = append(out.Status.Conditions, corev1.NodeCondition{Type: c.Type, Status: c.Status})
		}
	}
	return out
}

// Same says that two states of an object differ in nothing but their version and what the controller
// writes for others to read. Both must have been reduced alike.
func Same(a, b Object) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	if a.GetUID() != b.GetUID() {
		return false
	}
	if a.GetResourceVersion() != "" && a.GetResourceVersion() == b.GetResourceVersion() {
		return true
	}
	c := b.DeepCopyObject().(Object)
	c.SetResourceVersion(a.GetResourceVersion())
	c.SetManagedFields(a.GetManagedFields())
	if kind, _ := KindOf(a); kind == KindIngress {
		setAnnotation(c, PlanAnnotation, a)
	}
	return equality.Semantic.DeepEqual(a, c)
}

// setAnnotation gives an object the annotation that another one has, or takes it away.
func setAnnotation(obj Object, key string, like Object) {
	all := obj.GetAnnotations()
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
