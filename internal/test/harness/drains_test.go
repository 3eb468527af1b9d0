package harness

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// editNode changes the Node with this name in the store.
func editNode(t *testing.T, r *Harness, name string, edit func(n *corev1.Node)) {
	t.Helper()
	obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindNode, Name: name})
	if err != nil || obj == nil {
		t.Fatal(obj, err)
	}
	n := obj.DeepCopyObject().(*corev1.Node)
	edit(n)
	n.ResourceVersion = ""
	if err := r.Store.Put(n); err != nil {
		t.Fatal(err)
	}
}

func setReady(s corev1.ConditionStatus) func(*corev1.Node) {
	return func(n *corev1.Node) {
		n.Status.Conditions = []corev1.NodeCondition{{Type: corev1.NodeReady, Status: s}}
	}
}

func TestNodesAreDeregisteredAndRegistered(t *testing.T) {
	t.Parallel()
	taint := func(key string, effect corev1.TaintEffect) func(*corev1.Node) {
		return func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{{Key: key, Effect: effect}} }
	}
	label := func(key, value string) func(*corev1.Node) {
		return func(n *corev1.Node) { metav1.SetMetaDataLabel(&n.ObjectMeta, key, value) }
	}
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), strings.Replace(webIngress("", "/=web"), "target-type: ip", "target-type: instance", 1))
		r.settleOrFail(10 * time.Minute)
		names := map[string]string{}
		for i, instance := range r.Seeded.Instances {
			names[instance.ID] = string(rune('0' + i))
		}
		registered := func() string {
			var out []string
			for id := range r.activeTargetHealth() {
				out = append(out, names[id])
			}
			slices.Sort(out)
			return strings.Join(out, " ")
		}
		expectEqual(t, "at first", "0 1 2", registered())
		steps := []struct {
			name string
			edit func(*corev1.Node)
			want string
		}{
			{"cordoned", func(n *corev1.Node) { n.Spec.Unschedulable = true }, "0 1 2"},
			{"drained, as kubectl does", taint("node.kubernetes.io/unschedulable", corev1.TaintEffectNoSchedule), "0 1 2"},
			{"about to be removed by the cluster autoscaler", taint("ToBeDeletedByClusterAutoscaler", corev1.TaintEffectNoSchedule), "1 2"},
			{"kept after all", func(n *corev1.Node) { n.Spec.Taints = nil }, "0 1 2"},
			{"about to be removed by Karpenter", taint("karpenter.sh/disrupted", corev1.TaintEffectNoSchedule), "1 2"},
			{"only preferred not to be used", taint("karpenter.sh/disrupted", corev1.TaintEffectPreferNoSchedule), "0 1 2"},
			{"excluded by label", label("node.kubernetes.io/exclude-from-external-load-balancers", ""), "1 2"},
			{"not excluded any more", func(n *corev1.Node) { delete(n.Labels, "node.kubernetes.io/exclude-from-external-load-balancers") }, "0 1 2"},
			{"a node of the control plane", label("node-role.kubernetes.io/control-plane", ""), "0 1 2"},
			{"not ready", setReady(corev1.ConditionFalse), "1 2"},
			{"ready again", setReady(corev1.ConditionTrue), "0 1 2"},
			{"silent", setReady(corev1.ConditionUnknown), "1 2"},
		}
		for _, s := range steps {
			editNode(t, r, "node-0", s.edit)
			r.settleOrFail(5 * time.Second)
			expectEqual(t, s.name, s.want, registered())
		}
		// A network partition between the API server and all nodes does not deregister the nodes.
		editNode(t, r, "node-1", setReady(corev1.ConditionUnknown))
		editNode(t, r, "node-2", setReady(corev1.ConditionUnknown))
		r.settleOrFail(5 * time.Second)
		expectEqual(t, "all silent", "0 1 2", registered())
		for _, name := range []string{"node-1", "node-2"} {
			editNode(t, r, name, setReady(corev1.ConditionTrue))
		}
		if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindNode, Name: "node-0"}); err != nil {
			t.Fatal(err)
		}
		r.settleOrFail(5 * time.Second)
		expectEqual(t, "one deleted", "1 2", registered())
		r.Emulator.Calls().Reset()
		r.Start()
		r.settleOrFail(24 * time.Hour)
		if n := r.Emulator.Calls().CountMutating(); n > 0 {
			t.Errorf("%d mutating calls without change: %v", n, r.Emulator.Calls().Counts())
		}
	})
}

// TestNodeDrainAlwaysLeavesHealthyTargets checks that healthy targets serve at any time while a node is drained, as
// kubectl does with a disruption budget of one: a pod is evicted only if all others are ready. The Deployment creates
// new pods, and the node is deleted at the end.
func TestNodeDrainAlwaysLeavesHealthyTargets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, f := startFleet(t)
		f.gate = gateOfBinding(t, r)
		drained := f.pods[0].node
		on := func(ms []*fleetPod) []*fleetPod {
			return slices.DeleteFunc(slices.Clone(ms), func(m *fleetPod) bool { return m.node != drained })
		}
		f.freeAddresses = slices.DeleteFunc(f.freeAddresses, func(ip string) bool {
			return strings.HasPrefix(ip, []string{"10.0.133.", "10.0.149.", "10.0.165."}[drained])
		})
		w := r.watchTargets(0, true)
		w.checkTargets("start")
		gone := map[string]bool{}
		evict := func() {
			w.checkTargets("time")
			alive := f.remainingPods()
			ready := slices.DeleteFunc(slices.Clone(alive), func(m *fleetPod) bool { return m.readySince.IsZero() })
			if left := on(alive); len(ready) == f.size && len(left) > 0 {
				left[0].deletionTime = time.Now()
				gone[left[0].ip] = true
			}
			for len(f.remainingPods()) < f.size {
				f.createPod()
			}
			// A terminating pod may still serve for some time, but must no longer be a target.
			for ip := range gone {
				if _, ok := r.activeTargetHealth()[ip]; ok && !slices.ContainsFunc(f.pods, func(m *fleetPod) bool { return m.ip == ip && time.Since(m.deletionTime) < 2*tick }) {
					w.violations = append(w.violations, "the evicted "+ip+" is still a target")
				}
			}
		}
		done := func() bool { return len(on(f.pods)) == 0 && f.isRolledOut() }
		if !f.runUntil(20*time.Minute, evict, done) {
			t.Fatalf("the node is not drained: %v", r.activeTargetHealth())
		}
		if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindNode, Name: "node-" + string(rune('0'+drained))}); err != nil {
			t.Fatal(err)
		}
		f.runUntil(2*time.Minute, func() { w.checkTargets("time") }, func() bool { return false })
		for _, b := range slices.Compact(w.violations) {
			t.Error(b)
		}
		want := map[string]string{}
		for _, m := range f.remainingPods() {
			want[m.ip] = "healthy"
		}
		if !maps.Equal(want, r.activeTargetHealth()) {
			t.Errorf("at the end %v, want %v", r.activeTargetHealth(), want)
		}
	})
}

// TestPodsOfUnreachableNodeAreDeregistered checks that the pods of an unreachable node, which are not ready, are
// deregistered while other pods are ready. If no pod is ready, all pods are registered.
func TestPodsOfUnreachableNodeAreDeregistered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		silent := func(ready ...string) string {
			doc := readyPods("web", podAddresses[:3]...)
			for _, a := range podAddresses[:3] {
				if !slices.Contains(ready, a) {
					doc = strings.Replace(doc, "["+a+"], conditions: {ready: true}", "["+a+"], conditions: {ready: false, serving: false}", 1)
				}
			}
			return doc
		}
		arn := r.Seeded.TargetGroups["external"]
		r.Apply(shop, silent(podAddresses[:3]...), bindingTo(arn))
		r.settleOrFail(time.Minute)
		all := func() string { return activeTargets(t, r, Account, arn) }
		expectEqual(t, "at first", "10.0.132.10 10.0.148.10 10.0.164.10", all())
		editNode(t, r, "node-0", setReady(corev1.ConditionUnknown))
		r.Apply(silent(podAddresses[1:3]...))
		r.settleOrFail(time.Minute)
		expectEqual(t, "one silent", "10.0.148.10 10.0.164.10", all())
		for _, n := range []string{"node-1", "node-2"} {
			editNode(t, r, n, setReady(corev1.ConditionUnknown))
		}
		r.Apply(silent())
		r.settleOrFail(time.Minute)
		expectEqual(t, "all silent", "10.0.132.10 10.0.148.10 10.0.164.10", all())
		editNode(t, r, "node-1", setReady(corev1.ConditionTrue))
		r.Apply(silent(podAddresses[1]))
		r.settleOrFail(time.Minute)
		expectEqual(t, "one is back", "10.0.148.10", all())
	})
}
