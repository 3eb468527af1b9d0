package bindings

import (
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// handover is how soon it is looked again whether new targets can take over.
const handover = 2 * time.Second

// retain takes out of the diff the old targets that have to serve on, because all the new ones
// are still in their first health checks and the load balancer would have nobody to send requests
// to. That is so when a Service is turned to other pods at once. An old target serves on only
// while its pod is there and ready, and no longer than the first checks of the new ones take,
// however they end; nor where there is no room for both.
func (p *pass) retain(d targets.Diff) (targets.Diff, error) {
	p.retained = nil
	serving, err := p.handingOver(d)
	if err != nil || len(serving) == 0 {
		return d, err
	}
	d.Deregister = slices.DeleteFunc(slices.Clone(d.Deregister), func(t observed.Target) bool {
		pod := serving[t.ID]
		if pod == nil || t.State != "healthy" {
			return false
		}
		cluster.Get[*corev1.Pod](p.v, cluster.KindPod, pod.Namespace, pod.Name)
		p.retained = append(p.retained, t)
		return true
	})
	if len(p.retained) > 0 {
		p.r.viewed(p.key, p.v)
	}
	return d, nil
}

// handingOver finds, by address, the pods of the targets to be taken out that could serve on;
// none if the targets that stay are enough.
func (p *pass) handingOver(d targets.Diff) (map[string]*corev1.Pod, error) {
	if targets.IsInstance(p.w) || len(d.Over) > 0 || len(d.Deregister) == 0 || len(d.Register)+len(d.Matched) == 0 {
		return nil, nil
	}
	for _, m := range d.Matched {
		if m.Target.State != "initial" && m.Target.State != "" {
			return nil, nil
		}
	}
	return p.servingPods(d.Deregister)
}

// servingPods finds, by address, the pods of targets that are ready and not about to go.
func (p *pass) servingPods(list []observed.Target) (map[string]*corev1.Pod, error) {
	v := p.r.Cluster.View() // only the pods found are watched, not all that may get the addresses
	serving := map[string]*corev1.Pod{}
	for _, t := range list {
		if pod := targets.ServingAt(v, p.key.Namespace, t.ID); pod != nil {
			serving[t.ID] = pod
		}
	}
	return serving, v.Err()
}
