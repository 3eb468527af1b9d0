package bindingplan

import (
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// delayedChanges has the endpoints and targets whose registration or deregistration is delayed, because targets were
// registered and deregistered repeatedly.
type delayedChanges struct {
	endpoints []targets.Endpoint
	targets   []*observed.Target
	wait      time.Duration // time until they are changed
}

// isEmpty reports whether nothing is delayed.
func (d delayedChanges) isEmpty() bool { return len(d.endpoints)+len(d.targets) == 0 }

// delayFlapping moves flapping endpoints and targets from the changes to m.delayed. While an endpoint is delayed, all
// targets with ready pods are retained. Targets without a ready pod are deregistered at once. If no target is left that has
// a ready pod, the delay is short. Nodes are never delayed, because tenants cannot change them. It returns false if a
// question must be answered first.
func (p targetPlanner) delayFlapping(m *targetMoves) bool {
	if p.Memory.FlappingDelay <= 0 || targets.HasInstanceTargets(p.CompletedBinding) {
		return true
	}
	m.delayed.wait = p.Memory.FlappingDelay
	flaps := func(id string) bool { return p.Memory.FlappingTargets[id] }
	for _, e := range m.ToRegister {
		if flaps(e.ID) {
			m.delayed.endpoints = append(m.delayed.endpoints, e)
		}
	}
	unserving, ok := p.unservingTargets(m.ToDeregister)
	if !ok {
		return false
	}
	m.ToDeregister = slices.DeleteFunc(slices.Clone(m.ToDeregister), func(t *observed.Target) bool {
		isDelayed := (len(m.delayed.endpoints) > 0 || flaps(t.ID)) && !slices.Contains(unserving, t)
		if isDelayed {
			m.delayed.targets = append(m.delayed.targets, t)
		}
		return isDelayed
	})
	if len(m.MatchedTargets())+len(m.delayed.targets) == 0 {
		m.delayed.wait = p.Memory.FlappingDelayIfAlone
	}
	if m.delayed.wait <= 0 {
		m.delayed.endpoints = nil
		return true
	}
	m.ToRegister = slices.DeleteFunc(slices.Clone(m.ToRegister), func(e targets.Endpoint) bool { return flaps(e.ID) })
	return true
}

// unservingTargets returns those of the targets old that cannot answer requests, because their pods are not ready or are
// terminating. The second result is false if a question must be answered first.
func (p targetPlanner) unservingTargets(old []*observed.Target) ([]*observed.Target, bool) {
	if len(old) == 0 {
		return nil, true
	}
	serving, ok := p.servingPods(old)
	for _, pod := range serving { // a run is needed when the pod becomes unready
		p.WatchedObjects = append(p.WatchedObjects, cluster.Ref{Kind: cluster.KindPod, Namespace: pod.Namespace, Name: pod.Name})
	}
	return slices.DeleteFunc(slices.Clone(old), func(t *observed.Target) bool { return serving[t.ID] != nil }), ok
}

// reportFlapping reports that targets are delayed, and requests a run at the end of the delay.
func (r *reporter) reportFlapping(d delayedChanges) {
	if d.isEmpty() {
		return
	}
	r.requeueAfter(d.wait, "targets were registered and deregistered repeatedly")
	r.Findings.Add(finding.Finding{
		Object: targets.BindingRef(r.StoredBinding), Field: "spec.serviceRef", Reason: finding.ChangedTooOften, Severity: finding.Warning,
		Message: "the same targets were registered and deregistered several times within seconds; they are changed again within 30 s, and until then targets whose pods are ready are retained",
		Fix:     "find out what edits the Service, its EndpointSlices or the labels of its pods repeatedly, or why the pods alternate between ready and unready",
	})
	r.Findings = r.Findings.Sorted()
}
