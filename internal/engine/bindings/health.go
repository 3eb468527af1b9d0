package bindings

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// noGate says that no pod waits for its gate. Otherwise the time since the latest change of a
// waiting gate is given, which may be nothing at all.
const noGate time.Duration = -1

// showHealth writes the health of targets into the conditions of the pods that wait for it.
func (p *pass) showHealth(ctx context.Context, gate corev1.PodConditionType, matched []targets.Pair, registered []targets.Endpoint) (time.Duration, error) {
	waiting := noGate
	show := func(pod *corev1.Pod, want targets.Condition) error {
		if !targets.Gated(pod, gate) {
			return nil
		}
		shown, since, ok := targets.Shown(pod, gate)
		if want.Status != corev1.ConditionTrue {
			age := time.Duration(0)
			if ok && shown.Status == want.Status {
				age = max(0, p.r.Now().Sub(since))
			}
			if waiting == noGate || age < waiting {
				waiting = age
			}
		}
		if ok && shown == want {
			return nil
		}
		err := p.r.change(ctx, SetPodCondition{
			Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, Type: string(gate),
			Status: string(want.Status), Reason: want.Reason, Message: want.Message,
		})
		if err != nil {
			return fmt.Errorf("set condition %s of pod %s/%s: %w", gate, pod.Namespace, pod.Name, err)
		}
		if ok && shown.Status != corev1.ConditionTrue && want.Status == corev1.ConditionTrue && p.r.PodReady != nil {
			p.r.PodReady(p.key, p.r.Now().Sub(since))
		}
		return nil
	}
	for _, m := range matched {
		if err := show(m.Endpoint.Pod, targets.ConditionOf(m.Target)); err != nil {
			return waiting, err
		}
	}
	for _, e := range registered {
		if err := show(e.Pod, targets.Registering); err != nil {
			return waiting, err
		}
	}
	return waiting, nil
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
