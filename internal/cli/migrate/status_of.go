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
	"github.com/fulcrum-lb/fulcrum/internal/plan/handover"
)

// status returns the status of a move.
func (s *statusCommand) status(ctx context.Context, m move) Status {
	out := Status{fromStack: m.fromStack, Kind: string(m.fromStack.Kind), Members: []output.Object{}, Obstacles: []output.Finding{}, Notes: []string{}}
	if m.fromStack.Kind != "" {
		out.ID = m.fromStack.String()
	}
	if m.toStack.Kind != "" {
		out.Gateway = m.toStack.String()
	}
	reason := ""
	if m.toStack.Kind == "" {
		reason = s.setStatusWithoutGateway(ctx, m, &out)
	} else {
		reason = s.setStatusWithGateway(ctx, m, &out)
	}
	if reason != "" {
		out.State, out.Reason, out.Obstacles = handover.StateIndeterminate, finding.EscapeNonPrintable(finding.Truncate(reason, input.MaxWarningLength)), []output.Finding{}
	}
	s.commands.setNextSteps(&out, m)
	return out
}

// setStatusWithoutGateway sets the status of a load balancer that no Gateway requests. unknown is the reason why the state
// cannot be determined, or "".
func (s *statusCommand) setStatusWithoutGateway(ctx context.Context, m move, out *Status) (unknown string) {
	out.State = handover.StateNotRequested
	if why := s.unreadableReason(); why != "" {
		return why
	}
	d := s.draft(ctx, m.fromStack)
	if d.err != nil {
		return d.err.Error()
	}
	out.Members = output.MembersOf(d.TranslatedStack.Members)
	if d.TranslatedStack.FrontendNLB != nil {
		out.cannotBeTakenOver = true
		out.Notes = append(out.Notes, "it has a frontend NLB, which a Gateway cannot take over: translate it to Gateways with new load balancers, and move DNS records to these")
	}
	switch missing := input.NotInstalledKinds(&s.Source, cluster.KindGateway); {
	case len(missing) > 0:
		out.Notes = append(out.Notes, "the cluster does not serve kind Gateway; install the Gateway API first")
	case s.frontends[m.fromStack.Kind.AdopterKind()] == nil:
		out.Notes = append(out.Notes, gateOffError(m.fromStack.Kind.AdopterKind()).Error())
	}
	return s.contradictingStatusReason(m, d.TranslatedStack.Members, d.Have)
}

// setStatusWithGateway sets the status of a load balancer that a Gateway requests or has taken over. unknown is the reason
// why the state cannot be determined, or "".
func (s *statusCommand) setStatusWithGateway(ctx context.Context, m move, out *Status) (unknown string) {
	if why := s.unreadableReason(); why != "" {
		return why
	}
	if len(input.NotInstalledKinds(&s.Source, cluster.KindGateway)) > 0 {
		return "the cluster does not serve kind Gateway, and the load balancer has the tags of Gateway " + m.toStack.String() + "; install the Gateway API"
	}
	if s.frontends[m.toStack.Kind] == nil {
		return gateOffError(m.toStack.Kind).Error()
	}
	if m.gatewayUnserved {
		return input.UnservedReason(&s.Source, s.store, m.gateway)
	}
	gateway := s.draft(ctx, m.toStack)
	if gateway.err != nil {
		return gateway.err.Error()
	}
	out.Steps = len(gateway.Plan.Steps)
	if m.annotationErr != nil {
		out.State, out.Obstacles = handover.StateRefused, output.Findings(errorsOf(gateway.Findings))
		if gateway.TranslatedStack.DryRun {
			out.State = handover.StateShadow
		}
		return ""
	}
	other := s.draft(ctx, m.fromStack)
	if other.err != nil {
		return other.err.Error()
	}
	out.Members = output.MembersOf(append(slices.Clone(other.TranslatedStack.Members), other.TranslatedStack.Leaving...))
	if why := s.contradictingStatusReason(m, slices.Concat(other.TranslatedStack.Members, gateway.TranslatedStack.Members), gateway.Have, other.Have); why != "" {
		return why
	}
	out.State = handover.StateOf(handover.StateFacts{Gateway: gateway.TranslatedStack, Other: other.TranslatedStack, Have: gateway.Have, Findings: gateway.Findings})
	switch out.State {
	case handover.StateNotRequested:
		out.Gateway = "" // the Gateway requests another load balancer
	case handover.StateShadow, handover.StateRefused:
		obstacles := handover.TakeOverObstacles(gateway.Findings)
		if gateway.TranslatedStack.IsEmpty() {
			obstacles = errorsOf(gateway.Findings)
		}
		if f, ok := unavailableSecret(gateway.Findings, other.Findings); ok {
			return fmt.Sprintf("cannot check whether the Gateway can take over the load balancer: %s; %s", f.Message, f.Fix)
		}
		out.Obstacles = output.Findings(obstacles)
	case handover.StateAdopted, handover.StateReleased:
		if ref, ok := s.abandonedObject(m.fromStack, other.TranslatedStack); ok {
			return fmt.Sprintf("%s has the finalizer of the controller, but with these flags no class of the controller serves it: it was taken out of management, its class is missing, or these flags differ from those of the controller", ref)
		}
	}
	if out.State == handover.StateReleased && len(gateway.TranslatedStack.Leaving) > 0 {
		out.Notes = append(out.Notes, "the Gateway is being deleted, and the load balancer with it")
	}
	for _, f := range errorsOf(gateway.Findings) {
		if len(out.Notes) < maxNotes && f.Reason != finding.AdoptionRefused && f.Reason != finding.AdoptionDiffers && len(out.Obstacles) == 0 {
			out.Notes = append(out.Notes, f.TextWithField())
		}
	}
	if takenOver := out.State == handover.StateAdopting || out.State == handover.StateAdopted; takenOver && gateway.TranslatedStack.Held.AllResources && gateway.TranslatedStack.IsEmpty() {
		if why := input.UnservedReason(&s.Source, s.store, m.gateway); len(out.Notes) == 0 && why != "" {
			out.Notes = append(out.Notes, why)
		}
		out.Notes, out.cannotGiveBack = append(out.Notes, "no resource of the Gateway can be planned; until this is corrected, the load balancer is not given back either"), true
	}
	return ""
}

// maxNotes is the maximum number of notes about findings of one load balancer.
const maxNotes = 10

// errorsOf returns the findings of severity Error.
func errorsOf(found finding.List) finding.List {
	return slices.DeleteFunc(slices.Clone(found), func(f finding.Finding) bool { return f.Severity != finding.Error })
}

// unavailableSecret returns the first finding that a Secret could not be read, or false if there is none. Answers to
// requests and certificates may depend on the Secret.
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
