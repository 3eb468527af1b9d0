package bindings

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// strayAfter is how long the containers of a pod have to be ready before it is told that it is not an
// endpoint: slices follow pods.
const strayAfter = 30 * time.Second

// tellStrays tells pods that wait for the gate that nothing will come of it: they will not be
// registered as they are.
func (p *pass) tellStrays(ctx context.Context) error {
	waiting, err := p.waitingPods()
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for _, e := range p.found.Endpoints {
		if e.Pod != nil {
			known[e.Pod.Name] = true
		}
	}
	var errs []error
	for _, pod := range waiting {
		shown, _, _ := targets.Shown(pod, p.gate())
		since, ready := targets.ContainersReady(pod)
		if known[pod.Name] || !ready || pod.DeletionTimestamp != nil || shown.Status == corev1.ConditionTrue {
			continue
		}
		if wait := strayAfter - p.r.Now().Sub(since); wait > 0 {
			p.retry(true, wait)
			continue
		}
		errs = append(errs, p.show(ctx, pod, closed(p.stray())))
	}
	return errors.Join(errs...)
}

func (p *pass) stray() finding.Finding {
	f := finding.Finding{Reason: finding.EndpointMissing}
	if targets.IsInstance(p.w) {
		f.Message = "nodes are registered in the target group, not pods"
		f.Fix = "remove the readiness gate from the pod"
		return f
	}
	family := elbv2.TargetGroupIPAddressTypeIPv4
	if t := p.w.Spec.IPAddressType; t != nil {
		family = *t
	}
	f.Message = fmt.Sprintf("the pod is not an endpoint of Service %s that can be registered", p.w.Spec.ServiceRef.Name)
	f.Fix = fmt.Sprintf("check that the Service selects it and has its %s address, and that its node is ready", family)
	return f
}
