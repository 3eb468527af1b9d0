package bindings

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// noGate says that no pod waits for AWS to find its target healthy. Otherwise the time since the
// latest change of a waiting gate is given, which may be nothing at all.
const noGate time.Duration = -1

// showing is what the condition of a pod is to say.
type showing struct {
	pod  *corev1.Pod
	want targets.Condition
	// stuck says that AWS is not going to change it, so that looking at health again is of no use.
	stuck bool
}

// showHealth writes into the conditions of the pods that wait for the gate how their targets are, or
// why there are none. A pod that cannot be written does not keep the others waiting.
func (p *pass) showHealth(ctx context.Context, matched []targets.Pair, registered []targets.Endpoint, left []unplaced) (time.Duration, error) {
	p.shown = true
	waiting := noGate
	var errs []error
	for _, s := range p.showings(matched, registered, left) {
		shown, since, ok := targets.Shown(s.pod, p.gate())
		if s.want.Status != corev1.ConditionTrue && !s.stuck {
			age := time.Duration(0)
			if ok && shown.Status == s.want.Status {
				age = max(0, p.r.Now().Sub(since))
			}
			if waiting == noGate || age < waiting {
				waiting = age
			}
		}
		if err := p.show(ctx, s.pod, s.want); err != nil {
			errs = append(errs, err)
			continue
		}
		if ok && shown.Status != corev1.ConditionTrue && s.want.Status == corev1.ConditionTrue && p.r.PodReady != nil {
			p.r.PodReady(p.key, p.r.Now().Sub(since))
		}
	}
	return waiting, errors.Join(errs...)
}

// showings has each pod with the gate once. A pod with several targets is ready when all of them are
// healthy.
func (p *pass) showings(matched []targets.Pair, registered []targets.Endpoint, left []unplaced) []showing {
	var out []showing
	at := map[string]int{}
	add := func(s showing) {
		i, known := at[s.pod.Name]
		switch {
		case !targets.Gated(s.pod, p.gate()):
		case !known:
			at[s.pod.Name] = len(out)
			out = append(out, s)
		case out[i].want.Status == corev1.ConditionTrue:
			out[i] = s
		}
	}
	for _, m := range matched {
		add(showing{pod: m.Endpoint.Pod, want: p.conditionOf(m)})
	}
	for _, e := range registered {
		add(showing{pod: e.Pod, want: targets.Registering})
	}
	for _, u := range left {
		for _, e := range u.endpoints {
			add(showing{e.Pod, u.because, true})
		}
	}
	return out
}

// conditionOf is what the pod of a target is to show.
func (p *pass) conditionOf(m targets.Pair) targets.Condition {
	shown, _, _ := targets.Shown(m.Endpoint.Pod, p.gate())
	return targets.ConditionOf(m.Target, shown)
}

// closed is the condition of a pod that cannot become a target until somebody mends a fault.
func closed(f finding.Finding) targets.Condition {
	return targets.Condition{Status: corev1.ConditionFalse, Reason: string(f.Reason), Message: steady(f.Text())}
}

// tellWaiting tells the pods whose gate is closed why nothing comes of it, where a run has ended
// before it could see their targets. Who watches a Deployment that does not go on looks at its pods.
func (p *pass) tellWaiting(ctx context.Context) error {
	f, ok := firstError(p.out.Findings)
	if p.shown || !ok {
		return nil
	}
	waiting, err := p.waitingPods()
	if err != nil {
		return err
	}
	var errs []error
	for _, pod := range waiting {
		if shown, _, _ := targets.Shown(pod, p.gate()); shown.Status != corev1.ConditionTrue {
			errs = append(errs, p.show(ctx, pod, closed(f)))
		}
	}
	return errors.Join(errs...)
}

// show sets the gate's condition of a pod.
func (p *pass) show(ctx context.Context, pod *corev1.Pod, want targets.Condition) error {
	if shown, _, ok := targets.Shown(pod, p.gate()); ok && shown == want {
		return nil
	}
	err := p.r.change(ctx, SetPodCondition{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Type: string(p.gate()),
		Status: string(want.Status), Reason: want.Reason, Message: want.Message,
	})
	if err != nil {
		return fmt.Errorf("set condition %s of pod %s/%s: %w", p.gate(), pod.Namespace, pod.Name, err)
	}
	return nil
}

// poll is how long to wait before health is looked at again, by the time that has passed since a
// gate last changed: targets become healthy within some seconds, or not soon.
func (r *Reconciler) poll(since time.Duration) time.Duration {
	switch {
	case since < 20*time.Second:
		return min(2*time.Second, r.Requeue)
	case since < time.Minute:
		return min(5*time.Second, r.Requeue)
	}
	return r.Requeue
}
