package targets

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// StaleTargets returns the registered targets that a binding of the namespace must not register any more: addresses that no
// pod of the namespace has or that a newer pod of another namespace has, and instances that are not nodes. A VPC assigns the
// address of a deleted pod to another pod after about half a minute. Therefore these targets must be deregistered even if
// other facts are unknown. The view subscribes to the pods, so that the end of a pod triggers another run.
func StaleTargets(v *cluster.View, namespace string, registered []*observed.Target) []*observed.Target {
	var instances map[string]bool
	return slices.DeleteFunc(slices.Clone(registered), func(t *observed.Target) bool {
		switch _, err := netip.ParseAddr(t.ID); {
		case err == nil:
			return namespaceHasAddress(v, namespace, cluster.CanonicalIP(t.ID))
		case strings.HasPrefix(t.ID, "i-"):
			if instances == nil {
				instances = nodeInstances(v)
			}
			// If there are no nodes, the view is not complete, and the instance is retained. EC2 does not reuse instance
			// IDs.
			return len(instances) == 0 || instances[t.ID]
		}
		return true // a load balancer or a function
	})
}

// namespaceHasAddress reports whether a pod of the namespace has an address that no newer pod has, or uses the host network
// of a node with the address.
func namespaceHasAddress(v *cluster.View, namespace, address string) bool {
	holders := podsWithAddress(v, address)
	return slices.ContainsFunc(holders, func(p *corev1.Pod) bool { return p.Namespace == namespace && !isOlderThanAny(p, holders) }) ||
		len(podsByIndexValue(v, "", cluster.HostAddressValue(namespace, address))) > 0
}

// ServingPodAt returns a ready pod of the namespace whose address, or whose node's address if it uses the host network, is
// the given one in canonical form; nil if there is none. If there are several such pods, it returns the last by name.
func ServingPodAt(v *cluster.View, namespace, address string) *corev1.Pod {
	var out *corev1.Pod
	for _, value := range []string{address, cluster.HostAddressValue(namespace, address)} {
		for _, p := range podsByIndexValue(v, namespace, value) {
			if isServing(p) && (out == nil || p.Name > out.Name) {
				out = p
			}
		}
	}
	return out
}

// podsWithAddress returns the pods of all namespaces whose status has an address. The status of a pod on a lost node
// has its address for minutes after another pod got the same address.
func podsWithAddress(v *cluster.View, address string) []*corev1.Pod {
	return podsByIndexValue(v, "", address)
}

// podsByIndexValue returns the pods of a namespace with a value of the PodByAddress index. An empty namespace selects all
// pods.
func podsByIndexValue(v *cluster.View, namespace, value string) []*corev1.Pod {
	return cluster.List[*corev1.Pod](v, cluster.Query{Kind: cluster.KindPod, Namespace: namespace, Index: cluster.PodByAddress, Value: value})
}

// isSuperseded reports whether a newer pod has the address of p.
func isSuperseded(v *cluster.View, p *corev1.Pod, address string) bool {
	return !p.Spec.HostNetwork && isOlderThanAny(p, podsWithAddress(v, cluster.CanonicalIP(address)))
}

func isOlderThanAny(p *corev1.Pod, others []*corev1.Pod) bool {
	return slices.ContainsFunc(others, func(o *corev1.Pod) bool { return o.CreationTimestamp.After(p.CreationTimestamp.Time) })
}

// LeavingPodState is the state of pods whose targets have to be deregistered. The state determines how soon they are
// deregistered.
type LeavingPodState int

// The states of leaving pods, in ascending order of urgency.
const (
	// PodsRunning means that the pods still have their addresses.
	PodsRunning LeavingPodState = iota
	// PodEnded means that a pod does not exist any more, or that a target is not a pod.
	PodEnded
	// PodAddressReused means that another pod has the address of a target.
	PodAddressReused
)

// LeavingPodStateOf returns the most urgent state of the pods of targets. since has, by target ID, the time at which the
// target first had to be deregistered. A pod of the namespace that was created after this time and is not terminating has
// reused the address. The view subscribes to the pods of all targets.
func LeavingPodStateOf(v *cluster.View, namespace string, registered []*observed.Target, since map[string]time.Time) LeavingPodState {
	worst := PodsRunning
	for _, t := range registered {
		worst = max(worst, leavingPodStateOf(v, namespace, t.ID, since[t.ID]))
	}
	return worst
}

// leavingPodStateOf returns the state of the pod of one target.
func leavingPodStateOf(v *cluster.View, namespace, id string, since time.Time) LeavingPodState {
	if _, err := netip.ParseAddr(id); err != nil {
		return PodEnded
	}
	address := cluster.CanonicalIP(id)
	holders := podsWithAddress(v, address)
	if slices.ContainsFunc(holders, func(p *corev1.Pod) bool {
		other := p.Namespace != namespace || p.DeletionTimestamp == nil && !since.IsZero() && p.CreationTimestamp.After(since)
		return other && !isOlderThanAny(p, holders)
	}) {
		return PodAddressReused
	}
	if len(holders) > 0 || len(podsByIndexValue(v, "", cluster.HostAddressValue(namespace, address))) > 0 {
		return PodsRunning
	}
	return PodEnded
}

func nodeInstances(v *cluster.View) map[string]bool {
	out := map[string]bool{}
	for _, n := range cluster.List[*corev1.Node](v, cluster.Query{Kind: cluster.KindNode}) {
		if id, ok := InstanceID(n); ok {
			out[id] = true
		}
	}
	return out
}
