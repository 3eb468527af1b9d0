package bindings_test

import (
	"strings"
	"testing"
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// setNotInUse sets all targets of a target group to the state that AWS returns if no listener or rule forwards to it.
func (a *fakeAWS) setNotInUse(arn string) {
	a.setAllStates(arn, "unused")
	for _, t := range a.targetsByGroup[arn] {
		t.Reason = "Target.NotInUse"
	}
}

// TestPodsDoNotWaitForATargetGroupNotInUse checks the readiness gates of a target group to which no rule or listener
// forwards. The first pod waits some minutes for a rule or listener, and later pods do not wait. When the target group comes
// into use, ready pods stay ready, and new pods wait until AWS reports them healthy.
func TestPodsDoNotWaitForATargetGroupNotInUse(t *testing.T) {
	const waits, open = "Unknown Target.NotInUse: ", "True Target.NotInUse: no listener or rule forwards to the target group, so the pod does not wait for it"
	w := ipHarness(t, withReadinessGate(p1))
	w.run("a")
	checkEqual(t, "registered", "False Elb.RegistrationInProgress: Target registration is in progress", w.gateConditionText("p1"))
	w.aws.setNotInUse("arn/a")
	for range 4 {
		w.now = w.now.Add(29 * time.Second)
		w.run("a")
		checkEqual(t, "a rule may be on its way", waits, w.gateConditionText("p1"))
	}
	w.now = w.now.Add(time.Minute)
	w.run("a")
	checkEqual(t, "nothing forwards to it", open, w.gateConditionText("p1"))

	docs := strings.Split(podDocs("web", withReadinessGate(p1), withReadinessGate(p2)), "---\n")
	w.putObjects(docs[0], docs[2])
	w.run("a")
	w.aws.setNotInUse("arn/a")
	w.run("a")
	checkEqual(t, "a second pod does not wait again", open, w.gateConditionText("p2"))
	if out := w.run("a"); !out.Deferred {
		t.Errorf("not at rest: %+v", out)
	}

	w.aws.setAllStates("arn/a", "initial")
	w.now = w.now.Add(time.Hour)
	w.setContainersReadySince("p2", w.now)
	w.editBinding("a", func(b *elbv2.TargetGroupBinding) { delete(b.Annotations, targets.CheckpointAnnotation) })
	if out := w.run("a"); out.Deferred {
		t.Errorf("the new health is not read: %+v", out)
	}
	checkEqual(t, "a ready pod stays ready in its first checks", open, w.gateConditionText("p1"))
	checkEqual(t, "so does one whose containers were restarted, as its gate showed no health", open, w.gateConditionText("p2"))
	p3 := pod{name: "p3", ip: "10.0.1.3", node: "n1"}
	docs = strings.Split(podDocs("web", withReadinessGate(p1), withReadinessGate(p2), withReadinessGate(p3)), "---\n")
	w.putObjects(docs[0], docs[3])
	w.run("a")
	checkEqual(t, "a new one waits for them", "False Elb.RegistrationInProgress: Target registration is in progress", w.gateConditionText("p3"))
}

// TestAPodInAZoneWithoutLoadBalancerStaysUnready checks that the readiness gate of a pod stays closed if its target is in an
// Availability Zone that is not enabled for the load balancer. Such a target receives no traffic, so its pod must not
// replace a pod that receives traffic.
func TestAPodInAZoneWithoutLoadBalancerStaysUnready(t *testing.T) {
	w := ipHarness(t, withReadinessGate(p1))
	w.aws.targetGroupsInUse = map[string]bool{"arn/a": true}
	w.aws.targetsByGroup["arn/a"] = []*observed.Target{{ID: "10.0.1.1", Port: 8080, State: "unused", Reason: "Target.NotInUse"}}
	w.run("a")
	w.now = w.now.Add(time.Hour)
	out := w.run("a")
	checkEqual(t, "gate", "Unknown Target.NotInUse: ", w.gateConditionText("p1"))
	checkEqual(t, "looked at again", 5*time.Minute, out.RetryAfter)
}
