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

// noGate reports that no pod waits for AWS to find its target healthy. Otherwise the time since the
// latest change of a waiting gate is given, which may be nothing at all.
const noGate time.Duration = -1

// gateCondition is the desired condition of the readiness gate of a pod.
type gateCondition struct {
	pod  *corev1.Pod
	want targets.Condition
	// stuck reports whether AWS is not going to change it, so that looking at health again is of no use.
	stuck bool
}

// gates are the facts about the pods that wait for the readiness gate.
type gates struct{ *Facts }

// showHealth plans the conditions of the pods that wait for the gate: how their targets are, or why there are none. It
// returns for how long the latest of them has waited.
func (f gates) showHealth(steps *[]Step, matched []targets.Pair, registered []targets.Endpoint, left []unregistered) time.Duration {
	waiting := noGate
	for _, s := range f.podConditions(matched, registered, left) {
		shown, since, ok := targets.CurrentCondition(s.pod, f.gate())
		if s.want.Status != corev1.ConditionTrue && !s.stuck {
			age := time.Duration(0)
			if ok && shown.Status == s.want.Status {
				age = max(0, f.Now.Sub(since))
			}
			if waiting == noGate || age < waiting {
				waiting = age
			}
		}
		f.setGate(steps, s, "")
	}
	return waiting
}

// setGate plans the gate's condition of a pod, unless it shows it already.
func (f gates) setGate(steps *[]Step, s gateCondition, why string) {
	shown, since, ok := targets.CurrentCondition(s.pod, f.gate())
	if ok && shown == s.want {
		return
	}
	g := SetGate{Pod: s.pod, Want: s.want}
	if ok && shown.Status != corev1.ConditionTrue && s.want.Status == corev1.ConditionTrue && s.want != targets.Released && s.want != targets.Unserved {
		g.Opens, g.Since = true, since
	}
	*steps = append(*steps, Step{g, why})
}

// podConditions returns each pod with the readiness gate once. A pod with several targets is ready when all of them are
// healthy.
func (f gates) podConditions(matched []targets.Pair, registered []targets.Endpoint, left []unregistered) []gateCondition {
	var out []gateCondition
	at := map[string]int{}
	add := func(s gateCondition) {
		i, known := at[s.pod.Name]
		switch {
		case !targets.Gated(s.pod, f.gate()):
		case !known:
			at[s.pod.Name] = len(out)
			out = append(out, s)
		case out[i].want.Status == corev1.ConditionTrue:
			out[i] = s
		}
	}
	for _, m := range matched {
		// A load balancer that uses the target group and not the zone of a target does not begin to soon.
		add(gateCondition{pod: m.Endpoint.Pod, want: f.conditionOf(m), stuck: f.Forwards != nil && m.Target.NotInUse()})
	}
	for _, e := range registered {
		add(gateCondition{pod: e.Pod, want: targets.Registering})
	}
	for _, u := range left {
		for _, e := range u.endpoints {
			add(gateCondition{e.Pod, u.because, true})
		}
	}
	return out
}

// conditionOf returns what the pod of a target is to show.
func (f gates) conditionOf(m targets.Pair) targets.Condition {
	shown, _, _ := targets.CurrentCondition(m.Endpoint.Pod, f.gate())
	if m.Target.NotInUse() && shown.Status != corev1.ConditionTrue && f.Forwards.isUnused() {
		return targets.Unserved
	}
	return targets.ConditionOf(m.Target, shown)
}

// unserved reports whether a pod waits although AWS has not checked targets of the group for some time. That is read from
// the pods, those whose gates were opened for it included, so that a rollout waits once and not for each pod.
func (f gates) unserved(matched []targets.Pair) bool {
	if targets.IsInstance(f.Described) {
		return false
	}
	waits, long := false, false
	for _, m := range matched {
		if !targets.Gated(m.Endpoint.Pod, f.gate()) || !m.Target.NotInUse() {
			continue
		}
		shown, since, _ := targets.CurrentCondition(m.Endpoint.Pod, f.gate())
		waits = waits || shown.Status != corev1.ConditionTrue
		long = long || shown == targets.Unserved || shown == targets.ConditionOf(m.Target, targets.Condition{}) && f.Now.Sub(since) >= durations.Margin
	}
	return waits && long
}

// blockedCondition returns the condition of a pod that cannot become a target until a person corrects a fault.
func blockedCondition(f finding.Finding) targets.Condition {
	return targets.Condition{Status: corev1.ConditionFalse, Reason: string(f.Reason), Message: stableMessage(f.Text())}
}

// explainWaiting writes into the pods whose gate is closed why nothing comes of it, where a run has ended
// before it could see their targets. Who watches a Deployment that does not go on looks at its pods.
func (r *reporter) explainWaiting() {
	why, ok := firstError(r.Findings)
	if r.Reported.Pods || !ok {
		return
	}
	for _, pod := range r.GatedPods {
		if shown, _, _ := targets.CurrentCondition(pod, r.gate()); shown.Status != corev1.ConditionTrue {
			gates{r.Facts}.setGate(&r.Steps, gateCondition{pod: pod, want: blockedCondition(why)}, "")
		}
	}
}

// explainMissingEndpoints writes into pods that wait for the gate that nothing will come of it: they will not be
// registered as they are.
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
		shown, _, _ := targets.CurrentCondition(pod, r.gate())
		since, ready := targets.ContainersReady(pod)
		if known[pod.Name] || !ready || pod.DeletionTimestamp != nil || shown.Status == corev1.ConditionTrue {
			continue
		}
		if wait := durations.FollowUpTime - r.Now.Sub(since); wait > 0 {
			r.requeueAfter(wait, "pods may become endpoints")
			continue
		}
		gates{r.Facts}.setGate(&r.Steps, gateCondition{pod: pod, want: blockedCondition(gates{r.Facts}.endpointMissing())}, "")
	}
}

func (f gates) endpointMissing() finding.Finding {
	out := finding.Finding{Reason: finding.EndpointMissing}
	if targets.IsInstance(f.Described) {
		out.Message = "nodes are registered in the target group, not pods"
		out.Fix = "remove the readiness gate from the pod"
		return out
	}
	family := elbv2.TargetGroupIPAddressTypeIPv4
	if t := f.Described.Spec.IPAddressType; t != nil {
		family = *t
	}
	out.Message = fmt.Sprintf("the pod is not an endpoint of Service %s that can be registered", f.Described.Spec.ServiceRef.Name)
	out.Fix = fmt.Sprintf("check that the Service selects it and has its %s address, and that its node is ready", family)
	return out
}

// pollInterval returns how long to wait before health is looked at again, by the time that has passed since a
// gate last changed: targets become healthy within some seconds, or not soon.
func (o Options) pollInterval(since time.Duration) time.Duration {
	switch {
	case since < durations.LastPoll:
		return min(durations.Soon, o.Requeue)
	case since < durations.MissingWait:
		return min(durations.FirstBackOff, o.Requeue)
	}
	return o.Requeue
}
