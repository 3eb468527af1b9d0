package bindingplan

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
)

// registrableEndpoints returns the endpoints that can be registered: in QUIC target groups, those with a server id.
func (f *Facts) registrableEndpoints() []targets.Endpoint {
	if !targets.IsQUIC(f.CompletedBinding) {
		return f.Resolution.Endpoints()
	}
	return slices.DeleteFunc(slices.Clone(f.Resolution.Endpoints()), f.lacksServerID)
}

// lacksServerID reports whether an endpoint has no QUIC server id although it needs one.
func (f *Facts) lacksServerID(e targets.Endpoint) bool {
	return targets.IsQUIC(f.CompletedBinding) && e.ServerID == ""
}

// hasClosedGate reports whether a pod waits for its target to become healthy, because its readiness gate is closed.
func (f *Facts) hasClosedGate() bool {
	return !targets.HasInstanceTargets(f.CompletedBinding) && targets.AnyReadinessGateClosed(f.registrableEndpoints(), f.gateType())
}

// unregisteredEndpoints has endpoints that are not registered, and the readiness gate condition of their pods.
type unregisteredEndpoints struct {
	endpoints    []targets.Endpoint
	podCondition targets.ReadinessCondition
}

// addUnregisteredFindings adds findings about the endpoints that are not registered, and returns the conditions of their
// pods. a has the refusals of AWS; it may be nil. A condition does not contain the number of endpoints, which changes with
// other pods.
func (r *reporter) addUnregisteredFindings(m *targetMoves, a *RegistrationAttempt) []unregisteredEndpoints {
	var out []unregisteredEndpoints
	add := func(endpoints []targets.Endpoint, many, each string, f finding.Finding) {
		if len(endpoints) == 0 {
			return
		}
		f.Object, f.Severity, f.Message = targets.BindingRef(r.StoredBinding), finding.Warning, fmt.Sprintf("%d endpoints %s", len(endpoints), many)
		r.Findings.Add(f)
		f.Message = each
		out = append(out, unregisteredEndpoints{endpoints, blockedCondition(f)})
	}
	var withoutID []targets.Endpoint
	if targets.IsQUIC(r.CompletedBinding) {
		withoutID = slices.DeleteFunc(slices.Clone(r.Resolution.Endpoints()), func(e targets.Endpoint) bool { return !r.lacksServerID(e) })
	}
	add(withoutID, "have no QUIC server id and are not registered", "the pod has no QUIC server id and is not registered", finding.Finding{
		Reason: finding.ServerIDMissing,
		Fix:    "name the containers in the annotation " + targets.QUICAnnotation + " and recreate the pods, so that ids are injected",
	})
	r.MissingServerIDs = len(withoutID)
	limit := fmt.Sprintf("not registered, because a target group may have at most %d targets", r.Options.MaxTargets)
	add(m.OverCapacity, "are "+limit, "the pod is "+limit, finding.Finding{
		Reason: finding.TargetsCapped, Fix: "raise --max-targets-per-target-group",
	})
	if a == nil {
		return out
	}
	for _, x := range a.Refusals { // the run reports one finding about all refusals
		if f, ok := failureFinding(r.StoredBinding, x.AWSFailure); ok {
			out = append(out, unregisteredEndpoints{x.Endpoints, blockedCondition(f)})
		}
	}
	return out
}
