package bindings_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// refusingCluster is a Kubernetes cluster that refuses the writes for which refuse returns true.
type refusingCluster struct {
	bindings.Cluster
	refuse func(bindings.Write) bool
}

func (r refusingCluster) Change(ctx context.Context, w bindings.Write) error {
	if r.refuse(w) {
		return errors.New("the API server refuses the write")
	}
	return r.Cluster.Change(ctx, w)
}

// withSelector adds a selector to a Service, so that Kubernetes manages its EndpointSlices.
func withSelector(doc string) string {
	return strings.Replace(doc, "spec: {", "spec: {selector: {app: web}, ", 1)
}

// editBinding changes a stored binding like a user.
func (w *harness) editBinding(name string, change func(*elbv2.TargetGroupBinding)) {
	w.t.Helper()
	b := w.binding(name).DeepCopy()
	change(b)
	if err := w.store.Put(b); err != nil {
		w.t.Fatal(err)
	}
}

// tryRun runs a binding and ignores errors.
func (w *harness) tryRun(name string) { _, _ = w.reconciler.Reconcile(w.t.Context(), keyOf(name)) }

// podWithReusedAddress returns the manifest of pod "thief" in namespace "other", which has the IP address of an earlier pod.
func podWithReusedAddress(ip string) string {
	return `
apiVersion: v1
kind: Pod
metadata: {namespace: other, name: thief, uid: uid-thief, creationTimestamp: "2026-01-02T00:00:00Z"}
spec: {nodeName: n1, containers: [{name: c}]}
status: {phase: Running, podIPs: [{ip: ` + ip + `}]}
`
}

// TestAddressOfADeletedPodIsAlwaysDeregistered checks that the next run deregisters the address of a deleted pod, even if a
// fault prevents the run from completing. The address of the other pod remains registered.
func TestAddressOfADeletedPodIsAlwaysDeregistered(t *testing.T) {
	deny := func(w *harness, refuse func(bindings.Write) bool) {
		w.conf.Cluster = refusingCluster{w.conf.Cluster, refuse}
		w.restart()
	}
	shared := func(b *elbv2.TargetGroupBinding) { b.Spec.MultiClusterTargetGroup = true }
	cases := map[string]struct {
		spoil func(w *harness)
		ends  func(w *harness) // changes the second pod so that it has ended; nil: the pod is deleted
	}{
		"the EndpointSlices are missing as a whole": {
			spoil: func(w *harness) { w.deleteObject(cluster.KindEndpointSlice, "web-1") },
		},
		"the EndpointSlices are missing, and the pod has failed": {
			spoil: func(w *harness) { w.deleteObject(cluster.KindEndpointSlice, "web-1") },
			ends: func(w *harness) {
				w.putObjects(strings.Replace(podDocs("none", p2), "status: {podIP", "status: {phase: Failed, podIP", 1))
			},
		},
		"the EndpointSlices are missing, and a newer pod of another namespace has the address": {
			spoil: func(w *harness) { w.deleteObject(cluster.KindEndpointSlice, "web-1") },
			ends:  func(w *harness) { w.putObjects(podWithReusedAddress(p2.ip)) },
		},
		"the Service is of type ExternalName": {
			spoil: func(w *harness) {
				w.putObjects(withSelector(serviceDoc("web", "ExternalName")))
				w.deleteObject(cluster.KindEndpointSlice, "web-1")
			},
		},
		"the binding cannot be written": {
			spoil: func(w *harness) { deny(w, func(bindings.Write) bool { return true }) },
		},
		"the record of own targets cannot be written": {
			spoil: func(w *harness) {
				w.editBinding("a", shared)
				w.run("a")
				deny(w, func(o bindings.Write) bool { _, ok := o.(bindings.SetOwnedTargets); return ok })
				w.putObjects(podDocs("web", p1, p2, pod{name: "p3", ip: "10.0.1.2", node: "n1"}))
			},
		},
		"the record of own targets is removed": {
			spoil: func(w *harness) {
				w.editBinding("a", shared)
				w.run("a")
				w.setRecordedTargets("")
			},
		},
		"the binding claims to be complete": {
			spoil: func(w *harness) {
				w.putObjects(podDocs("web", p1))
				w.run("a")
				complete := w.binding("a").Annotations["elbv2.k8s.aws/checkpoint"]
				w.putObjects(podDocs("web", p1, p2))
				w.run("a")
				w.editBinding("a", func(b *elbv2.TargetGroupBinding) { b.Annotations["elbv2.k8s.aws/checkpoint"] = complete })
				w.putObjects(podDocs("web", p1))
			},
		},
		"its finalizer is removed, and it is deleted": {
			spoil: func(w *harness) {
				w.editBinding("a", func(b *elbv2.TargetGroupBinding) { b.Finalizers = nil })
				w.deleteObject(cluster.KindBinding, "a")
			},
		},
		"it is deleted while its load balancer uses the target group": {
			spoil: func(w *harness) {
				w.putObjects(ingressWithFinalizer)
				w.editBinding("a", func(b *elbv2.TargetGroupBinding) {
					b.Labels = map[string]string{"ingress.k8s.aws/stack-namespace": "ns", "ingress.k8s.aws/stack-name": "web"}
				})
				w.aws.targetGroupsInUse = map[string]bool{"arn/a": true}
				w.deleteObject(cluster.KindBinding, "a")
			},
		},
		"an older binding fills the group now": {
			spoil: func(w *harness) {
				older := strings.ReplaceAll(withSpecLines(bindingDoc("b", "web", "ip", 8080), "multiClusterTargetGroup: true"), "arn/b", "arn/a")
				w.putObjects(strings.Replace(older, "metadata: {", `metadata: {creationTimestamp: "2025-01-01T00:00:00Z", `, 1))
			},
		},
		"it cannot have pods any more": {
			spoil: func(w *harness) {
				w.editBinding("a", func(b *elbv2.TargetGroupBinding) { *b.Spec.TargetType = "lambda" })
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, withSelector(serviceDoc("web", "ClusterIP")), podDocs("web", p1, p2), bindingDoc("a", "web", "ip", 8080))
			w.run("a")
			w.aws.setAllStates("arn/a", "healthy")
			w.run("a")
			c.spoil(w)
			w.tryRun("a")
			if got := w.aws.targetsOf("arn/a"); !strings.Contains(got, p1.ip) {
				t.Fatalf("what lives is taken out: %q", got)
			}
			if c.ends != nil {
				c.ends(w)
			} else {
				w.deleteObject(cluster.KindPod, p2.name)
			}
			w.now = w.now.Add(time.Second)
			w.tryRun("a")
			if got := w.aws.targetsOf("arn/a"); !strings.Contains(got, p1.ip) || strings.Contains(got, p2.ip) {
				t.Errorf("registered are %q", got)
			}
		})
	}
}

const ingressWithFinalizer = `
apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {namespace: ns, name: web, finalizers: [ingress.k8s.aws/resources]}
`

// TestInstanceOfADeletedNodeIsDeregistered checks that the instance of a deleted node is deregistered, even if the other
// targets are held. The instance may run other software later.
func TestInstanceOfADeletedNodeIsDeregistered(t *testing.T) {
	w := newHarness(t, serviceDoc("web", "NodePort"), bindingDoc("a", "web", "instance", 30080))
	w.run("a")
	w.aws.setAllStates("arn/a", "healthy")
	w.putObjects(serviceDoc("web", "ClusterIP")) // the Service has no node ports now, so the targets are held
	w.run("a")
	checkEqual(t, "targets", "i-1:30080 i-2:30080", w.aws.targetsOf("arn/a"))
	if err := w.store.Delete(cluster.Ref{Kind: cluster.KindNode, Name: "n2"}); err != nil {
		t.Fatal(err)
	}
	w.run("a")
	checkEqual(t, "targets after a node is gone", "i-1:30080", w.aws.targetsOf("arn/a"))
}

// TestTargetsOfOtherClientsStayIfABindingCannotRegister checks that a binding that cannot register targets does not
// deregister the targets of other clients. In this test the binding has instances of another account, which are not nodes of
// this cluster.
func TestTargetsOfOtherClientsStayIfABindingCannotRegister(t *testing.T) {
	w := newHarness(t, serviceDoc("web", "NodePort"), withSpecLines(bindingDoc("a", "web", "instance", 30080), "iamRoleArnToAssume: arn:aws:iam::1:role/r"))
	w.aws.targetsByGroup["arn/a"] = []*observed.Target{{ID: "i-9", Port: 80, State: "healthy"}, {ID: "10.0.7.7", Port: 80, State: "healthy"}}
	w.run("a")
	checkEqual(t, "targets", "10.0.7.7:80 i-9:80", w.aws.targetsOf("arn/a"))
}

// TestTargetsOfABindingWithoutFinalizerAreRemoved checks that the targets of a binding are deregistered if a user removes
// its finalizer and then deletes it. They stay if another binding has the same target group.
func TestTargetsOfABindingWithoutFinalizerAreRemoved(t *testing.T) {
	lose := func(w *harness) {
		w.run("a")
		w.editBinding("a", func(b *elbv2.TargetGroupBinding) { b.Finalizers = nil })
		w.deleteObject(cluster.KindBinding, "a")
		w.tryRun("a")
		checkEqual(t, "targets at once", "10.0.1.1:8080 10.0.2.1:8080", w.aws.targetsOf("arn/a"))
	}
	w := ipHarness(t, p1, p2)
	lose(w)
	w.now = w.now.Add(2 * time.Minute)
	w.run("a")
	checkEqual(t, "targets later", "", w.aws.targetsOf("arn/a"))

	w = ipHarness(t, p1, p2)
	lose(w)
	w.putObjects(strings.ReplaceAll(bindingDoc("b", "web", "ip", 8080), "arn/b", "arn/a"))
	w.now = w.now.Add(2 * time.Minute)
	w.run("a")
	checkEqual(t, "targets that a successor wants", "10.0.1.1:8080 10.0.2.1:8080", w.aws.targetsOf("arn/a"))
}

func TestPreviousTargetGroupIsEmptiedAfterAChange(t *testing.T) {
	w := ipHarness(t, p1)
	w.run("a")
	w.editBinding("a", func(b *elbv2.TargetGroupBinding) { b.Spec.TargetGroupARN = "arn/b" })
	w.run("a")
	checkEqual(t, "targets of the one before", "", w.aws.targetsOf("arn/a"))
	checkEqual(t, "targets", "10.0.1.1:8080", w.aws.targetsOf("arn/b"))
}

// TestBindingOfAnotherNamespaceDeregistersNothing checks that a later binding in another namespace never deregisters targets
// of the same target group, even when it is deleted.
func TestBindingOfAnotherNamespaceDeregistersNothing(t *testing.T) {
	w := ipHarness(t, p1, p2)
	w.run("a")
	w.now = w.now.Add(time.Minute)
	foreign := strings.NewReplacer("namespace: ns", "namespace: other", "arn/b", "arn/a").Replace(bindingDoc("b", "web", "ip", 8080))
	w.putObjects(foreign)
	for range 3 {
		if _, err := w.reconciler.Reconcile(t.Context(), bindings.Key{Namespace: "other", Name: "b"}); err != nil {
			t.Fatal(err)
		}
		w.now = w.now.Add(time.Minute)
	}
	checkEqual(t, "targets", "10.0.1.1:8080 10.0.2.1:8080", w.aws.targetsOf("arn/a"))
	if err := w.store.Delete(cluster.Ref{Kind: cluster.KindBinding, Namespace: "other", Name: "b"}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.reconciler.Reconcile(t.Context(), bindings.Key{Namespace: "other", Name: "b"}); err != nil {
		t.Fatal(err)
	}
	checkEqual(t, "targets after it was deleted", "10.0.1.1:8080 10.0.2.1:8080", w.aws.targetsOf("arn/a"))
}

// TestTargetGroupAdmitsOnlyBindingsOfItsNamespace checks that a target group that the controller created is used only by
// bindings of the namespace for which it was created. The name of such a target group is predictable, so another user can
// write it into a binding before the right binding exists.
func TestTargetGroupAdmitsOnlyBindingsOfItsNamespace(t *testing.T) {
	foreign := strings.NewReplacer("namespace: ns", "namespace: other", "arn/b", "arn/a", "metadata: {", `metadata: {creationTimestamp: "2025-01-01T00:00:00Z", `).
		Replace(bindingDoc("b", "web", "ip", 8080))
	theirs := strings.NewReplacer("namespace: ns", "namespace: other").Replace(serviceDoc("web", "ClusterIP") + "---\n" + podDocs("web", p2))
	other := bindings.Key{Namespace: "other", Name: "b"}
	for name, c := range map[string]struct {
		foreign, own func(string) string
		want         string
	}{
		"the group is not shared":      {unchangedDoc, unchangedDoc, "10.0.1.1:8080"},
		"only the other one shares it": {multiClusterDoc, unchangedDoc, "10.0.1.1:8080"},
		"both say that it is shared":   {multiClusterDoc, multiClusterDoc, "10.0.1.1:8080"},
		"only its owner shares it":     {unchangedDoc, multiClusterDoc, "10.0.1.1:8080"},
		"the other one has a role":     {func(doc string) string { return withSpecLines(doc, "iamRoleArnToAssume: role") }, unchangedDoc, "10.0.1.1:8080"},
		"the other one names it, with a role": {func(doc string) string {
			return strings.Replace(withSpecLines(doc, "iamRoleArnToAssume: role"), "targetGroupARN: arn/a", "targetGroupName: a", 1)
		}, unchangedDoc, "10.0.1.1:8080"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1))
			w.aws.ownerNamespaces = map[string]string{"arn/a": "ns"}
			w.putObjects(c.foreign(foreign), theirs)
			run := func() {
				if _, err := w.reconciler.Reconcile(t.Context(), other); err != nil {
					t.Fatal(err)
				}
			}
			run()
			checkEqual(t, "targets before its owner's binding is there", "", w.aws.targetsOf("arn/a"))
			w.putObjects(c.own(bindingDoc("a", "web", "ip", 8080)))
			w.run("a")
			run()
			w.run("a")
			checkEqual(t, "targets", c.want, w.aws.targetsOf("arn/a"))
		})
	}
}

// TestBindingOfAnotherNamespaceRetainsNoSharedTarget checks that binding "b" of namespace "other" does not prevent binding
// "a" of namespace "ns" from deregistering a target that is an endpoint of both. The controller created the target group for
// namespace "ns".
func TestBindingOfAnotherNamespaceRetainsNoSharedTarget(t *testing.T) {
	foreign := strings.NewReplacer("namespace: ns", "namespace: other", "arn/b", "arn/a").Replace(multiClusterDoc(bindingDoc("b", "web", "ip", 8080)))
	for name, leave := range map[string]func(w *harness){
		"its pod goes":     func(w *harness) { w.putObjects(podDocs("web", p1)); w.deleteObject(cluster.KindPod, p2.name) },
		"the binding goes": func(w *harness) { w.deleteObject(cluster.KindBinding, "a") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1, p2), multiClusterDoc(bindingDoc("a", "web", "ip", 8080)))
			w.aws.ownerNamespaces = map[string]string{"arn/a": "ns"}
			w.run("a")
			checkEqual(t, "targets", "10.0.1.1:8080 10.0.2.1:8080", w.aws.targetsOf("arn/a"))
			leave(w)
			w.putObjects(foreign, strings.NewReplacer("namespace: ns", "namespace: other").Replace(serviceDoc("web", "ClusterIP")+"---\n"+podDocs("web", p2)))
			if _, err := w.reconciler.Reconcile(t.Context(), bindings.Key{Namespace: "other", Name: "b"}); err != nil {
				t.Fatal(err)
			}
			w.run("a")
			if got := w.aws.targetsOf("arn/a"); strings.Contains(got, p2.ip) {
				t.Errorf("targets: %s", got)
			}
		})
	}
}

func unchangedDoc(doc string) string    { return doc }
func multiClusterDoc(doc string) string { return withSpecLines(doc, "multiClusterTargetGroup: true") }

// TestDeletionDeregistersTheOtherTargetsIfOneIsRefused checks that if AWS refuses to deregister one target of a deleted
// binding, its other targets are still deregistered.
func TestDeletionDeregistersTheOtherTargetsIfOneIsRefused(t *testing.T) {
	w := ipHarness(t, p1, p2)
	w.run("a")
	w.aws.refusedItems["out "+p1.ip] = failure.Invalid
	w.deleteObject(cluster.KindBinding, "a")
	w.run("a")
	checkEqual(t, "targets", "10.0.1.1:8080", w.aws.targetsOf("arn/a"))
}
