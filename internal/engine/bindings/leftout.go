package bindings

import (
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// registrable are the endpoints that AWS takes: in QUIC groups those that have a server id.
func (p *pass) registrable() []targets.Endpoint {
	return slices.DeleteFunc(slices.Clone(p.found.Endpoints), p.unidentified)
}

func (p *pass) unidentified(e targets.Endpoint) bool { return targets.IsQUIC(p.w) && e.ServerID == "" }

// gatesClosed says that a pod is known to wait for its target to become healthy.
func (p *pass) gatesClosed() bool {
	return !targets.IsInstance(p.w) && targets.Waiting(p.registrable(), p.gate())
}

// unplaced are endpoints that could not be registered, and what their pods are told about it.
type unplaced struct {
	endpoints []targets.Endpoint
	because   targets.Condition
}

// leftOut tells of the endpoints that are not registered although they should be. What pods are told
// does not depend on how many they are, so that it is written once.
func (p *pass) leftOut(d targets.Diff) []unplaced {
	var out []unplaced
	note := func(endpoints []targets.Endpoint, many, each string, f finding.Finding) {
		if len(endpoints) == 0 {
			return
		}
		f.Object, f.Severity, f.Message = targets.Ref(p.b), finding.Warning, fmt.Sprintf("%d endpoints %s", len(endpoints), many)
		p.out.Findings.Add(f)
		f.Message = each
		out = append(out, unplaced{endpoints, closed(f)})
	}
	nameless := slices.DeleteFunc(slices.Clone(p.found.Endpoints), func(e targets.Endpoint) bool { return !p.unidentified(e) })
	note(nameless, "have no QUIC server id and are left out", "the pod has no QUIC server id and is not registered", finding.Finding{
		Reason: finding.ServerIDMissing,
		Fix:    "name the containers in the annotation " + targets.QUICAnnotation + " and let the ids be injected into new pods",
	})
	if len(nameless) > 0 && p.r.NoServerID != nil {
		p.r.NoServerID(p.key, len(nameless))
	}
	limit := fmt.Sprintf("not registered, as %d targets are the limit of a target group", p.r.MaxTargets)
	note(d.Over, "are "+limit, "the pod is "+limit, finding.Finding{
		Reason: finding.TargetsCapped, Fix: "raise --max-targets-per-target-group",
	})
	for _, r := range p.refused { // what is to be said of them all ends the run
		if f, ok := p.faultOf(r.err); ok {
			out = append(out, unplaced{r.endpoints, closed(f)})
		}
	}
	return out
}
