package bindings_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/network"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

func want[T comparable](t *testing.T, what string, want, got T) {
	t.Helper()
	if want != got {
		t.Errorf("%s:\n got %v\nwant %v", what, got, want)
	}
}

var (
	p1 = pod{name: "p1", ip: "10.0.1.1", node: "n1"}
	p2 = pod{name: "p2", ip: "10.0.2.1", node: "n2"}
	p3 = pod{name: "p3", ip: "10.0.1.2", node: "n1"}
)

func ipWorld(t *testing.T, pods ...pod) *world {
	t.Helper()
	return newWorld(t, serviceDoc("web", "ClusterIP"), podDocs("web", pods...), bindingDoc("a", "web", "ip", 8080))
}

func TestNewTargetsComeBeforeOldOnesGo(t *testing.T) {
	w := ipWorld(t, p1, p2)
	w.run("a")
	want(t, "first run", "list a; authorize sg-node tcp 8080-8080 sg-b; register a 10.0.1.1:8080; register a 10.0.2.1:8080", w.aws.take())
	want(t, "condition", "True SuccessfullyReconciled", w.ready("a"))
	if b := w.binding("a"); b.Annotations[targets.CheckpointAnnotation] == "" || *b.Status.ObservedGeneration != b.Generation || len(b.Finalizers) != 1 {
		t.Errorf("binding %+v", b)
	}
	w.put(podDocs("web", p2, p3))
	w.run("a")
	want(t, "swap", "list a; register a 10.0.1.2:8080; deregister a 10.0.1.1:8080", w.aws.take())
}

func TestOldPodsServeUntilNewOnesAreHealthy(t *testing.T) {
	old, next := p1, p2
	old.serving, next.serving = true, true
	turned := func() *world { // the Service was turned from one pod to the other
		w := ipWorld(t, old)
		w.run("a")
		w.aws.setAll("arn/a", "healthy")
		w.put(podDocs("web", next))
		w.aws.take()
		return w
	}
	both := "10.0.1.1:8080 10.0.2.1:8080"
	tests := []struct {
		name   string
		change func(w *world)
		want   string
	}{
		{"the new one is checked", func(*world) {}, both},
		{"the new one is healthy", func(w *world) { w.aws.groups["arn/a"][1].State = "healthy" }, "10.0.2.1:8080"},
		{"the new one is unhealthy", func(w *world) { w.aws.groups["arn/a"][1].State = "unhealthy" }, "10.0.2.1:8080"},
		{"nobody uses the group", func(w *world) { w.aws.groups["arn/a"][1].State = "unused" }, "10.0.2.1:8080"},
		{"the old one is gone", func(w *world) { w.drop(cluster.KindPod, "p1") }, "10.0.2.1:8080"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := turned()
			if out := w.run("a"); out.RetryAfter != 2*time.Second {
				t.Errorf("again after %s", out.RetryAfter)
			}
			want(t, "at first", both, w.aws.ids("arn/a"))
			tt.change(w)
			w.run("a")
			want(t, "then", tt.want, w.aws.ids("arn/a"))
		})
	}
	w := turned()
	w.put(strings.ReplaceAll(podDocs("web", next), "port: 8080", "port: 9090"), bindingDoc("a", "web", "ip", 9090))
	w.run("a")
	want(t, "rules while both serve", "tcp 8080-8080 sg-b, tcp 9090-9090 sg-b", w.aws.rulesOf("sg-node"))
	w.aws.setAll("arn/a", "healthy")
	w.run("a")
	want(t, "rules after", "tcp 9090-9090 sg-b", w.aws.rulesOf("sg-node"))
	w = turned()
	w.run("a")
	w.drop(cluster.KindBinding, "a")
	w.run("a")
	want(t, "deleted meanwhile", "", w.aws.ids("arn/a")+w.aws.rulesOf("sg-node"))
	w = turned()
	w.aws.full = 1
	w.run("a")
	want(t, "without room for both", "10.0.2.1:8080", w.aws.ids("arn/a"))
	w = turned()
	w.conf.MaxTargets = 1
	w.restart()
	w.run("a")
	w.run("a")
	want(t, "at the operator's limit", "10.0.2.1:8080", w.aws.ids("arn/a"))
}

func TestNothingChangedCostsNothing(t *testing.T) {
	w := ipWorld(t, p1, p2)
	w.run("a")
	w.aws.take()
	for range 3 {
		if out := w.run("a"); !out.Deferred || out.RetryAfter < 25*time.Minute {
			t.Errorf("outcome %+v", out)
		}
	}
	w.restart()
	if out := w.run("a"); !out.Deferred {
		t.Errorf("after a restart %+v", out)
	}
	want(t, "calls", "", w.aws.take())
	w.now = w.now.Add(46 * time.Minute)
	w.aws.groups["arn/a"] = nil // somebody else
	w.run("a")
	want(t, "after a while", "list a; register a 10.0.1.1:8080; register a 10.0.2.1:8080", w.aws.take())
}

func TestReadinessFollowsHealth(t *testing.T) {
	gated := p1
	gated.gate, gated.notReady = "a", true
	w := ipWorld(t, gated)
	condition := func() string {
		obj, _ := w.store.Get(cluster.Ref{Kind: cluster.KindPod, Namespace: "ns", Name: "p1"})
		c, _, ok := targets.Shown(obj.(*corev1.Pod), "target-health.elbv2.k8s.aws/a")
		if !ok {
			return "none"
		}
		return strings.TrimSpace(string(c.Status) + " " + c.Reason)
	}
	out := w.run("a")
	want(t, "after registering", "False Elb.RegistrationInProgress", condition())
	if out.RetryAfter != 2*time.Second {
		t.Errorf("first look after %s", out.RetryAfter)
	}
	b := w.binding("a")
	if b.Annotations[targets.CheckpointAnnotation] != "" || b.Status.ObservedGeneration == nil {
		t.Errorf("checkpoint %q, generation %v", b.Annotations[targets.CheckpointAnnotation], b.Status.ObservedGeneration)
	}
	w.now = w.now.Add(30 * time.Second)
	if out := w.run("a"); out.RetryAfter != 5*time.Second {
		t.Errorf("then after %s", out.RetryAfter)
	}
	w.aws.setAll("arn/a", "healthy")
	w.aws.take()
	w.run("a")
	want(t, "healthy", "True", condition())
	want(t, "calls", "list a", w.aws.take())
	if out := w.run("a"); !out.Deferred {
		t.Errorf("settled: %+v", out)
	}
	want(t, "calls when settled", "", w.aws.take())
}

func TestWhichPodsAreRegistered(t *testing.T) {
	tests := []struct {
		name string
		pods []pod
		node string // change to the nodes
		want string
	}{
		{"ready", []pod{p1, p2}, "", "10.0.1.1:8080 10.0.2.1:8080"},
		{"unready only by a gate", []pod{{name: "p1", ip: "10.0.1.1", node: "n1", notReady: true}}, "", "10.0.1.1:8080"},
		{"containers unready", []pod{{name: "p1", ip: "10.0.1.1", node: "n1", broken: true}}, "", ""},
		{"terminating", []pod{{name: "p1", ip: "10.0.1.1", node: "n1", terminating: true}, p2}, "", "10.0.2.1:8080"},
		{"node unknown, nothing better", []pod{{name: "p1", ip: "10.0.1.1", node: "n1", notReady: true}}, "Unknown", "10.0.1.1:8080"},
		{"node unknown, others there", []pod{{name: "p1", ip: "10.0.1.1", node: "n1", notReady: true}, p2}, "Unknown", "10.0.2.1:8080"},
		{"node down", []pod{{name: "p1", ip: "10.0.1.1", node: "n1", notReady: true}}, "False", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := ipWorld(t, tt.pods...)
			if tt.node != "" {
				w.put(strings.ReplaceAll(nodes, `"True"`, `"`+tt.node+`"`))
			}
			w.run("a")
			want(t, "targets", tt.want, w.aws.ids("arn/a"))
		})
	}
}

func TestForgedEndpointsAreLeftOut(t *testing.T) {
	w := ipWorld(t, p1)
	w.put(strings.ReplaceAll(podDocs("web", p1), `addresses: ["10.0.1.1"]`, `addresses: ["10.0.200.1"]`))
	out := w.run("a")
	want(t, "targets", "", w.aws.ids("arn/a"))
	if len(out.Findings) != 1 || out.Findings[0].Reason != finding.EndpointIgnored {
		t.Errorf("findings %v", out.Findings)
	}
}

func TestAddressesOutsideTheVPCAreForAllZones(t *testing.T) {
	w := ipWorld(t, pod{name: "p1", ip: "100.64.0.1", node: "n2"})
	w.run("a")
	if got := w.aws.take(); !strings.HasSuffix(got, "register a 100.64.0.1:8080all") {
		t.Error(got)
	}
}

func TestInstances(t *testing.T) {
	w := newWorld(t, serviceDoc("web", "NodePort"), bindingDoc("a", "web", "instance", 30080))
	w.put(`
apiVersion: v1
kind: Node
metadata: {name: n3}
spec: {providerID: "eks-hybrid:///r/c/mi-1"}
status: {conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Node
metadata: {name: n4, labels: {node.kubernetes.io/exclude-from-external-load-balancers: ""}}
spec: {providerID: aws:///a/i-4}
status: {conditions: [{type: Ready, status: "True"}]}
---
apiVersion: v1
kind: Node
metadata: {name: n5}
spec: {providerID: aws:///a/i-5, taints: [{key: karpenter.sh/disrupted, effect: NoSchedule}]}
status: {conditions: [{type: Ready, status: "True"}]}
`)
	out := w.run("a")
	want(t, "targets", "i-1:30080 i-2:30080", w.aws.ids("arn/a"))
	want(t, "rules", "tcp 30080-30080 sg-b", w.aws.rulesOf("sg-node"))
	if len(out.Findings) != 1 || out.Findings[0].Reason != finding.NodeUnusable {
		t.Errorf("findings %v", out.Findings)
	}
	if out := w.run("a"); !out.Deferred {
		t.Errorf("second run %+v", out)
	}
	w.put(serviceDoc("web", "ClusterIP"))
	w.run("a")
	want(t, "targets stay when the type is wrong", "i-1:30080 i-2:30080", w.aws.ids("arn/a"))
	want(t, "condition", "False FailedReconcile", w.ready("a"))
}

func TestRulesAreThoseOfAllBindings(t *testing.T) {
	w := newWorld(t, serviceDoc("web", "ClusterIP"), serviceDoc("np", "NodePort"), podDocs("web", p1),
		bindingDoc("a", "web", "ip", 8080), bindingDoc("b", "np", "instance", 30080))
	mine := model.IngressRule{Protocol: "tcp", From: 22, To: 22, CIDR: "10.0.0.0/8", Description: "mine"}
	w.aws.rules["sg-node"] = []model.IngressRule{mine, {Protocol: "tcp", From: 1, To: 2, Group: "sg-b", Description: network.SharedDescription}}
	w.run("a")
	want(t, "one range for both, at once", "tcp 22-22 10.0.0.0/8, tcp 8080-30080 sg-b", w.aws.rulesOf("sg-node"))
	w.run("b")
	w.drop(cluster.KindBinding, "b")
	w.run("b")
	want(t, "after one is gone", "tcp 22-22 10.0.0.0/8, tcp 8080-8080 sg-b", w.aws.rulesOf("sg-node"))
	want(t, "its targets", "", w.aws.ids("arn/b"))
	if w.binding("b") != nil {
		t.Error("the finalizer is still there")
	}
	w.put(podDocs("web"))
	w.run("a")
	want(t, "scaled to zero", "tcp 22-22 10.0.0.0/8", w.aws.rulesOf("sg-node"))
}

func TestNothingIsRevokedWhileAnEndpointIsNotUnderstood(t *testing.T) {
	w := newWorld(t, serviceDoc("web", "ClusterIP"), serviceDoc("other", "ClusterIP"), podDocs("web", p1), podDocs("other", p2),
		bindingDoc("a", "web", "ip", 8080), bindingDoc("b", "other", "ip", 9090))
	w.run("a")
	w.run("b")
	want(t, "both", "tcp 8080-9090 sg-b", w.aws.rulesOf("sg-node"))
	w.aws.enis["i-2"] = nil // an instance that AWS does not show for now
	w.put(strings.ReplaceAll(bindingDoc("a", "web", "ip", 8081), "name: a}", "name: a, generation: 2}"))
	out := w.run("a")
	want(t, "rules", "tcp 8080-9090 sg-b, tcp 8081-8081 sg-b", w.aws.rulesOf("sg-node"))
	if len(out.Findings) != 0 {
		t.Errorf("blamed for another's endpoint: %v", out.Findings)
	}
	w.aws.enis["i-2"] = []network.Interface{{ID: "eni", Addresses: []string{"10.0.2.1"}, Groups: []network.InterfaceGroup{{ID: "sg-node"}}}}
	if err := w.rec.SyncRules(t.Context()); err != nil {
		t.Fatal(err)
	}
	want(t, "once it is seen", "tcp 8081-9090 sg-b", w.aws.rulesOf("sg-node"))
}

func TestOneRefusedRuleDoesNotStopTheOthers(t *testing.T) {
	bad := strings.ReplaceAll(bindingDoc("b", "web", "ip", 8080), "sg-b", "sg-gone")
	w := newWorld(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), bindingDoc("a", "web", "ip", 8080), bad)
	w.aws.refuse["sg-gone"] = engine.Invalid
	out := w.run("b")
	want(t, "rules", "tcp 8080-8080 sg-b", w.aws.rulesOf("sg-node"))
	want(t, "condition", "False FailedNetworkReconcile", w.ready("b"))
	want(t, "targets are there all the same", "10.0.1.1:8080", w.aws.ids("arn/b"))
	if out.RetryAfter != 15*time.Second {
		t.Errorf("again after %s", out.RetryAfter)
	}
}

func TestAFullSecurityGroupIsToldWithNumbers(t *testing.T) {
	w := newWorld(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), bindingDoc("a", "web", "ip", 8080))
	w.aws.refuse["sg-b"] = engine.Quota
	out := w.run("a")
	if f := out.Findings; len(f) != 1 || f[0].Reason != finding.QuotaReached || !strings.Contains(f[0].Message, "would have 1 rules") {
		t.Errorf("findings %v", f)
	}
}

func TestMissingServiceIsBelievedAfterAWhile(t *testing.T) {
	w := ipWorld(t, p1)
	w.run("a")
	w.aws.take()
	w.drop(cluster.KindService, "web")
	if out := w.run("a"); out.RetryAfter == 0 {
		t.Errorf("outcome %+v", out)
	}
	want(t, "at first", "", w.aws.take())
	w.now = w.now.Add(6 * time.Second)
	w.run("a")
	want(t, "then", "list a; deregister a 10.0.1.1:8080; revoke sg-node tcp 8080-8080 sg-b", w.aws.take())
	want(t, "condition", "False BackendNotFound", w.ready("a"))
	w.put(serviceDoc("web", "ClusterIP"))
	w.run("a")
	want(t, "back", "10.0.1.1:8080", w.aws.ids("arn/a"))
	want(t, "condition", "True SuccessfullyReconciled", w.ready("a"))
}

func TestDeletionLetsPodsGo(t *testing.T) {
	gated := p1
	gated.gate = "a"
	w := ipWorld(t, gated)
	w.run("a")
	w.drop(cluster.KindBinding, "a")
	w.run("a")
	want(t, "targets", "", w.aws.ids("arn/a"))
	want(t, "rules", "", w.aws.rulesOf("sg-node"))
	obj, _ := w.store.Get(cluster.Ref{Kind: cluster.KindPod, Namespace: "ns", Name: "p1"})
	if c, _, _ := targets.Shown(obj.(*corev1.Pod), "target-health.elbv2.k8s.aws/a"); c != targets.Released {
		t.Errorf("condition %v", c)
	}
	if w.binding("a") != nil {
		t.Error("the binding is still there")
	}
	w.aws.take()
	w.run("a")
	want(t, "calls for what is gone", "", w.aws.take())
}

func TestDeletionWhenTheTargetGroupIsGone(t *testing.T) {
	w := ipWorld(t, p1)
	w.run("a")
	delete(w.aws.groups, "arn/a")
	w.drop(cluster.KindBinding, "a")
	w.run("a")
	if w.binding("a") != nil {
		t.Error("the binding is still there")
	}
}

func TestOneRefusedTargetDoesNotKeepTheOthersOut(t *testing.T) {
	w := ipWorld(t, p1, p2, p3)
	w.aws.refuse["10.0.2.1"] = engine.Invalid
	w.run("a")
	want(t, "targets", "10.0.1.1:8080 10.0.1.2:8080", w.aws.ids("arn/a"))
	want(t, "condition", "False FailedReconcile", w.ready("a"))
}

func TestOneRefusedTargetDoesNotKeepTheOthersIn(t *testing.T) {
	w := ipWorld(t, p1)
	for _, ip := range []string{"10.0.9.1", "10.0.9.2", "10.0.9.3"} {
		w.aws.groups["arn/a"] = append(w.aws.groups["arn/a"], observed.Target{ID: ip, Port: 8080, State: "healthy"})
	}
	w.aws.refuse["out 10.0.9.2"] = engine.Invalid
	w.run("a")
	want(t, "targets", "10.0.1.1:8080 10.0.9.2:8080", w.aws.ids("arn/a"))
	want(t, "condition", "False FailedReconcile", w.ready("a"))
}

func TestTheSameFaultIsWrittenOnce(t *testing.T) {
	w := ipWorld(t, p1)
	w.aws.refuse["10.0.1.1"] = engine.Denied
	w.run("a")
	before := w.binding("a").ResourceVersion
	out := w.run("a")
	want(t, "version", before, w.binding("a").ResourceVersion)
	if out.RetryAfter < 15*time.Second {
		t.Errorf("again after %s", out.RetryAfter)
	}
}

// Changes of other targets do not send a refused one again each time.
func TestARefusedTargetIsSentAgainWithBackOff(t *testing.T) {
	w := ipWorld(t, p1)
	w.aws.refuse[p1.ip] = engine.Invalid
	for i := range 600 { // ten minutes
		w.put(podDocs("web", p1, pod{name: fmt.Sprint("n", i), ip: fmt.Sprintf("10.0.4.%d", i%250), node: "n1"}))
		w.again("a")
		w.now = w.now.Add(time.Second)
	}
	want(t, "targets", "10.0.4.99:8080", w.aws.ids("arn/a"))
	if w.aws.serial > 14 { // together with a new one, and alone
		t.Errorf("%d calls were refused", w.aws.serial)
	}
	delete(w.aws.refuse, p1.ip)
	w.now = w.now.Add(5 * time.Minute)
	w.run("a")
	want(t, "targets once it is accepted", "10.0.1.1:8080 10.0.4.99:8080", w.aws.ids("arn/a"))
}

func TestFullGroupIsEmptiedFirst(t *testing.T) {
	w := ipWorld(t, p2)
	w.aws.groups["arn/a"] = []observed.Target{{ID: "10.0.9.9", Port: 8080, State: "healthy"}}
	w.aws.full = 1
	w.run("a")
	want(t, "targets", "10.0.2.1:8080", w.aws.ids("arn/a"))
}

func TestAFullGroupGetsAsManyAsItHasRoomFor(t *testing.T) {
	var many []pod
	for i := range 9 {
		many = append(many, pod{name: fmt.Sprintf("m%d", i), ip: fmt.Sprintf("10.0.2.%d", 10+i), node: "n2"})
	}
	for room := range 10 {
		w := ipWorld(t, many...)
		w.aws.full = max(room, 1)
		if room == 0 {
			w.aws.groups["arn/a"] = []observed.Target{{ID: "10.0.9.9", Port: 8080, State: "draining"}}
		}
		w.run("a")
		got := 0
		for _, x := range w.aws.groups["arn/a"] {
			if x.State != "draining" {
				got++
			}
		}
		if got != room {
			t.Errorf("%d of 9 registered in room for %d", got, room)
		}
	}
}

func TestLastTargetsThatCanServeStayWhenNewOnesCannotCome(t *testing.T) {
	old := p1
	old.serving = true
	w := ipWorld(t, old)
	w.run("a")
	w.aws.setAll("arn/a", "healthy")
	w.aws.groups["arn/a"] = append(w.aws.groups["arn/a"], observed.Target{ID: "10.0.9.9", Port: 8080, State: "healthy"})
	w.aws.refuse["10.0.2.1"] = engine.Denied
	w.put(podDocs("web", p2)) // the Service was turned to another pod, the old one is still there
	w.run("a")
	want(t, "targets: not the address of nobody", "10.0.1.1:8080", w.aws.ids("arn/a"))
	w.drop(cluster.KindPod, "p1")
	w.run("a")
	want(t, "targets once the old pod is gone, whose address may be another's soon", "", w.aws.ids("arn/a"))
}

func TestLastNodesStayWhenNewOnesCannotCome(t *testing.T) {
	w := newWorld(t, serviceDoc("web", "NodePort"), bindingDoc("a", "web", "instance", 30080))
	w.aws.groups["arn/a"] = []observed.Target{{ID: "i-1", Port: 30099, State: "healthy"}} // another node port
	w.aws.refuse["i-1"], w.aws.refuse["i-2"] = engine.Denied, engine.Denied
	w.run("a")
	want(t, "targets", "i-1:30099", w.aws.ids("arn/a"))
}

func TestOlderOfTwoBindingsIsServed(t *testing.T) {
	w := newWorld(t, serviceDoc("web", "ClusterIP"), serviceDoc("other", "ClusterIP"), podDocs("web", p1), podDocs("other", p2), bindingDoc("a", "web", "ip", 8080))
	w.now = w.now.Add(time.Minute)
	w.put(strings.ReplaceAll(bindingDoc("b", "other", "ip", 8080), "arn/b", "arn/a"))
	w.run("a")
	out := w.run("b")
	want(t, "targets", "10.0.1.1:8080", w.aws.ids("arn/a"))
	if len(out.Findings) != 1 || out.Findings[0].Reason != finding.TargetGroupShared {
		t.Errorf("findings %v", out.Findings)
	}
	w.drop(cluster.KindBinding, "b")
	w.run("b")
	want(t, "targets after the younger is gone", "10.0.1.1:8080", w.aws.ids("arn/a"))
}

// Renaming a binding means to make another and to delete the first.
func TestASuccessorTakesOverWithoutAGap(t *testing.T) {
	for name, order := range map[string][]string{"the first is quicker": {"a", "b"}, "the successor is quicker": {"b", "a", "b"}} {
		t.Run(name, func(t *testing.T) {
			w := ipWorld(t, p1, p2)
			w.run("a")
			w.aws.setAll("arn/a", "healthy")
			w.now = w.now.Add(time.Minute)
			w.put(strings.ReplaceAll(bindingDoc("b", "web", "ip", 8080), "arn/b", "arn/a"))
			w.run("b")
			w.drop(cluster.KindBinding, "a")
			w.aws.take()
			for _, n := range order {
				w.run(n)
			}
			if calls := w.aws.take(); strings.Contains(calls, "register") {
				t.Errorf("targets were touched: %s", calls)
			}
			want(t, "condition", "True SuccessfullyReconciled", w.ready("b"))
			w.drop(cluster.KindBinding, "b")
			w.run("b")
			want(t, "targets in the end", "", w.aws.ids("arn/a"))
		})
	}
}

func TestNameAndTypeAreFoundOut(t *testing.T) {
	doc := strings.ReplaceAll(bindingDoc("a", "web", "ip", 8080), "targetGroupARN: arn/a", "targetGroupName: a")
	doc = strings.ReplaceAll(doc, "  targetType: ip\n", "")
	w := newWorld(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), doc)
	w.run("a")
	want(t, "targets", "10.0.1.1:8080", w.aws.ids("arn/a"))
}

func TestOneOfTwoNamesTheGroupByName(t *testing.T) {
	const arn = "arn:aws:elasticloadbalancing:us-west-2:111122223333:targetgroup/shop/0123456789abcdef"
	first := strings.Replace(bindingDoc("a", "web", "ip", 8080), "arn/a", arn, 1)
	byName := strings.Replace(bindingDoc("b", "other", "ip", 8080), "targetGroupARN: arn/b", "targetGroupName: shop", 1)
	for name, c := range map[string]struct {
		doc  string
		want int // findings
	}{
		"the same group":                {byName, 1},
		"of that name, another account": {with(byName, "iamRoleArnToAssume: role"), 0},
		"another name":                  {strings.Replace(byName, "Name: shop", "Name: other", 1), 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, serviceDoc("web", "ClusterIP"), serviceDoc("other", "ClusterIP"), podDocs("web", p1), podDocs("other", p2), first)
			w.aws.groups[arn], w.aws.groups["arn/shop"], w.aws.groups["arn/other"] = nil, nil, nil
			w.now = w.now.Add(time.Minute)
			w.put(c.doc)
			w.run("a")
			if out := w.run("b"); len(out.Findings) != c.want || c.want > 0 && out.Findings[0].Reason != finding.TargetGroupShared {
				t.Errorf("findings %v", out.Findings)
			}
		})
	}
}

func TestAGroupOfLoadBalancersIsNotFilledWithPods(t *testing.T) {
	doc := strings.ReplaceAll(bindingDoc("a", "web", "ip", 8080), "  targetType: ip\n", "")
	w := newWorld(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), doc)
	w.aws.typ = model.ALBTargets
	out := w.run("a")
	want(t, "calls", "", w.aws.take())
	if len(out.Findings) != 1 || out.Findings[0].Reason != finding.Unsupported {
		t.Errorf("findings %v", out.Findings)
	}
}

func TestALostFinalizerComesBack(t *testing.T) {
	w := ipWorld(t, p1)
	w.run("a")
	b := w.binding("a").DeepCopy()
	b.Finalizers = nil
	if err := w.store.Put(b); err != nil {
		t.Fatal(err)
	}
	w.run("a")
	if len(w.binding("a").Finalizers) != 1 {
		t.Error("the binding could go before its targets")
	}
}

func TestAMissingTargetGroupIsLookedForRarely(t *testing.T) {
	w := ipWorld(t, p1)
	delete(w.aws.groups, "arn/a")
	if out := w.run("a"); out.RetryAfter != 15*time.Second {
		t.Errorf("at first again after %s", out.RetryAfter)
	}
	w.now = w.now.Add(time.Hour)
	if out := w.run("a"); out.RetryAfter != time.Minute {
		t.Errorf("then after %s", out.RetryAfter)
	}
}

func TestAVPCThatDoesNotExistIsBlamed(t *testing.T) {
	w := newWorld(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), strings.Replace(bindingDoc("a", "web", "ip", 8080), "vpc-1", "vpc-unseen", 1))
	out := w.run("a")
	if len(out.Findings) != 1 || out.Findings[0].Field != "spec.vpcID" || out.RetryAfter != 5*time.Minute {
		t.Errorf("outcome %+v", out)
	}
}

func TestImpossibleBindingsAreLeftAlone(t *testing.T) {
	for name, line := range map[string]string{
		"instances of another account": "  iamRoleArnToAssume: arn:aws:iam::1:role/r\n",
		"instances for QUIC":           "  targetGroupProtocol: QUIC\n",
	} {
		t.Run(name, func(t *testing.T) {
			doc := strings.ReplaceAll(bindingDoc("a", "web", "instance", 30080), "  vpcID: vpc-1\n", "  vpcID: vpc-1\n"+line)
			w := newWorld(t, serviceDoc("web", "NodePort"), doc)
			out := w.run("a")
			want(t, "calls", "", w.aws.take())
			if len(out.Findings) != 1 || out.Findings[0].Reason != finding.Unsupported {
				t.Errorf("findings %v", out.Findings)
			}
		})
	}
}

func TestCapIsKept(t *testing.T) {
	w := ipWorld(t, p1, p2, p3)
	w.conf.MaxTargets = 2
	w.restart()
	out := w.run("a")
	want(t, "targets", "10.0.1.1:8080 10.0.1.2:8080", w.aws.ids("arn/a"))
	if out.RetryAfter != 15*time.Second || w.binding("a").Annotations[targets.CheckpointAnnotation] != "" {
		t.Errorf("outcome %+v", out)
	}
	// Room that comes free is used by the next look.
	w.put(podDocs("web", p2, p3))
	w.run("a")
	w.run("a")
	want(t, "targets after one went", "10.0.1.2:8080 10.0.2.1:8080", w.aws.ids("arn/a"))
	if w.binding("a").Annotations[targets.CheckpointAnnotation] == "" {
		t.Error("there is no checkpoint although all endpoints are registered")
	}
}

func TestMoreTargetsThanTheCapAreLeftToBe(t *testing.T) {
	w := ipWorld(t, p1)
	w.conf.MaxTargets = 1
	w.restart()
	w.aws.groups["arn/a"] = []observed.Target{{ID: "10.9.9.1", Port: 1, State: "draining"}, {ID: "10.9.9.2", Port: 1, State: "draining"}}
	out := w.run("a")
	want(t, "targets", "10.9.9.1:1 10.9.9.2:1", w.aws.ids("arn/a"))
	if out.RetryAfter != 15*time.Second || len(out.Findings) != 1 || out.Findings[0].Reason != finding.TargetsCapped {
		t.Errorf("outcome %+v", out)
	}
}

func TestFencedProcessWritesNothing(t *testing.T) {
	w := ipWorld(t, p1)
	w.conf.Fence = func() error { return classed{engine.Fenced, "lease lost"} }
	w.restart()
	if _, err := w.rec.Reconcile(t.Context(), keyOf("a")); err == nil {
		t.Error("no error")
	}
	want(t, "calls", "", w.aws.take())
	if len(w.binding("a").Finalizers) != 0 {
		t.Error("the finalizer was written")
	}
}
