package listeners

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/certificates"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/owners"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// Resolver resolves desired listeners with their rules: it decides which settings, certificates and rules they get. It
// records which observed target groups remain in use.
type Resolver struct {
	*owners.TargetGroups
	*draft.Usage
	certs         *certificates.Chooser
	retention     *owners.Retention
	conditionKeys owners.ConditionKeys
	// foreignHostnames has, by the ARN of an observed rule, the hostnames that its member may not use.
	foreignHostnames map[string][]model.ForeignHostname
}

// NewResolver returns the Resolver of a stack.
func NewResolver(tg *owners.TargetGroups, u *draft.Usage, certs *certificates.Chooser, keys owners.ConditionKeys) *Resolver {
	return &Resolver{tg, u, certs, certs.Retention, keys, ForeignHostnames(tg.Have.Facts.Withdrawn)}
}

// Resolve resolves the desired listener w of a load balancer.
func (lr *Resolver) Resolve(lb *resolved.LoadBalancer, w model.Listener) resolved.Listener {
	l := resolved.Listener{LB: lb, Desired: w, Planned: true, Live: lb.Live.ListenerOnPort(w.Port)}
	var blocked []finding.Ref
	if w.TLS != nil && !(l.IsNetwork() && w.DefaultHeld != 0) {
		l.Certs = lr.certs.Resolve(w, l.Live)
		blocked = l.Certs.BlockedMembers
		if l.Certs.Default == "" {
			l.Planned = false
			if !l.Certs.ImportPending && !l.Certs.IsWithdrawn() {
				lr.reportMissingCertificate(w, l.Live, blocked)
			}
		}
		blocked = append(slices.Clone(blocked), lr.resolveMutualAuth(&l)...)
	}
	lr.resolveRules(&l, blocked)
	if l.IsNetwork() && l.Desired.DefaultHeld != 0 {
		l.Planned = false // a network load balancer cannot answer with a fixed response
	}
	return l
}

// StopDanglingRedirects prevents changes of listeners that would redirect all requests to a port without a TLS listener.
// Such a listener is not created, or keeps its observed state.
func StopDanglingRedirects(listeners []resolved.Listener) {
	for i := range listeners {
		l := &listeners[i]
		port := redirectPort(l.DefaultActions)
		if !l.RedirectsAll || port == 0 {
			continue
		}
		if !slices.ContainsFunc(listeners, func(o resolved.Listener) bool {
			return o.Desired.Port == port && (o.Planned && o.Desired.TLS != nil || !o.Planned && o.Live != nil && o.Live.Protocol == "HTTPS")
		}) {
			l.Planned = false
		}
	}
}

// reportMissingCertificate reports a TLS listener for which no certificate is set and none can be found. It adds no finding
// if a member already has a finding, or if facts were not read yet.
func (lr *Resolver) reportMissingCertificate(w model.Listener, live *observed.Listener, blocked []finding.Ref) {
	if len(blocked) > 0 || len(lr.Plan.Questions) > 0 || len(w.Members) == 0 {
		return
	}
	addHost := "add a host to the rules"
	if lr.Want.ID.Kind.IsGateway() {
		addHost = "set a hostname of the listener or of a route"
	}
	lr.Findings.Add(finding.Finding{
		Object: w.Members[0], Field: naming.SettingName(lr.Want.ID.Kind, "certificate-arn"), Reason: finding.CertificateMissing,
		Message: fmt.Sprintf("port %d serves %s, but no certificate is set, and no host for which one could be found; %s", w.Port, w.Protocol(), certificates.MissingCertificateText(w, live, false)),
		Fix:     certificates.CertificateSourceText(lr.Want.ID, w.TLS) + ", or " + addHost, Blocks: finding.BlocksMember, Port: w.Port,
	})
}

func (lr *Resolver) resolveRules(l *resolved.Listener, blocked []finding.Ref) {
	l.DefaultActions = l.Desired.Default
	l.DefaultServesBackend = !l.Desired.DefaultOf.Object.IsZero()
	for _, a := range l.Desired.Default {
		if _, ok := a.(model.Redirect); ok && len(l.Desired.Rules) == 0 {
			l.RedirectsAll = true
		}
	}
	if l.DefaultServesBackend && slices.Contains(blocked, l.Desired.DefaultOf.Object) || lr.reportMissingTargetGroups(l.Desired.Default, l.Desired.DefaultOf) {
		l.Desired.DefaultHeld |= model.HeldInvalid
	}
	if l.Desired.DefaultHeld != 0 {
		l.DefaultServesBackend = false
		l.DefaultActions = []model.Action{plan.NotFoundResponse}
		if l.Live != nil {
			l.DefaultActions = l.Live.Default
		}
	}
	l.DefaultActions = lr.WithTargetGroupARNs(l.DefaultActions)
	for _, r := range l.Desired.Rules {
		if r.Held.Has(model.HeldInvalid) || slices.Contains(blocked, r.Member) || lr.reportMissingTargetGroups(r.Actions, r.Origin) {
			r.Held |= model.HeldInvalid
		}
		p := resolved.Rule{Desired: r, DesiredActions: r.Actions}
		if !p.IsHeld() {
			p.Desired.Actions = lr.WithTargetGroupARNs(p.Desired.Actions)
		}
		l.Rules = append(l.Rules, p)
	}
	lr.omitHeldRules(l)
	taken := lr.holdRules(l)
	for i := range l.Rules {
		l.Rules[i].Desired.Actions = lr.WithTargetGroupARNs(l.Rules[i].Desired.Actions)
	}
	lr.retention.RetainRules(l, taken)
	lr.refuseHostnames(l)
	lr.reportUnreachableRules(l)
	lr.RetainTargetGroups(l.DefaultActions)
	for _, r := range l.Rules {
		if r.IsHeld() {
			lr.RetainTargetGroups(r.Desired.Actions)
		}
	}
}

// reportMissingTargetGroups reports each target group of the actions that does not exist or belongs to another namespace.
// The result is true if it reports at least one target group. A target group that is given by ARN is assumed to exist unless
// AWS reports that it does not exist.
func (lr *Resolver) reportMissingTargetGroups(actions []model.Action, of finding.Origin) bool {
	missing := false
	for _, g := range model.ForwardedTargetGroups(actions) {
		q := model.AskTargetGroup{Ref: cmp.Or(g.Group.Name, g.Group.ARN)}
		if f := lr.ReadFault(q); f != nil {
			if g.Group.Name != "" {
				missing = true
				lr.ReportUnavailable(*f, fmt.Sprintf("target group %q cannot be looked up, and the rule or default action that references it is held", q.Ref), finding.BlocksRule, of)
			}
			continue
		}
		have, asked := lr.Have.Facts.TargetGroups[q.Ref]
		key := "targetGroupName"
		if g.Group.Name == "" {
			key = "targetGroupARN"
		}
		switch {
		case asked && have == "" || !asked && g.Group.Name != "":
			missing = true
			lr.Findings.Add(finding.Finding{
				Object: of.Object, Field: of.Field, Reason: finding.TargetGroupNotFound,
				Message: fmt.Sprintf("target group %q does not exist; the rule or default action that references it is held", cmp.Or(g.Group.Name, g.Group.ARN)),
				Fix:     "correct " + key + ", or create the target group", Blocks: finding.BlocksRule,
			})
		case g.Group.ID == "" && lr.IsOwnedByOtherNamespace(cmp.Or(have, g.Group.ARN), of.Object.Namespace):
			missing = true
			lr.Findings.Add(finding.Finding{
				Object: of.Object, Field: of.Field, Reason: finding.TargetGroupNotOwned,
				Message: fmt.Sprintf("target group %q belongs to another namespace; the rule or default action that references it is held", cmp.Or(g.Group.Name, g.Group.ARN)),
				Fix:     "name a Service, or correct " + key, Blocks: finding.BlocksRule,
			})
		}
	}
	return missing
}
