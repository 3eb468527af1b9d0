package bindingplan

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// registrable returns the endpoints that AWS takes: in QUIC groups those that have a server id.
func (f *Facts) registrable() []targets.Endpoint {
	if !targets.IsQUIC(f.Described) {
		return f.Resolution.Endpoints()
	}
	return slices.DeleteFunc(slices.Clone(f.Resolution.Endpoints()), f.unidentified)
}

func (f *Facts) unidentified(e targets.Endpoint) bool {
	return targets.IsQUIC(f.Described) && e.ServerID == ""
}

// gatesClosed reports whether a pod is known to wait for its target to become healthy.
func (f *Facts) gatesClosed() bool {
	return !targets.IsInstance(f.Described) && targets.AnyWaiting(f.registrable(), f.gate())
}

// unregistered are endpoints that could not be registered, and what their pods show about it.
type unregistered struct {
	endpoints []targets.Endpoint
	because   targets.Condition
}

// addUnregistered reports the endpoints that are not registered although they should be. What pods show
// does not depend on how many they are, so that it is written once.
func (r *reporter) addUnregistered(m *moves, a *Attempt) []unregistered {
	var out []unregistered
	note := func(endpoints []targets.Endpoint, many, each string, f finding.Finding) {
		if len(endpoints) == 0 {
			return
		}
		f.Object, f.Severity, f.Message = targets.Ref(r.Stored), finding.Warning, fmt.Sprintf("%d endpoints %s", len(endpoints), many)
		r.Findings.Add(f)
		f.Message = each
		out = append(out, unregistered{endpoints, blockedCondition(f)})
	}
	var nameless []targets.Endpoint
	if targets.IsQUIC(r.Described) {
		nameless = slices.DeleteFunc(slices.Clone(r.Resolution.Endpoints()), func(e targets.Endpoint) bool { return !r.unidentified(e) })
	}
	note(nameless, "have no QUIC server id and are left out", "the pod has no QUIC server id and is not registered", finding.Finding{
		Reason: finding.ServerIDMissing,
		Fix:    "name the containers in the annotation " + targets.QUICAnnotation + " and let the ids be injected into new pods",
	})
	r.NoServerID = len(nameless)
	limit := fmt.Sprintf("not registered, as %d targets are the limit of a target group", r.Options.MaxTargets)
	note(m.Over, "are "+limit, "the pod is "+limit, finding.Finding{
		Reason: finding.TargetsCapped, Fix: "raise --max-targets-per-target-group",
	})
	if a == nil {
		return out
	}
	for _, x := range a.Refused { // what is to be said of them all ends the run
		if f, ok := findingOf(r.Stored, x.Because); ok {
			out = append(out, unregistered{x.Endpoints, blockedCondition(f)})
		}
	}
	return out
}
