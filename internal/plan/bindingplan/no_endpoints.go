package bindingplan

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// noEndpointsIn returns the time until it has to be reported that the Service has no endpoints, zero if it is due now; false if
// there is nothing to report. A Service without pods that had endpoints was scaled to zero.
func (f *Facts) noEndpointsIn() (time.Duration, bool) {
	reason := f.Resolution.NoEndpoints
	if reason == nil || reason.Emptied {
		return 0, false
	}
	return max(0, reason.ReportDelay-f.Now.Sub(reason.Since)), true
}

// reportsNoEndpoints reports whether it has to be reported now that the Service has no endpoints.
func (f *Facts) reportsNoEndpoints() bool {
	wait, ok := f.noEndpointsIn()
	return ok && wait == 0
}

// maxDeselectedChecked bounds the targets whose pods hasSelectorChanged reads.
const maxDeselectedChecked = 5

// hasSelectorChanged sets moves.deselected if previous pods of the Service still run, so that its selector was changed. It reports
// whether the plan can go on.
func (p targetPlanner) hasSelectorChanged(m *moves) bool {
	if u := p.Resolution.NoEndpoints; u == nil || !u.Emptied || len(m.Deregister) == 0 {
		return true
	}
	serving, ok := p.servingPods(m.Deregister[:min(len(m.Deregister), maxDeselectedChecked)])
	m.deselected = len(serving) > 0
	return ok
}

// reportNoEndpoints adds the finding that the Service has no endpoints, or requests a run for the time at which it is due.
func (r *reporter) reportNoEndpoints(deselected bool) {
	wait, ok := r.noEndpointsIn()
	switch {
	case deselected:
		f := r.Resolution.NoEndpoints.Finding
		f.Message += "; the pods that it selected before still run"
		r.addNoEndpoints(f)
	case ok && wait > 0:
		r.requeueAfter(wait, "pods may become endpoints")
	case ok:
		r.addNoEndpoints(r.Resolution.NoEndpoints.Finding)
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
