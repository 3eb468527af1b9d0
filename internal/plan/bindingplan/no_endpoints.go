package bindingplan

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// noEndpointsIn returns the time until it is reported that no pod serves the Service, zero if now; false if
// there is nothing to report. A Service whose pods are gone as well was scaled to zero.
func (f *Facts) noEndpointsIn() (time.Duration, bool) {
	u := f.Resolution.NoEndpoints
	if u == nil || u.Emptied {
		return 0, false
	}
	return max(0, u.Normal-f.Now.Sub(u.Since)), true
}

// reportsNoEndpoints reports whether that is to be reported now.
func (f *Facts) reportsNoEndpoints() bool {
	wait, ok := f.noEndpointsIn()
	return ok && wait == 0
}

// mostDeselected is of how many targets the pods are looked for.
const maxDeselectedChecked = 5

// selectorChanged finds out whether pods still run that the Service took until now, so that its selector was changed.
func (p mover) selectorChanged(m *moves) bool {
	if u := p.Resolution.NoEndpoints; u == nil || !u.Emptied || len(m.Deregister) == 0 {
		return true
	}
	serving, ok := p.serving(m.Deregister[:min(len(m.Deregister), maxDeselectedChecked)])
	m.deselected = len(serving) > 0
	return ok
}

// reportNoEndpoints adds why no pod serves behind the Service, on the Service and on the objects whose users look for it, or
// asks for a run when that is due.
func (r *reporter) reportNoEndpoints(deselected bool) {
	wait, ok := r.noEndpointsIn()
	switch {
	case deselected:
		f := r.Resolution.NoEndpoints.Finding
		f.Message += "; the pods that it took until now still run"
		r.addNoEndpoints(f)
	case ok && wait > 0:
		r.requeueAfter(wait, "pods may become endpoints")
	case ok:
		r.addNoEndpoints(r.Resolution.NoEndpoints.Finding)
	}
}

func (r *reporter) addNoEndpoints(f finding.Finding) {
	r.Findings.Add(f)
	for _, of := range r.Owners {
		if of != f.Object {
			f := f
			f.Object, f.Field = of, ""
			r.Findings.Add(f)
		}
	}
	r.Findings = r.Findings.Sorted()
}
