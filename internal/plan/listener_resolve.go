package plan

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// resolveListeners settles certificates, target groups of others and held rules.
func (b *builder) resolveListeners() {
	resolver := b.listenerResolver()
	for _, w := range b.desired.Listeners {
		l := resolver.resolve(&b.loadBalancerPlan, w)
		if l.certs.withdrawn() {
			b.withdrawn = append(b.withdrawn, w.Port) // it is deleted with those that no object asks for
			continue
		}
		b.listeners = append(b.listeners, l)
	}
	stopDanglingRedirects(b.listeners)
	for _, l := range b.listeners {
		if l.make || l.live != nil {
			b.plan.Ports = append(b.plan.Ports, l.desired.Port)
		}
	}
	b.retainListeners()
	b.rulePlaces(&b.loadBalancerPlan).resolve()
}

// listenerResolver settles what desired listeners and their rules are to be. It notes which target groups
// are kept.
type listenerResolver struct {
	*targetGroups
	*usage
	certs certificateChoice
	held  *retention
	keys  liveKeys
}

func (b *builder) listenerResolver() *listenerResolver {
	return &listenerResolver{b.targetGroups, b.usage, certificateChoice{b.draft, b.managed.own, b.managed.coming, b.held}, b.held, b.keys}
}

func (lr *listenerResolver) resolve(lb *loadBalancerPlan, w model.Listener) listenerPlan {
	l := listenerPlan{lb: lb, desired: w, make: true, live: lb.liveListener(w.Port)}
	var blocked []finding.Ref
	if w.TLS != nil && !(l.network() && w.DefaultHeld != 0) {
		l.certs = lr.certs.resolve(w, l.live)
		blocked = l.certs.Blocked
		if l.certs.Default == "" {
			l.make = false
			if !l.certs.Coming && !l.certs.withdrawn() {
				lr.uncertified(w, l.live, blocked)
			}
		}
		blocked = append(slices.Clone(blocked), lr.resolveMutualAuth(&l)...)
	}
	lr.resolveRules(&l, blocked)
	if l.network() && l.desired.DefaultHeld != 0 {
		l.make = false // it is all of the listener, which cannot answer on its own in the meantime
	}
	return l
}

// stopDanglingRedirects leaves a listener as it is that would redirect everything to a port on which
// nothing listens with TLS, and which this plan does not make.
func stopDanglingRedirects(listeners []listenerPlan) {
	for i := range listeners {
		l := &listeners[i]
		port := redirectPort(l.defaults)
		if !l.redirectsAll || port == 0 {
			continue
		}
		if !slices.ContainsFunc(listeners, func(o listenerPlan) bool {
			return o.desired.Port == port && (o.make && o.desired.TLS != nil || !o.make && o.live != nil && o.live.Protocol == "HTTPS")
		}) {
			l.make = false
		}
	}
}

// uncertified reports a secure listener that has no certificate to serve. It waits while the
// certificates are still to be asked for.
func (lr *listenerResolver) uncertified(w model.Listener, live *observed.Listener, blocked []finding.Ref) {
	if len(blocked) > 0 || len(lr.plan.Asks) > 0 || len(w.Members) == 0 {
		return
	}
	lr.found.Add(finding.Finding{
		Object: w.Members[0], Field: naming.SettingName(lr.want.ID.Kind, "certificate-arn"), Reason: finding.CertificateMissing,
		Message: fmt.Sprintf("port %d serves %s, but no certificate is given and there is no host to find one by; %s", w.Port, w.Protocol(), withoutCertificate(w, live, false)),
		Fix:     certificateWay(lr.want.ID, w.TLS) + ", or give the rules a host", Blocks: finding.BlocksMember, Port: w.Port,
	})
}

func (lr *listenerResolver) resolveRules(l *listenerPlan, blocked []finding.Ref) {
	l.defaults = l.desired.Default
	l.ownDefault = !l.desired.DefaultOf.Object.IsZero()
	for _, a := range l.desired.Default {
		if _, ok := a.(model.Redirect); ok && len(l.desired.Rules) == 0 {
			l.redirectsAll = true
		}
	}
	if l.ownDefault && slices.Contains(blocked, l.desired.DefaultOf.Object) || lr.unresolved(l.desired.Default, l.desired.DefaultOf) {
		l.desired.DefaultHeld |= model.HeldInvalid
	}
	if l.desired.DefaultHeld != 0 {
		l.ownDefault = false
		l.defaults = []model.Action{notFound}
		if l.live != nil {
			l.defaults = l.live.Default
		}
	}
	l.defaults = lr.resolved(l.defaults)
	for _, r := range l.desired.Rules {
		if r.Held.Has(model.HeldInvalid) || slices.Contains(blocked, r.Member) || lr.unresolved(r.Actions, r.Origin) {
			r.Held |= model.HeldInvalid
		}
		p := rulePlan{desired: r, written: r.Actions}
		if !p.held() {
			p.desired.Actions = lr.resolved(p.desired.Actions)
		}
		l.rules = append(l.rules, p)
	}
	lr.leaveOut(l)
	taken := lr.holdRules(l)
	for i := range l.rules {
		l.rules[i].desired.Actions = lr.resolved(l.rules[i].desired.Actions)
	}
	lr.held.retainRules(l, taken)
	lr.reportUnreachable(l)
	lr.keep(l.defaults)
	for _, r := range l.rules {
		if r.held() {
			lr.keep(r.desired.Actions)
		}
	}
}

// unresolved reports whether an action names a target group that does not exist, or that another
// namespace owns, and adds the finding. One given by ARN is taken to exist unless AWS says otherwise.
func (lr *listenerResolver) unresolved(actions []model.Action, of finding.Origin) bool {
	missing := false
	for _, a := range actions {
		f, ok := a.(model.Forward)
		if !ok {
			continue
		}
		for _, g := range f.Groups {
			q := model.AskTargetGroup{Ref: cmp.Or(g.Group.Name, g.Group.ARN)}
			if f := lr.unavailable(q); f != nil {
				if g.Group.Name != "" {
					missing = true
					lr.reportUnavailable(*f, fmt.Sprintf("target group %q is not found, and the rule stays as it is", q.Ref), finding.BlocksRule, of)
				}
				continue
			}
			have, asked := lr.have.Facts.TargetGroups[q.Ref]
			key := "targetGroupName"
			if g.Group.Name == "" {
				key = "targetGroupARN"
			}
			switch {
			case asked && have == "" || !asked && g.Group.Name != "":
				missing = true
				lr.found.Add(finding.Finding{
					Object: of.Object, Field: of.Field, Reason: finding.TargetGroupNotFound,
					Message: fmt.Sprintf("target group %q does not exist; what names it is held", cmp.Or(g.Group.Name, g.Group.ARN)),
					Fix:     "correct " + key + ", or create the target group", Blocks: finding.BlocksRule,
				})
			case g.Group.ID == "" && lr.ownedElsewhere(cmp.Or(have, g.Group.ARN), of.Object.Namespace):
				missing = true
				lr.found.Add(finding.Finding{
					Object: of.Object, Field: of.Field, Reason: finding.TargetGroupNotOwned,
					Message: fmt.Sprintf("target group %q belongs to another namespace; what names it is held", cmp.Or(g.Group.Name, g.Group.ARN)),
					Fix:     "name a Service, or correct " + key, Blocks: finding.BlocksRule,
				})
			}
		}
	}
	return missing
}
