package bindings_test

import (
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

func TestInstances(t *testing.T) {
	w := newHarness(t, serviceDoc("web", "NodePort"), bindingDoc("a", "web", "instance", 30080))
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
	want(t, "targets", "i-1:30080 i-2:30080", w.aws.targetsOf("arn/a"))
	want(t, "rules", "tcp 30080-30080 sg-b", w.aws.rulesOf("sg-node"))
	if len(out.Findings) != 1 || out.Findings[0].Reason != finding.NodeUnusable {
		t.Errorf("findings %v", out.Findings)
	}
	if out := w.run("a"); !out.Deferred {
		t.Errorf("second run %+v", out)
	}
	w.put(serviceDoc("web", "ClusterIP"))
	w.run("a")
	want(t, "targets stay when the type is wrong", "i-1:30080 i-2:30080", w.aws.targetsOf("arn/a"))
	want(t, "condition", "False FailedReconcile", w.readyStatus("a"))
}

func TestLastNodesStayIfNewNodesAreRefused(t *testing.T) {
	w := newHarness(t, serviceDoc("web", "NodePort"), bindingDoc("a", "web", "instance", 30080))
	w.aws.groups["arn/a"] = []*observed.Target{{ID: "i-1", Port: 30099, State: "healthy"}} // another node port
	w.aws.refuse["i-1"], w.aws.refuse["i-2"] = engine.Denied, engine.Denied
	w.run("a")
	want(t, "targets", "i-1:30099", w.aws.targetsOf("arn/a"))
}
