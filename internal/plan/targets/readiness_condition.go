package targets

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// ReadinessGatePrefix is the prefix of the type of a readiness gate and its pod condition. The name of the binding follows the
// prefix.
const ReadinessGatePrefix = "target-health.elbv2.k8s.aws/"

// ReadinessGateType returns the type of the readiness gate of a binding by its name.
func ReadinessGateType(binding string) corev1.PodConditionType {
	return corev1.PodConditionType(ReadinessGatePrefix + binding)
}

// HasReadinessGate reports whether a pod has a readiness gate.
func HasReadinessGate(p *corev1.Pod, gate corev1.PodConditionType) bool {
	return slices.ContainsFunc(p.Spec.ReadinessGates, func(g corev1.PodReadinessGate) bool { return g.ConditionType == gate })
}

// ReadinessCondition is the condition of a readiness gate in the status of a pod.
type ReadinessCondition struct {
	Status          corev1.ConditionStatus
	Reason, Message string
}

// RegisteringTarget is the health of a target that was just registered.
var RegisteringTarget = &observed.Target{State: "initial", Reason: "Elb.RegistrationInProgress", Description: "Target registration is in progress"}

// ReleasedCondition is the condition of a pod whose binding is deleted. It opens the readiness gate, because the pod will
// not become a target.
var ReleasedCondition = ReadinessCondition{corev1.ConditionTrue, "", "Target Group Binding is deleted"}

// NotInUseCondition is the condition of a pod whose readiness gate is open because no load balancer uses the target group.
var NotInUseCondition = ReadinessCondition{corev1.ConditionTrue, observed.ReasonNotInUse, "no listener or rule forwards to the target group, so the pod does not wait for it"}

// ConditionOf returns the condition of a pod for the health of its target. current is the condition that the pod has. A
// condition that is True is retained while AWS has no result of health checks: while the target is unchecked, or if no load
// balancer uses the target group any more. If it were not retained, a change of the target group would make pods unready
// that can answer requests. If the target group is unused, any other condition becomes Unknown; its transition time is the
// time at which this was detected.
func ConditionOf(t *observed.Target, current ReadinessCondition) ReadinessCondition {
	switch {
	case t.State == "healthy":
		return ReadinessCondition{corev1.ConditionTrue, t.Reason, t.Description}
	case current.Status == corev1.ConditionTrue && (IsUnchecked(t) || t.IsNotInUse()):
		return current
	case t.State == "":
		return ReadinessCondition{corev1.ConditionUnknown, "", ""}
	case t.IsNotInUse():
		return ReadinessCondition{corev1.ConditionUnknown, t.Reason, t.Description}
	}
	return ReadinessCondition{corev1.ConditionFalse, t.Reason, t.Description}
}

// IsUnchecked reports whether the first health checks of a new target have not ended yet.
func IsUnchecked(t *observed.Target) bool { return t.State == "initial" }

// CurrentCondition returns a condition of a pod by its type, and the time of its last transition; false if the pod has no
// such condition.
func CurrentCondition(p *corev1.Pod, gate corev1.PodConditionType) (ReadinessCondition, time.Time, bool) {
	for _, c := range p.Status.Conditions {
		if c.Type == gate {
			return ReadinessCondition{c.Status, c.Reason, c.Message}, c.LastTransitionTime.Time, true
		}
	}
	return ReadinessCondition{}, time.Time{}, false
}

// IsOlderThanContainers reports whether the containers of a pod became ready or not ready after a time.
func IsOlderThanContainers(p *corev1.Pod, at time.Time) bool {
	_, since, _ := CurrentCondition(p, corev1.ContainersReady)
	return at.Before(since)
}

// ContainersReadySince returns the time at which the containers of a pod became ready; false if they are not ready.
func ContainersReadySince(p *corev1.Pod) (time.Time, bool) {
	c, since, _ := CurrentCondition(p, corev1.ContainersReady)
	return since, c.Status == corev1.ConditionTrue
}

// AnyReadinessGateClosed reports whether a pod of the endpoints has the condition of a gate with a status other than true. A
// gate without a condition is ignored, because the endpoint may have been registered before the pod had the gate.
func AnyReadinessGateClosed(endpoints []Endpoint, gate corev1.PodConditionType) bool {
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
