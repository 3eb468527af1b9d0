package bindings_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/network"
)

func TestRulesCombineAllBindings(t *testing.T) {
	w := newHarness(t, serviceDoc("web", "ClusterIP"), serviceDoc("np", "NodePort"), podDocs("web", p1),
		bindingDoc("a", "web", "ip", 8080), bindingDoc("b", "np", "instance", 30080))
	mine := model.IngressRule{Protocol: "tcp", From: 22, To: 22, CIDR: "10.0.0.0/8", Description: "mine"}
	w.aws.rules["sg-node"] = []model.IngressRule{mine, {Protocol: "tcp", From: 1, To: 2, Group: "sg-b", Description: network.SharedRuleDescription}}
	w.run("a")
	checkEqual(t, "one range for both, at once", "tcp 22-22 10.0.0.0/8, tcp 8080-30080 sg-b", w.aws.rulesOf("sg-node"))
	w.run("b")
	w.deleteObject(cluster.KindBinding, "b")
	w.run("b")
	checkEqual(t, "after one is gone", "tcp 22-22 10.0.0.0/8, tcp 8080-8080 sg-b", w.aws.rulesOf("sg-node"))
	checkEqual(t, "its targets", "", w.aws.targetsOf("arn/b"))
	if w.binding("b") != nil {
		t.Error("the finalizer is still there")
	}
	w.putObjects(podDocs("web"))
	w.run("a")
	checkEqual(t, "scaled to zero", "tcp 22-22 10.0.0.0/8", w.aws.rulesOf("sg-node"))
}

// TestRulesOfAnEndpointMissingInAWSStay checks that the rules of an endpoint are not revoked while AWS does not return its
// address. Rules of other endpoints that are not needed any more are revoked.
func TestRulesOfAnEndpointMissingInAWSStay(t *testing.T) {
	w := newHarness(t, serviceDoc("web", "ClusterIP"), serviceDoc("other", "ClusterIP"), podDocs("web", p1), podDocs("other", p2),
		bindingDoc("a", "web", "ip", 8080), bindingDoc("b", "other", "ip", 9090))
	w.run("a")
	w.run("b")
	checkEqual(t, "both", "tcp 8080-9090 sg-b", w.aws.rulesOf("sg-node"))
	shown := w.aws.enis["i-2"]
	w.aws.enis["i-2"] = nil // AWS temporarily does not return the ENI of this instance
	w.putObjects(strings.ReplaceAll(bindingDoc("a", "web", "ip", 8081), "name: a}", "name: a, generation: 2}"))
	out := w.run("a")
	checkEqual(t, "after the other is edited", "tcp 8081-9090 sg-b", w.aws.rulesOf("sg-node"))
	if len(out.Findings) != 0 {
		t.Errorf("blamed for another's endpoint: %v", out.Findings)
	}
	w.putObjects(strings.ReplaceAll(bindingDoc("b", "other", "ip", 9091), "name: b}", "name: b, generation: 2}"))
	w.run("b")
	checkEqual(t, "after its own run", "tcp 8081-8081 sg-b, tcp 8081-9090 sg-b", w.aws.rulesOf("sg-node"))
	w.aws.enis["i-2"] = shown
	w.run("b")
	checkEqual(t, "once it is shown", "tcp 8081-9091 sg-b", w.aws.rulesOf("sg-node"))
}

// TestNothingIsRevokedWhileAnENIIsUnknown checks that a process that has just started revokes no rule while AWS does not
// return the ENI of an endpoint, because it does not know the rules of this endpoint.
func TestNothingIsRevokedWhileAnENIIsUnknown(t *testing.T) {
	w := newHarness(t, serviceDoc("web", "ClusterIP"), serviceDoc("other", "ClusterIP"), podDocs("web", p1), podDocs("other", p2),
		bindingDoc("a", "web", "ip", 8080), bindingDoc("b", "other", "ip", 9090))
	w.run("a")
	w.run("b")
	shown := w.aws.enis["i-2"]
	w.aws.enis["i-2"] = nil
	w.putObjects(strings.ReplaceAll(bindingDoc("a", "web", "ip", 8081), "name: a}", "name: a, generation: 2}"))
	var again enqueuedBindings
	w.conf.Queue = &again
	w.restart()
	out := w.run("a")
	checkEqual(t, "rules", "tcp 8080-9090 sg-b, tcp 8081-8081 sg-b", w.aws.rulesOf("sg-node"))
	checkEqual(t, "run again", "b", strings.Join(again, " "))
	if len(out.Findings) != 0 {
		t.Errorf("blamed for another's endpoint: %v", out.Findings)
	}
	w.aws.enis["i-2"] = shown
	w.run("b")
	checkEqual(t, "once it is seen", "tcp 8081-9090 sg-b", w.aws.rulesOf("sg-node"))
}

func TestOneRefusedRuleDoesNotStopTheOthers(t *testing.T) {
	bad := strings.ReplaceAll(bindingDoc("b", "web", "ip", 8080), "sg-b", "sg-gone")
	w := newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), bindingDoc("a", "web", "ip", 8080), bad)
	w.aws.refusedItems["sg-gone"] = failure.Invalid
	out := w.run("b")
	checkEqual(t, "rules", "tcp 8080-8080 sg-b", w.aws.rulesOf("sg-node"))
	checkEqual(t, "condition", "False FailedNetworkReconcile", w.readyStatus("b"))
	checkEqual(t, "targets are there all the same", "10.0.1.1:8080", w.aws.targetsOf("arn/b"))
	if out.RetryAfter != 15*time.Second {
		t.Errorf("again after %s", out.RetryAfter)
	}
}

func TestFullSecurityGroupIsReportedWithItsRuleCount(t *testing.T) {
	w := newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), bindingDoc("a", "web", "ip", 8080))
	w.aws.refusedItems["sg-b"] = failure.Quota
	out := w.run("a")
	if f := out.Findings; len(f) != 1 || f[0].Reason != finding.QuotaReached || !strings.Contains(f[0].Message, "would have 1 rules") {
		t.Errorf("findings %v", f)
	}
}

// TestMissingENIOfANewPodIsReadAgain checks that a missing ENI of a new pod is read again within seconds, because AWS or its
// cached answer may not have the address yet. It is reported only when the pod is no longer new.
func TestMissingENIOfANewPodIsReadAgain(t *testing.T) {
	w := newHarness(t, serviceDoc("web", "ClusterIP"), bindingDoc("a", "web", "ip", 8080))
	w.putObjects(strings.ReplaceAll(podDocs("web", p1), "2026-01-01T00:00:00Z", w.now.Add(-10*time.Second).Format(time.RFC3339)))
	shown := w.aws.enis["i-1"]
	w.aws.enis["i-1"] = nil
	reported := func(out bindings.Outcome) string {
		var reasons []string
		for _, f := range out.Findings {
			reasons = append(reasons, string(f.Reason))
		}
		return strings.Join(reasons, " ")
	}
	out := w.run("a")
	if reported(out) != "" || w.readyStatus("a") != "" || out.RetryAfter == 0 || out.RetryAfter > 3*time.Second {
		t.Errorf("at first: %v, %q, again after %s", out.Findings, w.readyStatus("a"), out.RetryAfter)
	}
	w.now = w.now.Add(time.Minute)
	out = w.run("a")
	if reported(out) != "EndpointGroupUnclear" || w.readyStatus("a") != "False FailedNetworkReconcile" || out.RetryAfter != 15*time.Second {
		t.Errorf("once it lasts: %v, %q, again after %s", out.Findings, w.readyStatus("a"), out.RetryAfter)
	}
	w.aws.enis["i-1"] = shown
	if out = w.run("a"); reported(out) != "" || strings.HasPrefix(w.readyStatus("a"), "False") {
		t.Errorf("once it is shown: %v, %q", out.Findings, w.readyStatus("a"))
	}
	checkEqual(t, "rules", "tcp 8080-8080 sg-b", w.aws.rulesOf("sg-node"))
}

// lostAnswerAWS is a fakeAWS that carries out the first change of rules and answers that the rule already exists, as AWS
// answers the second attempt of a call whose first answer was lost.
type lostAnswerAWS struct {
	*fakeAWS
	lost bool
}

func (a *lostAnswerAWS) ChangeEndpointRules(ctx context.Context, group string, authorize, revoke []model.IngressRule) error {
	err := a.fakeAWS.ChangeEndpointRules(ctx, group, authorize, revoke)
	if !a.lost {
		a.lost = true
		return classedError{failure.Conflict, "InvalidPermission.Duplicate"}
	}
	return err
}

// TestLostAnswerToARuleChangeIsNotReported checks that a rule is not reported as missing if AWS says that it exists.
func TestLostAnswerToARuleChangeIsNotReported(t *testing.T) {
	w := newHarness(t, serviceDoc("web", "ClusterIP"), podDocs("web", p1), bindingDoc("a", "web", "ip", 8080))
	aws := &lostAnswerAWS{w.aws, true}
	w.conf.Cloud = aws
	w.restart()
	w.run("a")
	w.putObjects(serviceDoc("other", "ClusterIP"), podDocs("other", p2), bindingDoc("b", "other", "ip", 9090))
	aws.lost = false
	if out := w.run("b"); len(out.Findings) > 0 {
		t.Errorf("findings %v", out.Findings)
	}
	checkEqual(t, "rules", "tcp 8080-9090 sg-b", w.aws.rulesOf("sg-node"))
}
