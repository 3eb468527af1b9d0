package bindingplan

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// noWaitingPod is the result of planPodConditions if no pod waits for its target to become healthy. If a pod waits, the
// result is the time since the latest change of a closed gate, which may be zero.
const noWaitingPod time.Duration = -1

// gateCondition is the desired condition of the readiness gate of a pod.
type gateCondition struct {
	pod  *corev1.Pod
	want targets.ReadinessCondition
	// needsNoPolling is set if the condition will not change soon, so that the health is not polled for it.
	needsNoPolling bool
	// isUnchecked is set if AWS has not checked the target yet. In this case, the condition may be True because of an
	// earlier target.
	isUnchecked bool
}

// gatePlanner plans the readiness gates of pods.
type gatePlanner struct{ *Facts }

// planPodConditions plans the conditions of pods with the readiness gate: the health of their targets, or the reason why
// they have no target. It appends the steps to steps. It returns the time since the latest change of a gate that is still
// closed, or noWaitingPod.
func (f gatePlanner) planPodConditions(steps *[]Step, matched []targets.MatchedPair, registered []targets.Endpoint, omitted []unregisteredEndpoints) time.Duration {
	waiting := noWaitingPod
	for _, s := range f.podConditions(matched, registered, omitted) {
		shown, since, ok := targets.CurrentCondition(s.pod, f.gateType())
		if (s.want.Status != corev1.ConditionTrue || s.isUnchecked) && !s.needsNoPolling {
			age := time.Duration(0)
			if ok && shown.Status == s.want.Status {
				age = max(0, f.Now.Sub(since))
			}
			if waiting == noWaitingPod || age < waiting {
				waiting = age
			}
		}
		f.setGate(steps, s, "")
	}
	return waiting
}

// setGate plans to set the readiness gate condition of a pod, unless the pod already has this condition.
func (f gatePlanner) setGate(steps *[]Step, s gateCondition, why string) {
	shown, since, ok := targets.CurrentCondition(s.pod, f.gateType())
	if ok && shown == s.want {
		return
	}
	g := SetGate{Pod: s.pod, Want: s.want}
	if ok && shown.Status != corev1.ConditionTrue && s.want.Status == corev1.ConditionTrue && s.want != targets.ReleasedCondition && s.want != targets.NotInUseCondition {
		g.OpensGate, g.Since = true, since
	}
	*steps = append(*steps, Step{g, why})
}

// podConditions returns the desired condition of each pod with the readiness gate. If a pod has several targets, its gate
// opens when all of them are healthy.
func (f gatePlanner) podConditions(matched []targets.MatchedPair, registered []targets.Endpoint, omitted []unregisteredEndpoints) []gateCondition {
	var out []gateCondition
	at := map[string]int{}
	add := func(s gateCondition) {
		i, known := at[s.pod.Name]
		switch {
		case !targets.HasReadinessGate(s.pod, f.gateType()):
		case !known:
			at[s.pod.Name] = len(out)
			out = append(out, s)
		case out[i].want.Status == corev1.ConditionTrue && (s.want.Status != corev1.ConditionTrue || s.isUnchecked):
			out[i] = s
		}
	}
	for _, m := range matched {
		// If a load balancer uses the target group, but not the Availability Zone of the target, AWS will not check the target
		// soon.
		add(gateCondition{pod: m.Endpoint.Pod, want: f.conditionOf(m), needsNoPolling: f.Forwards != nil && m.Target.IsNotInUse(), isUnchecked: targets.IsUnchecked(m.Target)})
	}
	for _, e := range registered {
		add(gateCondition{pod: e.Pod, want: f.conditionOf(targets.MatchedPair{Endpoint: &e, Target: targets.RegisteringTarget}), isUnchecked: true})
	}
	for _, u := range omitted {
		for _, e := range u.endpoints {
			add(gateCondition{pod: e.Pod, want: u.podCondition, needsNoPolling: true})
		}
	}
	return out
}

// conditionOf returns the desired readiness gate condition of the pod of a target.
func (f gatePlanner) conditionOf(m targets.MatchedPair) targets.ReadinessCondition {
	shown, since, _ := targets.CurrentCondition(m.Endpoint.Pod, f.gateType())
	if targets.IsUnchecked(m.Target) && shown != targets.NotInUseCondition && targets.IsOlderThanContainers(m.Endpoint.Pod, since) {
		// The condition shows the health before the containers were restarted. NotInUseCondition shows no health, so that it
		// is kept.
		shown = targets.ReadinessCondition{}
	}
	if m.Target.IsNotInUse() && shown.Status != corev1.ConditionTrue && f.Forwards.isUnused() {
		return targets.NotInUseCondition
	}
	return targets.ConditionOf(m.Target, shown)
}

// isLongUnchecked reports whether a pod waits for its gate although AWS has not checked the health of targets of the target
// group for some time. It reads this time from the conditions of all pods, including pods with NotInUseCondition, so that
// not every new pod of a rollout has to wait for this time.
func (f gatePlanner) isLongUnchecked(matched []targets.MatchedPair) bool {
	if targets.HasInstanceTargets(f.CompletedBinding) {
		return false
	}
	waits, long := false, false
	for _, m := range matched {
		if !targets.HasReadinessGate(m.Endpoint.Pod, f.gateType()) || !m.Target.IsNotInUse() {
			continue
		}
		shown, since, _ := targets.CurrentCondition(m.Endpoint.Pod, f.gateType())
		waits = waits || shown.Status != corev1.ConditionTrue
		long = long || shown == targets.NotInUseCondition || shown == targets.ConditionOf(m.Target, targets.ReadinessCondition{}) && f.Now.Sub(since) >= durations.DeadlineMargin
	}
	return waits && long
}

// blockedCondition returns the condition of a pod that cannot become a target until a user resolves the finding f.
func blockedCondition(f finding.Finding) targets.ReadinessCondition {
	return targets.ReadinessCondition{Status: corev1.ConditionFalse, Reason: string(f.Reason), Message: stableMessage(f.Text())}
}

// explainClosedGates plans conditions with the first error for the pods whose gate is closed, if a run ended before it read
// their targets. Users look at the conditions of pods if a Deployment does not progress.
func (r *reporter) explainClosedGates() {
	why, ok := firstError(r.Findings)
	if r.AlreadyReported.PodConditionsSet || !ok {
		return
	}
	for _, pod := range r.GatedPods {
		if shown, _, _ := targets.CurrentCondition(pod, r.gateType()); shown.Status != corev1.ConditionTrue {
			gatePlanner{r.Facts}.setGate(&r.Steps, gateCondition{pod: pod, want: blockedCondition(why)}, "")
		}
	}
}

// explainMissingEndpoints plans conditions for pods that wait for the gate but are not endpoints of the binding. These pods
// will not be registered.
func (r *reporter) explainMissingEndpoints() {
	known := map[string]bool{}
	if len(r.GatedPods) > 0 {
		for _, e := range r.Resolution.Endpoints() {
			if e.Pod != nil {
				known[e.Pod.Name] = true
			}
		}
	}
	for _, pod := range r.GatedPods {
		shown, _, _ := targets.CurrentCondition(pod, r.gateType())
		since, ready := targets.ContainersReadySince(pod)
		if known[pod.Name] || !ready || pod.DeletionTimestamp != nil || shown.Status == corev1.ConditionTrue {
			continue
		}
		if wait := durations.FollowUpTime - r.Now.Sub(since); wait > 0 {
			r.requeueAfter(wait, "pods may become endpoints")
			continue
		}
		gatePlanner{r.Facts}.setGate(&r.Steps, gateCondition{pod: pod, want: blockedCondition(gatePlanner{r.Facts}.missingEndpointFinding())}, "")
	}
}

// missingEndpointFinding returns the finding about a pod with the readiness gate that is not an endpoint of the binding.
func (f gatePlanner) missingEndpointFinding() finding.Finding {
	out := finding.Finding{Reason: finding.EndpointMissing}
	if targets.HasInstanceTargets(f.CompletedBinding) {
		out.Message = "nodes are registered in the target group, not pods"
		out.Fix = "remove the readiness gate from the pod"
		return out
	}
	family := elbv2.TargetGroupIPAddressTypeIPv4
	if t := f.CompletedBinding.Spec.IPAddressType; t != nil {
		family = *t
	}
	out.Message = fmt.Sprintf("the pod is not an endpoint of Service %s that can be registered", f.CompletedBinding.Spec.ServiceRef.Name)
	out.Fix = fmt.Sprintf("check that the Service selects the pod, that an EndpointSlice has the %s address of the pod, and that the node of the pod is ready", family)
	return out
}

// pollInterval returns the time until the health is read again. since is the time since the latest change of a closed gate:
// a target that has not been healthy for a long time is read less often.
func (o Options) pollInterval(since time.Duration) time.Duration {
	switch {
	case since < durations.LastPoll:
		return min(durations.RecheckInterval, o.Requeue)
	case since < durations.MissingWait:
		return min(durations.FirstBackOff, o.Requeue)
	}
	return o.Requeue
}
