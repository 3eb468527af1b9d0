package bindings_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

// gateConditionText returns the readiness gate condition of a pod as "Status Reason: message"; "none" if the pod has no such
// condition.
func (w *harness) gateConditionText(name string) string {
	w.t.Helper()
	obj, err := w.store.Get(cluster.Ref{Kind: cluster.KindPod, Namespace: "ns", Name: name})
	if err != nil || obj == nil {
		w.t.Fatalf("pod %s: %v, %v", name, obj, err)
	}
	c, _, ok := targets.CurrentCondition(obj.(*corev1.Pod), targets.ReadinessGatePrefix+"a")
	if !ok {
		return "none"
	}
	return string(c.Status) + " " + c.Reason + ": " + c.Message
}

func withReadinessGate(p pod) pod {
	p.gate, p.notReady = "a", true
	return p
}

// setContainersReadySince sets the time at which the containers of a pod became ready.
func (w *harness) setContainersReadySince(name string, at time.Time) {
	w.t.Helper()
	obj, err := w.store.Get(cluster.Ref{Kind: cluster.KindPod, Namespace: "ns", Name: name})
	if err != nil || obj == nil {
		w.t.Fatalf("pod %s: %v, %v", name, obj, err)
	}
	restarted := obj.DeepCopyObject().(*corev1.Pod)
	for i := range restarted.Status.Conditions {
		if restarted.Status.Conditions[i].Type == corev1.ContainersReady {
			restarted.Status.Conditions[i].LastTransitionTime = metav1.NewTime(at)
		}
	}
	if err := w.store.Put(restarted); err != nil {
		w.t.Fatal(err)
	}
}

// TestRefusedTargetDelaysNoOtherReadinessGate checks that the health of a new target is read again within seconds, so that its
// pod becomes ready, although AWS refuses the target of another pod.
func TestRefusedTargetDelaysNoOtherReadinessGate(t *testing.T) {
	w := ipHarness(t, withReadinessGate(p1), withReadinessGate(p2))
	w.aws.refusedItems[p1.ip] = failure.Invalid
	w.run("a")
	w.now = w.now.Add(time.Minute)
	if out := w.run("a"); out.RetryAfter <= 0 || out.RetryAfter > 15*time.Second {
		t.Errorf("looked at again after %s", out.RetryAfter)
	}
}

// TestReadinessGateShowsWhyAPodIsNoTarget checks that the readiness gate of a pod that is not registered shows the reason.
func TestReadinessGateShowsWhyAPodIsNoTarget(t *testing.T) {
	const annotation = targets.QUICAnnotation
	role := func(doc string) string { return withSpecLines(doc, "iamRoleArnToAssume: role") }
	older := strings.Replace(strings.ReplaceAll(bindingDoc("b", "web", "ip", 8080), "arn/b", "arn/a"),
		"name: b}", `name: b, creationTimestamp: "2025-01-01T00:00:00Z"}`, 1)
	tests := []struct {
		name    string
		binding func(doc string) string
		change  func(w *harness)
		want    string // text of the readiness gate condition of pod "p1"
		// mended corrects the fault; nil if the test does not correct it.
		mended func(w *harness)
	}{
		{
			name:    "no server id",
			binding: func(doc string) string { return withSpecLines(doc, "targetGroupProtocol: QUIC") },
			want: "False ServerIDMissing: the pod has no QUIC server id and is not registered; " +
				"name the containers in the annotation " + annotation + " and recreate the pods, so that ids are injected",
		},
		{
			name: "no room",
			change: func(w *harness) {
				w.conf.MaxTargetsPerTargetGroup = 1
				w.restart()
				w.putObjects(podDocs("web", withReadinessGate(p1), pod{name: "p0", ip: "10.0.0.1", node: "n1"}))
			},
			want:   "False TargetsCapped: the pod is not registered, because a target group may have at most 1 targets; raise --max-targets-per-target-group",
			mended: func(w *harness) { w.conf.MaxTargetsPerTargetGroup = 2; w.restart() },
		},
		{
			name: "refused by AWS",
			change: func(w *harness) {
				w.aws.refusedItems["10.0.1.1"] = failure.Invalid
				w.putObjects(podDocs("web", withReadinessGate(p1), p2))
			},
			want:   "False RejectedByAWS: refused 10.0.1.1; correct the value that the AWS error names",
			mended: func(w *harness) { clear(w.aws.refusedItems) },
		},
		{
			name:   "the target group is gone",
			change: func(w *harness) { delete(w.aws.targetsByGroup, "arn/a") },
			want:   `False TargetGroupNotFound: target group "arn/a" does not exist; no target is registered; create the target group, or delete the binding`,
			mended: func(w *harness) { w.aws.targetsByGroup["arn/a"] = nil },
		},
		{
			name:   "another binding fills the group",
			change: func(w *harness) { w.putObjects(older) },
			want:   "False TargetGroupShared: target group arn/a already has the targets of TargetGroupBinding ns/b; delete one of the two bindings",
			mended: func(w *harness) { w.deleteObject(cluster.KindBinding, "b") },
		},
		{
			name: "nodes are registered, not pods",
			binding: func(doc string) string {
				return strings.Replace(role(doc), "targetType: ip", "targetType: instance", 1)
			},
			want: "False Unsupported: instances of one account cannot be targets in another; the targets stay unchanged; use a target group of type ip",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			doc := bindingDoc("a", "web", "ip", 8080)
			if tt.binding != nil {
				doc = tt.binding(doc)
			}
			w := newHarness(t, serviceDoc("web", "NodePort"), podDocs("web", withReadinessGate(p1)), doc)
			if tt.change != nil {
				tt.change(w)
			}
			w.run("a")
			checkEqual(t, "gate", tt.want, w.gateConditionText("p1"))
			version := func() string {
				obj, _ := w.store.Get(cluster.Ref{Kind: cluster.KindPod, Namespace: "ns", Name: "p1"})
				return obj.GetResourceVersion()
			}
			before := version()
			if out := w.run("a"); out.RetryAfter > 0 && out.RetryAfter < 15*time.Second {
				t.Errorf("looked at again after %s", out.RetryAfter)
			}
			checkEqual(t, "version, as the same fault is written once", before, version())
			if tt.mended != nil {
				tt.mended(w)
				w.now = w.now.Add(15 * time.Second)
				w.run("a")
				checkEqual(t, "gate once it is mended", "False Elb.RegistrationInProgress: Target registration is in progress", w.gateConditionText("p1"))
			}
		})
	}
}

func TestRefusalIsReportedOnlyToTheRefusedPod(t *testing.T) {
	w := ipHarness(t, withReadinessGate(p1), withReadinessGate(p2))
	w.aws.refusedItems["10.0.1.1"] = failure.Invalid
	w.run("a")
	checkEqual(t, "the refused", "False RejectedByAWS: refused 10.0.1.1; correct the value that the AWS error names", w.gateConditionText("p1"))
	checkEqual(t, "the other", "False Elb.RegistrationInProgress: Target registration is in progress", w.gateConditionText("p2"))
}

func TestErrorsOfUnknownClassAreNotReportedToPods(t *testing.T) {
	w := ipHarness(t, withReadinessGate(p1))
	w.aws.refusedItems["10.0.1.1"] = failure.Unknown
	if _, err := w.reconciler.Reconcile(t.Context(), keyOf("a")); err == nil {
		t.Fatal("no error")
	}
	checkEqual(t, "gate", "none", w.gateConditionText("p1"))
}

func TestGateStaysOpenIfTargetsAreUnavailable(t *testing.T) {
	w := ipHarness(t, withReadinessGate(p1))
	w.run("a")
	w.aws.setAllStates("arn/a", "healthy")
	w.run("a")
	checkEqual(t, "gate", "True : ", w.gateConditionText("p1"))
	delete(w.aws.targetsByGroup, "arn/a")
	w.putObjects(serviceDoc("web", "NodePort"), strings.Replace(bindingDoc("a", "web", "ip", 8081), "name: a}", "name: a, generation: 2}", 1))
	w.run("a")
	checkEqual(t, "condition", "False FailedReconcile", w.readyStatus("a"))
	checkEqual(t, "gate", "True : ", w.gateConditionText("p1"))
}

// TestReadyPodStaysReadyUntilItsNewTargetIsChecked checks that a pod stays ready if its target is registered again, until AWS
// has checked the new target. If its containers were restarted meanwhile, it becomes unready.
func TestReadyPodStaysReadyUntilItsNewTargetIsChecked(t *testing.T) {
	const registering = "False Elb.RegistrationInProgress: Target registration is in progress"
	for _, c := range []struct{ name, containersReadySince, registered, initial string }{
		{"the containers run", "2026-01-02T03:00:00Z", "True : ", "True : "},
		{"the containers were restarted", "2036-01-02T03:00:00Z", registering, "False Elb.InitialHealthChecking: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := ipHarness(t, withReadinessGate(p1))
			w.run("a")
			w.aws.setAllStates("arn/a", "healthy")
			w.run("a")
			checkEqual(t, "gate", "True : ", w.gateConditionText("p1"))

			at, _ := time.Parse(time.RFC3339, c.containersReadySince)
			w.setContainersReadySince("p1", at)
			w.aws.targetsByGroup["arn/a"] = nil
			w.editBinding("a", func(b *elbv2.TargetGroupBinding) { delete(b.Annotations, targets.CheckpointAnnotation) })
			w.run("a")
			checkEqual(t, "gate of the registered pod", c.registered, w.gateConditionText("p1"))
			w.aws.setAllStates("arn/a", "initial")
			w.aws.targetsByGroup["arn/a"][0].Reason = "Elb.InitialHealthChecking"
			if out := w.run("a"); out.RetryAfter <= 0 || out.RetryAfter > 15*time.Second {
				t.Errorf("health is read again after %s", out.RetryAfter)
			}
			checkEqual(t, "gate during the first health checks", c.initial, w.gateConditionText("p1"))
			w.aws.setAllStates("arn/a", "unhealthy")
			w.aws.targetsByGroup["arn/a"][0].Reason = "Target.Timeout"
			w.run("a")
			checkEqual(t, "gate afterwards", "False Target.Timeout: ", w.gateConditionText("p1"))
		})
	}
}

// TestAPodWithoutServerIDCausesNoFurtherRuns checks that a binding is not reconciled again and again because one of its pods
// has no QUIC server ID.
func TestAPodWithoutServerIDCausesNoFurtherRuns(t *testing.T) {
	docs := quicDocs(podDocs("web", withReadinessGate(p1), withReadinessGate(p2)), map[string]string{p1.name: "HHF+gAAAFQU="})
	w := newHarness(t, serviceDoc("web", "ClusterIP"), docs, withSpecLines(bindingDoc("a", "web", "ip", 8080), "targetGroupProtocol: QUIC"))
	w.run("a")
	w.aws.setAllStates("arn/a", "healthy")
	w.run("a")
	checkEqual(t, "gate", "True : ", w.gateConditionText("p1"))
	if !strings.HasPrefix(w.gateConditionText("p2"), "False ServerIDMissing") {
		t.Errorf("gate %s", w.gateConditionText("p2"))
	}
	if out := w.run("a"); !out.Deferred {
		t.Errorf("outcome %+v", out)
	}
}

// TestAGateIsNotOpenedByCachedHealth checks that a readiness gate is not set to True because of cached target health. The
// cached health of an address may belong to an earlier pod with the same address.
func TestAGateIsNotOpenedByCachedHealth(t *testing.T) {
	w := ipHarness(t, withReadinessGate(p1))
	now := &observed.Target{ID: "10.0.1.1", Port: 8080, State: "unhealthy", Reason: "Target.FailedHealthChecks"}
	before := &observed.Target{ID: now.ID, Port: now.Port, State: "healthy"}
	w.aws.targetsByGroup["arn/a"], w.aws.cachedTargets = []*observed.Target{now}, []*observed.Target{before}
	w.run("a")
	checkEqual(t, "gate", "False Target.FailedHealthChecks: ", w.gateConditionText("p1"))
}

// TestAPodIsReadyOnceAllItsTargetsAreHealthy checks that a pod with several targets is ready only when all of its targets
// are healthy.
func TestAPodIsReadyOnceAllItsTargetsAreHealthy(t *testing.T) {
	more := strings.NewReplacer("name: web-1,", "name: web-2,", "port: 8080}]\nendpoints", "port: 9090}]\nendpoints").Replace(podDocs("web", withReadinessGate(p1)))
	w := ipHarness(t, withReadinessGate(p1))
	w.putObjects(more)
	for _, c := range []struct{ first, second, want string }{
		{"healthy", "initial", "False R: "}, {"initial", "healthy", "False R: "}, {"healthy", "healthy", "True R: "},
	} {
		w.aws.targetsByGroup["arn/a"] = []*observed.Target{
			{ID: "10.0.1.1", Port: 8080, State: c.first, Reason: "R"}, {ID: "10.0.1.1", Port: 9090, State: c.second, Reason: "R"},
		}
		for range 3 {
			w.run("a")
			checkEqual(t, c.first+" and "+c.second, c.want, w.gateConditionText("p1"))
		}
	}
}

// podRefusingAPI is an API server that refuses to change the pod with the name refusedPod.
type podRefusingAPI struct {
	kube.API
	refusedPod string
}

func (a podRefusingAPI) Patch(ctx context.Context, obj cluster.Object, part cluster.Part, kind types.PatchType, data []byte) error {
	if p, ok := obj.(*corev1.Pod); ok && p.Name == a.refusedPod {
		return errors.New("refused")
	}
	return a.API.Patch(ctx, obj, part, kind, data)
}

func TestFailedPodUpdateBlocksNoOtherPod(t *testing.T) {
	w := ipHarness(t, withReadinessGate(p1), withReadinessGate(p2))
	w.conf.Cluster = kube.New(w.store, podRefusingAPI{kube.MemoryAPI{Store: w.store}, "p1"}, testclock.FromVariable(&w.now))
	w.restart()
	step := func(what, gate string) {
		t.Helper()
		if _, err := w.reconciler.Reconcile(t.Context(), keyOf("a")); err == nil {
			t.Errorf("%s: no error", what)
		}
		checkEqual(t, what, gate, w.gateConditionText("p2"))
	}
	step("registered", "False Elb.RegistrationInProgress: Target registration is in progress")
	w.aws.setAllStates("arn/a", "healthy")
	step("healthy", "True : ")
	w.deleteObject(cluster.KindBinding, "a")
	step("deleted", "True : Target Group Binding is deleted")
}

func TestPodsThatAreNoEndpointsAreReported(t *testing.T) {
	const missing = "False EndpointMissing: the pod is not an endpoint of Service web that can be registered; check that the Service selects the pod, that an EndpointSlice has the %s address of the pod, and that the node of the pod is ready"
	orphan := withReadinessGate(p1)
	tests := []struct{ name, doc, nodes, pods, want string }{
		{"another address family", withSpecLines(bindingDoc("a", "web", "ip", 8080), "ipAddressType: ipv6"), nodesDoc, podDocs("web", orphan), fmt.Sprintf(missing, "ipv6")},
		{"the Service was turned to others", bindingDoc("a", "web", "ip", 8080), nodesDoc, podDocs("other", orphan) + "---" + podDocs("web", p2), fmt.Sprintf(missing, "ipv4")},
		{"the node is down", bindingDoc("a", "web", "ip", 8080), strings.Replace(nodesDoc, `"True"`, `"False"`, 1), podDocs("web", orphan), fmt.Sprintf(missing, "ipv4")},
		{"nodes are registered", bindingDoc("a", "web", "instance", 8080), nodesDoc, podDocs("web", orphan), "False EndpointMissing: nodes are registered in the target group, not pods; remove the readiness gate from the pod"},
		{"its containers are not ready", bindingDoc("a", "web", "ip", 8080), nodesDoc, podDocs("web", pod{name: "p1", ip: "10.0.1.1", node: "n1", gate: "a", hasUnreadyContainers: true}), "none"},
		{"it is about to go", bindingDoc("a", "web", "ip", 8080), nodesDoc, strings.Replace(podDocs("other", orphan), "uid: uid-p1,", `uid: uid-p1, deletionTimestamp: "2026-01-02T03:04:00Z", finalizers: [x],`, 1), "none"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newHarness(t, serviceDoc("web", "NodePort"), tt.doc)
			w.putObjects(tt.nodes, strings.ReplaceAll(tt.pods, "type: ContainersReady,", `type: ContainersReady, lastTransitionTime: "2026-01-02T03:04:00Z",`))
			out := w.run("a")
			checkEqual(t, "at first, as slices follow pods", "none", w.gateConditionText("p1"))
			if tt.want != "none" && (out.RetryAfter == 0 || out.RetryAfter > 30*time.Second) {
				t.Errorf("again after %s", out.RetryAfter)
			}
			w.now = w.now.Add(30 * time.Second)
			w.run("a")
			checkEqual(t, "later", tt.want, w.gateConditionText("p1"))
			if out := w.run("a"); !out.Deferred {
				t.Errorf("not at rest: %+v", out)
			}
			w.putObjects(serviceDoc("web", "NodePort"), nodesDoc, podDocs("web", withReadinessGate(p1)), bindingDoc("a", "web", "ip", 8080))
			w.run("a")
			checkEqual(t, "once it is one", "False Elb.RegistrationInProgress: Target registration is in progress", w.gateConditionText("p1"))
		})
	}
}
