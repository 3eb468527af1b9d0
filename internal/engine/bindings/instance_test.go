package bindings_test

import (
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

func TestOnlyUsableNodesAreRegistered(t *testing.T) {
	w := newHarness(t, serviceDoc("web", "NodePort"), bindingDoc("a", "web", "instance", 30080))
	w.putObjects(`
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
	checkEqual(t, "targets", "i-1:30080 i-2:30080", w.aws.targetsOf("arn/a"))
	checkEqual(t, "rules", "tcp 30080-30080 sg-b", w.aws.rulesOf("sg-node"))
	if len(out.Findings) != 1 || out.Findings[0].Reason != finding.NodeUnusable {
		t.Errorf("findings %v", out.Findings)
	}
	if out := w.run("a"); !out.Deferred {
		t.Errorf("second run %+v", out)
	}
	w.putObjects(serviceDoc("web", "ClusterIP"))
	w.run("a")
	checkEqual(t, "targets stay when the type is wrong", "i-1:30080 i-2:30080", w.aws.targetsOf("arn/a"))
	checkEqual(t, "condition", "False FailedReconcile", w.readyStatus("a"))
}

func TestLastNodesStayIfNewNodesAreRefused(t *testing.T) {
	w := newHarness(t, serviceDoc("web", "NodePort"), bindingDoc("a", "web", "instance", 30080))
	w.aws.targetsByGroup["arn/a"] = []*observed.Target{{ID: "i-1", Port: 30099, State: "healthy"}} // another node port
	w.aws.refusedItems["i-1"], w.aws.refusedItems["i-2"] = failure.Denied, failure.Denied
	w.run("a")
	checkEqual(t, "targets", "i-1:30099", w.aws.targetsOf("arn/a"))
}
