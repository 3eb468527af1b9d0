package plan

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// resolveListeners settles certificates, target groups of others and held rules.
func (b *builder) resolveListeners() {
	for _, w := range b.wish.Listeners {
		b.listeners = append(b.listeners, b.resolveListener(&b.loadBalancerPlan, w))
	}
	b.stopDanglingRedirects()
	for _, l := range b.listeners {
		if l.make || l.live != nil {
			b.plan.Ports = append(b.plan.Ports, l.wish.Port)
		}
	}
	b.retainListeners()
}

func (b *builder) resolveListener(lb *loadBalancerPlan, w model.Listener) listenerPlan {
	l := listenerPlan{lb: lb, wish: w, make: true, live: lb.liveListener(w.Port)}
	var blocked []finding.Ref
	if w.TLS != nil {
		l.certs = b.resolveCertificates(w, l.live)
		blocked = l.certs.Blocked
		if l.certs.Default == "" {
			l.make = false
			b.uncertified(w, blocked)
		}
		blocked = append(slices.Clone(blocked), b.resolveMutualAuth(&l)...)
	}
	b.resolveRules(&l, blocked)
	if l.network() && l.wish.DefaultHeld != 0 && l.live == nil {
		l.make = false // it cannot answer by itself in the meantime
	}
	return l
}

// stopDanglingRedirects leaves a listener as it is that would redirect everything to a port on which
// nothing listens with TLS, and which this plan does not make.
func (b *builder) stopDanglingRedirects() {
	for i := range b.listeners {
		l := &b.listeners[i]
		port := redirectPort(l.defaults)
		if !l.redirectsAll || port == 0 {
			continue
		}
		if !slices.ContainsFunc(b.listeners, func(o listenerPlan) bool {
			return o.wish.Port == port && (o.make && o.wish.TLS != nil || !o.make && o.live != nil && o.live.Protocol == "HTTPS")
		}) {
			l.make = false
		}
	}
}

// uncertified reports a secure listener that has no certificate to serve. It waits while the
// certificates are still to be asked for.
func (b *builder) uncertified(w model.Listener, blocked []finding.Ref) {
	if len(blocked) > 0 || len(b.plan.Asks) > 0 || len(w.Members) == 0 {
		return
	}
	b.found.Add(finding.Finding{
		Object: w.Members[0], Field: "certificate-arn", Reason: finding.CertificateMissing,
		Message: fmt.Sprintf("port %d serves %s, but no certificate is given and there is no host to find one by; %s", w.Port, w.Protocol(), withoutCertificate(w, b.liveListener(w.Port), false)),
		Fix:     "set the certificate-arn annotation, or give the rules a host", Blocks: finding.BlocksMember,
	})
}

func (b *builder) resolveRules(l *listenerPlan, blocked []finding.Ref) {
	l.defaults = l.wish.Default
	l.ownDefault = !l.wish.DefaultOf.Object.IsZero()
	for _, a := range l.wish.Default {
		if _, ok := a.(model.Redirect); ok && len(l.wish.Rules) == 0 {
			l.redirectsAll = true
		}
	}
	if l.ownDefault && slices.Contains(blocked, l.wish.DefaultOf.Object) || b.unresolved(l.wish.Default, l.wish.DefaultOf) {
		l.wish.DefaultHeld |= model.HeldInvalid
	}
	if l.wish.DefaultHeld != 0 {
		l.ownDefault = false
		l.defaults = []model.Action{notFound}
		if l.live != nil {
			l.defaults = l.live.Default
		}
	}
	l.defaults = b.resolved(l.defaults)
	for _, r := range l.wish.Rules {
		if r.Held.Has(model.HeldInvalid) || slices.Contains(blocked, r.Member) || b.unresolved(r.Actions, r.Origin) {
			r.Held |= model.HeldInvalid
		}
		p := rulePlan{wish: r, wished: r.Actions}
		if !p.held() {
			p.wish.Actions = b.resolved(p.wish.Actions)
		}
		l.rules = append(l.rules, p)
	}
	b.leaveOut(l)
	taken := b.holdRules(l)
	for i := range l.rules {
		l.rules[i].wish.Actions = b.resolved(l.rules[i].wish.Actions)
	}
	b.retainRules(l, taken)
	b.tellUnreachable(l)
	b.keep(l.defaults)
	for _, r := range l.rules {
		if r.held() {
			b.keep(r.wish.Actions)
		}
	}
}

func (b *builder) wishes(port int32) bool {
	return b.want.LoadBalancer != nil && slices.ContainsFunc(b.want.LoadBalancer.Listeners, func(l model.Listener) bool { return l.Port == port })
}

// unresolved reports whether an action names a target group that does not exist, or that another
// namespace owns, and adds the finding. One given by ARN is taken to exist unless AWS says otherwise.
func (b *builder) unresolved(actions []model.Action, of finding.Origin) bool {
	missing := false
	for _, a := range actions {
		f, ok := a.(model.Forward)
		if !ok {
			continue
		}
		for _, g := range f.Groups {
			q := model.AskTargetGroup{Ref: cmp.Or(g.Group.Name, g.Group.ARN)}
			if f := b.unread(q); f != nil {
				if g.Group.Name != "" {
					missing = true
					b.tellUnread(*f, fmt.Sprintf("target group %q is not found, and the rule stays as it is", q.Ref), finding.BlocksRule, of)
				}
				continue
			}
			have, asked := b.have.Facts.TargetGroups[q.Ref]
			key := "targetGroupName"
			if g.Group.Name == "" {
				key = "targetGroupARN"
			}
			switch {
			case asked && have == "" || !asked && g.Group.Name != "":
				missing = true
				b.found.Add(finding.Finding{
					Object: of.Object, Field: of.Field, Reason: finding.TargetGroupNotFound,
					Message: fmt.Sprintf("target group %s does not exist", cmp.Or(g.Group.Name, g.Group.ARN)),
					Fix:     "correct " + key + ", or create the target group", Blocks: finding.BlocksRule,
				})
			case g.Group.ID == "" && b.ownedElsewhere(cmp.Or(have, g.Group.ARN), of.Object.Namespace):
				missing = true
				b.found.Add(finding.Finding{
					Object: of.Object, Field: of.Field, Reason: finding.TargetGroupNotOwned,
					Message: fmt.Sprintf("target group %q belongs to an Ingress of another namespace; the rule is held", cmp.Or(g.Group.Name, g.Group.ARN)),
					Fix:     "name a Service, or correct " + key, Blocks: finding.BlocksRule,
				})
			}
		}
	}
	return missing
}

// ownedElsewhere reports whether a target group was made for an object of another namespace: of this
// stack, or of another one, which may not have attached it yet.
func (b *builder) ownedElsewhere(arn, namespace string) bool {
	if owner, known := b.have.Facts.TargetGroupOwners[arn]; known && owner != namespace {
		return true
	}
	return slices.ContainsFunc(b.have.TargetGroups, func(h observed.TargetGroup) bool {
		owner, _, known := strings.Cut(h.ResourceID, "/")
		return h.ARN == arn && known && owner != namespace
	})
}

// resolved puts the ARNs of groups that are given by name into actions; what carries out a step has
// nothing else to find them by.
func (b *builder) resolved(actions []model.Action) []model.Action {
	out := slices.Clone(actions)
	for i, a := range out {
		f, ok := a.(model.Forward)
		if !ok {
			continue
		}
		f.Groups = slices.Clone(f.Groups)
		for j, g := range f.Groups {
			if arn := b.arn(g.Group); g.Group.Name != "" && arn != "" {
				f.Groups[j].Group = model.GroupRef{ARN: arn}
			}
		}
		out[i] = f
	}
	return out
}
