package targets

import (
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// GatePrefix and a binding's name make up the type of a pod's readiness gate and condition.
const GatePrefix = "target-health.elbv2.k8s.aws/"

// GateType returns the type of the readiness gate of the binding with a name.
func GateType(binding string) corev1.PodConditionType {
	return corev1.PodConditionType(GatePrefix + binding)
}

// Gated reports whether a pod waits for the gate.
func Gated(p *corev1.Pod, gate corev1.PodConditionType) bool {
	for _, g := range p.Spec.ReadinessGates {
		if g.ConditionType == gate {
			return true
		}
	}
	return false
}

// Condition is the desired condition of a pod.
type Condition struct {
	Status          corev1.ConditionStatus
	Reason, Message string
}

// Registering is the condition of a pod whose target was registered a moment ago.
var Registering = Condition{corev1.ConditionFalse, "Elb.RegistrationInProgress", "Target registration is in progress"}

// Released is the condition of a pod whose binding is gone, so that nothing waits for it.
var Released = Condition{corev1.ConditionTrue, "", "Target Group Binding is deleted"}

// Unserved is the condition of a pod that waits no longer, because no load balancer uses the target group.
var Unserved = Condition{corev1.ConditionTrue, observed.ReasonNotInUse, "no listener or rule forwards to the target group, so the pod does not wait for it"}

// ConditionOf returns what a target's health means for a pod that has a condition already. A target
// group that no load balancer uses any more, as before it is deleted, does not change the condition
// of pods that were healthy in it: AWS has found nothing about them. That is why a pod that is not ready
// yet shows Unknown, whose time then says since when the target group is known not to be used. Nor do the
// first checks close the gates of pods that were ready while nothing used the target group.
func ConditionOf(t *observed.Target, shown Condition) Condition {
	switch {
	case t.State == "":
		return Condition{corev1.ConditionUnknown, "", ""}
	case t.State == "healthy":
		return Condition{corev1.ConditionTrue, t.Reason, t.Description}
	case t.NotInUse() && shown.Status == corev1.ConditionTrue, t.State == "initial" && shown == Unserved:
		return shown
	case t.NotInUse():
		return Condition{corev1.ConditionUnknown, t.Reason, t.Description}
	}
	return Condition{corev1.ConditionFalse, t.Reason, t.Description}
}

// CurrentCondition returns the condition that the pod has, with the time of its last change of status; false
// if it has none of that type.
func CurrentCondition(p *corev1.Pod, gate corev1.PodConditionType) (Condition, time.Time, bool) {
	for _, c := range p.Status.Conditions {
		if c.Type == gate {
			return Condition{c.Status, c.Reason, c.Message}, c.LastTransitionTime.Time, true
		}
	}
	return Condition{}, time.Time{}, false
}

// ContainersReady returns since when the containers of a pod have been ready; false if they are
// not.
func ContainersReady(p *corev1.Pod) (time.Time, bool) {
	_, since, _ := CurrentCondition(p, corev1.ContainersReady)
	return since, podCondition(p, corev1.ContainersReady) == corev1.ConditionTrue
}

// AnyWaiting reports whether a pod of the endpoints has the gate's condition and it is not true. A
// gate without a condition does not count: the endpoint may have been registered before the gate
// was seen.
func AnyWaiting(endpoints []Endpoint, gate corev1.PodConditionType) bool {
	for _, e := range endpoints {
		if e.Pod == nil {
			continue
		}
		if c, _, ok := CurrentCondition(e.Pod, gate); ok && c.Status != corev1.ConditionTrue {
			return true
		}
	}
	return false
}
