package migrate

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/handover"
)

// status returns where a load balancer is.
func (s *statusCommand) status(ctx context.Context, m move) Status {
	out := Status{from: m.from, Kind: string(m.from.Kind), Members: []output.Object{}, Obstacles: []output.Finding{}, Notes: []string{}}
	if m.from.Kind != "" {
		out.ID = m.from.String()
	}
	if m.by.Kind != "" {
		out.Gateway = m.by.String()
	}
	reason := ""
	if m.by.Kind == "" {
		reason = s.ofIngresses(ctx, m, &out)
	} else {
		reason = s.statusOfMove(ctx, m, &out)
	}
	if reason != "" {
		out.State, out.Reason, out.Obstacles = handover.Indeterminate, finding.Printable(finding.CutTo(input.MaxWarningLength, reason)), []output.Finding{}
	}
	s.steps.setNextSteps(&out, m)
	return out
}

// ofIngresses returns the status of a load balancer for which no Gateway asks. It returns why it is not known.
func (s *statusCommand) ofIngresses(ctx context.Context, m move, out *Status) (unknown string) {
	out.State = handover.InIngress
	if why := s.unreadable(); why != "" {
		return why
	}
	d := s.draft(ctx, m.from)
	if d.err != nil {
		return d.err.Error()
	}
	out.Members = objects(d.Translated.Members)
	if d.Translated.FrontendNLB != nil {
		out.beside = true
		out.Notes = append(out.Notes, "it has a frontend NLB, which a Gateway cannot take over: it is translated to Gateways with load balancers of their own, to which DNS records are moved")
	}
	switch gone := input.NotInstalled(&s.Source, cluster.KindGateway); {
	case len(gone) > 0:
		out.Notes = append(out.Notes, "the cluster does not serve kind Gateway; install the Gateway API first")
	case s.frontends[m.from.Kind.Adopter()] == nil:
		out.Notes = append(out.Notes, off(m.from.Kind.Adopter()).Error())
	}
	return s.contradictingObject(m, d.Translated.Members, d.Have)
}

// statusOfMove returns the status of a load balancer for which a Gateway asks, or which it has. It returns why it is
// not known.
func (s *statusCommand) statusOfMove(ctx context.Context, m move, out *Status) (unknown string) {
	if why := s.unreadable(); why != "" {
		return why
	}
	if len(input.NotInstalled(&s.Source, cluster.KindGateway)) > 0 {
		return "the cluster does not serve kind Gateway, and the load balancer carries the tags of Gateway " + m.by.String() + "; install the Gateway API"
	}
	if s.frontends[m.by.Kind] == nil {
		return off(m.by.Kind).Error()
	}
	if m.unserved {
		return input.UnservedReason(s.store, s.Config, m.at)
	}
	g := s.draft(ctx, m.by)
	if g.err != nil {
		return g.err.Error()
	}
	out.Steps = len(g.Plan.Steps)
	if m.fault != nil {
		out.State, out.Obstacles = handover.Refused, output.Findings(errorsOf(g.Findings))
		if g.Translated.DryRun {
			out.State = handover.Shadow
		}
		return ""
	}
	o := s.draft(ctx, m.from)
	if o.err != nil {
		return o.err.Error()
	}
	out.Members = objects(append(slices.Clone(o.Translated.Members), o.Translated.Leaving...))
	if why := s.contradictingObject(m, slices.Concat(o.Translated.Members, g.Translated.Members), g.Have, o.Have); why != "" {
		return why
	}
	out.State = handover.StateOf(handover.StateFacts{Gateway: g.Translated, Other: o.Translated, Have: g.Have, Found: g.Findings})
	switch out.State {
	case handover.InIngress:
		out.Gateway = "" // it asks for another one
	case handover.Shadow, handover.Refused:
		obstacles := handover.TakeOverObstacles(g.Findings)
		if g.Translated.Empty() {
			obstacles = errorsOf(g.Findings)
		}
		if f, ok := unavailableSecret(g.Findings, o.Findings); ok {
			return fmt.Sprintf("whether something is in the way depends on a Secret: %s; %s", f.Message, f.Fix)
		}
		out.Obstacles = output.Findings(obstacles)
	case handover.Adopted, handover.Released:
		if ref, ok := s.abandonedObject(m.from, o.Translated); ok {
			return fmt.Sprintf("%s has the finalizer of the controller, and with these flags no class of the controller serves it; it was taken out of management a moment ago, its class is missing, or the flags are not the controller's", ref)
		}
	}
	if out.State == handover.Released && len(g.Translated.Leaving) > 0 {
		out.Notes = append(out.Notes, "the Gateway is being deleted, and the load balancer with it")
	}
	for _, f := range errorsOf(g.Findings) {
		if len(out.Notes) < mostNotes && f.Reason != finding.AdoptionRefused && f.Reason != finding.AdoptionDiffers && len(out.Obstacles) == 0 {
			out.Notes = append(out.Notes, f.Located())
		}
	}
	if taken := out.State == handover.Adopting || out.State == handover.Adopted; taken && g.Translated.Held.Everything && g.Translated.Empty() {
		if why := input.UnservedReason(s.store, s.Config, m.at); len(out.Notes) == 0 && why != "" {
			out.Notes = append(out.Notes, why)
		}
		out.Notes, out.kept = append(out.Notes, "nothing of the Gateway can be built; until that is corrected the load balancer is not given back either"), true
	}
	return ""
}

// mostNotes are shown of one load balancer.
const mostNotes = 10

func errorsOf(found finding.List) finding.List {
	return slices.DeleteFunc(slices.Clone(found), func(f finding.Finding) bool { return f.Severity != finding.Error })
}

// unavailableSecret returns a finding that a Secret could not be read, on which both answers and certificates may
// depend.
func unavailableSecret(all ...finding.List) (finding.Finding, bool) {
	for _, found := range all {
		for _, f := range found {
			if f.Reason == finding.AccessDenied && strings.HasPrefix(f.Message, "Secret ") {
				return f, true
			}
		}
	}
	return finding.Finding{}, false
}

func objects(of []model.Member) []output.Object {
	out := []output.Object{}
	for _, m := range of {
		out = append(out, output.Object(m.Ref))
	}
	return out
}
