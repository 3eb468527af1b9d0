package bindingplan

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// noEndpointsReportDelay returns the time until it has to be reported that the Service has no endpoints, zero if that is due
// now; false if there is nothing to report. A Service that had endpoints before was scaled to zero, which is not reported.
func (f *Facts) noEndpointsReportDelay() (time.Duration, bool) {
	reason := f.Resolution.NoEndpointsReason
	if reason == nil || reason.HadEndpoints {
		return 0, false
	}
	return max(0, reason.ReportDelay-f.Now.Sub(reason.Since)), true
}

// mustReportNoEndpoints reports whether it has to be reported now that the Service has no endpoints.
func (f *Facts) mustReportNoEndpoints() bool {
	wait, ok := f.noEndpointsReportDelay()
	return ok && wait == 0
}

// maxSelectorCheckTargets bounds the targets whose pods detectSelectorChange reads.
const maxSelectorCheckTargets = 5

// detectSelectorChange sets targetMoves.selectorChanged if previous pods of the Service still run, so that its selector was
// changed. It reports whether the plan can go on.
func (p targetPlanner) detectSelectorChange(m *targetMoves) bool {
	if u := p.Resolution.NoEndpointsReason; u == nil || !u.HadEndpoints || len(m.ToDeregister) == 0 {
		return true
	}
	serving, ok := p.servingPods(m.ToDeregister[:min(len(m.ToDeregister), maxSelectorCheckTargets)])
	m.selectorChanged = len(serving) > 0
	return ok
}

// reportNoEndpoints adds the finding that the Service has no endpoints, or requests a run for the time at which the finding
// is due.
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

// addNoEndpoints adds a finding about the Service, and the same finding for Facts.Owners.
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
