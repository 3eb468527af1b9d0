package bindingplan

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// noEndpointsReportDelay returns the time until the finding that the Service has no endpoints is due; zero if it is due now.
// The second result is false if there is nothing to report. If the Service had endpoints before, it was scaled to zero,
// which is not reported.
func (f *Facts) noEndpointsReportDelay() (time.Duration, bool) {
	reason := f.Resolution.NoEndpointsReason
	if reason == nil || reason.HadEndpoints {
		return 0, false
	}
	return max(0, reason.ReportDelay-f.Now.Sub(reason.Since)), true
}

// mustReportNoEndpoints reports whether the finding that the Service has no endpoints is due now.
func (f *Facts) mustReportNoEndpoints() bool {
	wait, ok := f.noEndpointsReportDelay()
	return ok && wait == 0
}

// maxSelectorCheckTargets is the maximum number of targets whose pods detectSelectorChange reads.
const maxSelectorCheckTargets = 5

// detectSelectorChange sets m.selectorChanged if the Service has no endpoints any more, but its previous pods still run. The
// reason is probably a change of its selector. It returns false if a question must be answered first.
func (p targetPlanner) detectSelectorChange(m *targetMoves) bool {
	if u := p.Resolution.NoEndpointsReason; u == nil || !u.HadEndpoints || len(m.ToDeregister) == 0 {
		return true
	}
	serving, ok := p.servingPods(m.ToDeregister[:min(len(m.ToDeregister), maxSelectorCheckTargets)])
	m.selectorChanged = len(serving) > 0
	return ok
}

// reportNoEndpoints adds the finding that the Service has no endpoints, or requests a run at the time at which the finding
// is due. deselected is set if the previous pods of the Service still run; the finding is then due at once.
func (r *reporter) reportNoEndpoints(deselected bool) {
	wait, ok := r.noEndpointsReportDelay()
	switch {
	case deselected:
		f := r.Resolution.NoEndpointsReason.Finding
		f.Message += "; the pods that it selected before still run"
		r.addNoEndpoints(f)
	case ok && wait > 0:
		r.requeueAfter(wait, "pods may become endpoints")
	case ok:
		r.addNoEndpoints(r.Resolution.NoEndpointsReason.Finding)
	}
}

// addNoEndpoints adds a finding about the Service, and the same finding about each object in Facts.Owners.
func (r *reporter) addNoEndpoints(f finding.Finding) {
	r.Findings.Add(f)
	for _, owner := range r.Owners {
		if owner != f.Object {
			f := f
			f.Object, f.Field = owner, ""
			r.Findings.Add(f)
		}
	}
	r.Findings = r.Findings.Sorted()
}
