package bindingplan

import (
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// delayed is what is not registered or deregistered yet, because its targets come and go again and again.
type delayed struct {
	endpoints []targets.Endpoint
	targets   []*observed.Target
	// left is for how long.
	left time.Duration
}

func (d delayed) isEmpty() bool { return len(d.endpoints)+len(d.targets) == 0 }

// delay takes out of the moves the targets that have come back again and again: those that are not registered wait, and
// those that are stay. While any waits, every old target that can serve stays, so that requests have somewhere to go. What
// cannot serve any more goes at once, and where none is left that can, the wait is a short one.
// Nodes are not for tenants to edit, and always come and go at once.
func (p mover) delay(m *moves) bool {
	if p.Memory.FlappingFor <= 0 || targets.IsInstance(p.Described) {
		return true
	}
	m.delayed.left = p.Memory.FlappingFor
	flaps := func(id string) bool { return p.Memory.Flapping[id] }
	for _, e := range m.Register {
		if flaps(e.ID) {
			m.delayed.endpoints = append(m.delayed.endpoints, e)
		}
	}
	useless, ok := p.unservingTargets(m.Deregister)
	if !ok {
		return false
	}
	m.Deregister = slices.DeleteFunc(slices.Clone(m.Deregister), func(t *observed.Target) bool {
		stays := (len(m.delayed.endpoints) > 0 || flaps(t.ID)) && !slices.Contains(useless, t)
		if stays {
			m.delayed.targets = append(m.delayed.targets, t)
		}
		return stays
	})
	if len(m.Staying())+len(m.delayed.targets) == 0 {
		m.delayed.left = p.Memory.FlappingAlone
	}
	if m.delayed.left <= 0 {
		m.delayed.endpoints = nil
		return true
	}
	m.Register = slices.DeleteFunc(slices.Clone(m.Register), func(e targets.Endpoint) bool { return flaps(e.ID) })
	return true
}

// unservingTargets returns the old targets that cannot serve: pods that are not ready or about to go.
func (p mover) unservingTargets(old []*observed.Target) ([]*observed.Target, bool) {
	if len(old) == 0 {
		return nil, true
	}
	serving, ok := p.serving(old)
	for _, pod := range serving { // it may become unready
		p.Watch = append(p.Watch, cluster.Ref{Kind: cluster.KindPod, Namespace: pod.Namespace, Name: pod.Name})
	}
	return slices.DeleteFunc(slices.Clone(old), func(t *observed.Target) bool { return serving[t.ID] != nil }), ok
}

// reportFlapping reports that targets wait, and asks for a run when they do not any more.
func (r *reporter) reportFlapping(d delayed) {
	if d.isEmpty() {
		return
	}
	r.requeueAfter(d.left, "targets came and went again and again")
	r.Findings.Add(finding.Finding{
		Object: targets.Ref(r.Stored), Field: "spec.serviceRef", Reason: finding.ChangedTooOften, Severity: finding.Warning,
		Message: "the same targets were registered and deregistered several times within seconds; they are changed again within 30 s, and until then targets that can serve stay",
		Fix:     "find out what edits the Service, its EndpointSlices or the labels of its pods all the time, or why the pods are ready and unready by turns",
	})
	r.Findings = r.Findings.Sorted()
}
