package bindingplan

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// registrable returns the endpoints that can be registered: in QUIC target groups, those with a server id.
func (f *Facts) registrable() []targets.Endpoint {
	if !targets.IsQUIC(f.Described) {
		return f.Resolution.Endpoints()
	}
	return slices.DeleteFunc(slices.Clone(f.Resolution.Endpoints()), f.lacksServerID)
}

// lacksServerID reports whether an endpoint has no QUIC server id although it needs one.
func (f *Facts) lacksServerID(e targets.Endpoint) bool {
	return targets.IsQUIC(f.Described) && e.ServerID == ""
}

// hasClosedGate reports whether a pod waits for its target to become healthy.
func (f *Facts) hasClosedGate() bool {
	return !targets.IsInstance(f.Described) && targets.AnyGateClosed(f.registrable(), f.gate())
}

// unregistered has endpoints that are not registered, and the condition of their pods.
type unregistered struct {
	endpoints []targets.Endpoint
	because   targets.Condition
}

// addUnregistered adds findings about the endpoints that are not registered, and returns the conditions of their pods. A condition
// does not contain the number of endpoints, so that it is written once.
func (r *reporter) addUnregistered(m *moves, a *Attempt) []unregistered {
	var out []unregistered
	add := func(endpoints []targets.Endpoint, many, each string, f finding.Finding) {
		if len(endpoints) == 0 {
			return
		}
		f.Object, f.Severity, f.Message = targets.Ref(r.Stored), finding.Warning, fmt.Sprintf("%d endpoints %s", len(endpoints), many)
		r.Findings.Add(f)
		f.Message = each
		out = append(out, unregistered{endpoints, blockedCondition(f)})
	}
	var withoutID []targets.Endpoint
	if targets.IsQUIC(r.Described) {
		withoutID = slices.DeleteFunc(slices.Clone(r.Resolution.Endpoints()), func(e targets.Endpoint) bool { return !r.lacksServerID(e) })
	}
	add(withoutID, "have no QUIC server id and are left out", "the pod has no QUIC server id and is not registered", finding.Finding{
		Reason: finding.ServerIDMissing,
		Fix:    "name the containers in the annotation " + targets.QUICAnnotation + " and recreate the pods, so that ids are injected",
	})
	r.NoServerID = len(withoutID)
	limit := fmt.Sprintf("not registered, because a target group may have at most %d targets", r.Options.MaxTargets)
	add(m.OverCapacity, "are "+limit, "the pod is "+limit, finding.Finding{
		Reason: finding.TargetsCapped, Fix: "raise --max-targets-per-target-group",
	})
	if a == nil {
		return out
	}
	for _, x := range a.Refused { // the run reports one finding about all of them
		if f, ok := findingOf(r.Stored, x.Because); ok {
			out = append(out, unregistered{x.Endpoints, blockedCondition(f)})
		}
	}
	return out
}
