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

// GoneTargets returns the registered targets that belong to nothing a binding of the namespace may
// register: an address that no pod of the namespace holds any more, or that was given to a newer pod
// of another namespace, and an instance that is not a node any more. A VPC gives an address to
// another pod about half a minute after its pod is gone, so these targets must not stay, whatever
// else is unknown. The view records what it was asked for, so a pod that ends triggers another run.
func GoneTargets(v *cluster.View, namespace string, registered []*observed.Target) []*observed.Target {
	var instances map[string]bool
	return slices.DeleteFunc(slices.Clone(registered), func(t *observed.Target) bool {
		switch _, err := netip.ParseAddr(t.ID); {
		case err == nil:
			return holdsAddress(v, namespace, canonicalIP(t.ID))
		case strings.HasPrefix(t.ID, "i-"):
			if instances == nil {
				instances = nodeInstances(v)
			}
			// Without any node the view is not complete. An instance id is never given to another
			// instance.
			return len(instances) == 0 || instances[t.ID]
		}
		return true // a load balancer or a function
	})
}

// holdsAddress reports whether a pod of the namespace holds an address.
func holdsAddress(v *cluster.View, namespace, address string) bool {
	holders := holdersOf(v, address)
	return slices.ContainsFunc(holders, func(p *corev1.Pod) bool { return p.Namespace == namespace && !isOlder(p, holders) }) ||
		len(podsAt(v, "", cluster.HostAddressValue(namespace, address))) > 0
}

// ServingAt returns a pod of the namespace, in its own network or in that of its node, that lists an address
// in canonical form as its own, is ready and not about to go; nil if there is none. Of several it is the last
// by name.
func ServingAt(v *cluster.View, namespace, address string) *corev1.Pod {
	var out *corev1.Pod
	for _, value := range []string{address, cluster.HostAddressValue(namespace, address)} {
		for _, p := range podsAt(v, namespace, value) {
			if Serving(p) && (out == nil || p.Name > out.Name) {
				out = p
			}
		}
	}
	return out
}

// holdersOf returns the pods, of all namespaces, that list an address as their own. A pod of a node that
// was lost lists an address for minutes after another pod has got it.
func holdersOf(v *cluster.View, address string) []*corev1.Pod {
	return podsAt(v, "", address)
}

// podsAt returns the pods of a namespace, of all if it is empty, with a value of the PodByAddress index.
func podsAt(v *cluster.View, namespace, value string) []*corev1.Pod {
	return cluster.List[*corev1.Pod](v, cluster.Query{Kind: cluster.KindPod, Namespace: namespace, Index: cluster.PodByAddress, Value: value})
}

// superseded reports whether a newer pod has got the address of a pod.
func superseded(v *cluster.View, p *corev1.Pod, address string) bool {
	return !p.Spec.HostNetwork && isOlder(p, holdersOf(v, canonicalIP(address)))
}

func isOlder(p *corev1.Pod, than []*corev1.Pod) bool {
	return slices.ContainsFunc(than, func(o *corev1.Pod) bool { return o.CreationTimestamp.After(p.CreationTimestamp.Time) })
}

// Departure is what has become of the pods whose targets are to be taken out.
type Departure int

// The departures, each more urgent than the one before.
const (
	// Running: the pods have their addresses still.
	Running Departure = iota
	// Ended: some pod is gone, or the target is none of a pod.
	Ended
	// AddressReused: another pod has the address of a target now.
	AddressReused
)

// DepartureOf finds the most urgent departure. Since has, by id, when targets were to be taken out first: a pod of the
// namespace that was created later, and is not about to go, is another. The view is asked for all of the targets.
func DepartureOf(v *cluster.View, namespace string, registered []*observed.Target, since map[string]time.Time) Departure {
	worst := Running
	for _, t := range registered {
		worst = max(worst, departureOf(v, namespace, t.ID, since[t.ID]))
	}
	return worst
}

func departureOf(v *cluster.View, namespace, id string, since time.Time) Departure {
	if _, err := netip.ParseAddr(id); err != nil {
		return Ended
	}
	address := canonicalIP(id)
	holders := holdersOf(v, address)
	if slices.ContainsFunc(holders, func(p *corev1.Pod) bool {
		other := p.Namespace != namespace || p.DeletionTimestamp == nil && !since.IsZero() && p.CreationTimestamp.After(since)
		return other && !isOlder(p, holders)
	}) {
		return AddressReused
	}
	if len(holders) > 0 || len(podsAt(v, "", cluster.HostAddressValue(namespace, address))) > 0 {
		return Running
	}
	return Ended
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
