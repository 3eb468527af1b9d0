package plan

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// noALPN is AWS's word for no ALPN policy, which a listener has unless set otherwise.
const noALPN = "None"

// alpn is the ALPN policy to set, empty to leave the live one.
func (p *listenerPlanner) alpn() string {
	if p.l.desired.TLS.ALPN == "" && p.opt.EnhancedDefaults && p.l.live != nil && p.l.live.ALPN != "" {
		return noALPN
	}
	return p.l.desired.TLS.ALPN
}

// changeFirst plans what has to be changed of a live listener before its certificates and rules are. A
// listener of a network load balancer has no rules, and another protocol goes with other target groups,
// so that all of it changes in one call.
func (p *listenerPlanner) changeFirst(settings ListenerSettings, after []StepID) []StepID {
	if !p.l.network() {
		return p.secureFirst(settings, after)
	}
	p.resolveDefault()
	return p.modifyListener(settings, after)
}

// secureFirst makes a plain listener serve TLS before anything else is done to it, since only TLS
// listeners take further certificates and rules that authenticate. What follows is planned for the
// listener as it is then.
func (p *listenerPlanner) secureFirst(settings ListenerSettings, after []StepID) []StepID {
	if p.l.live == nil || p.l.desired.TLS == nil || p.l.live.Protocol == settings.Protocol {
		return nil
	}
	settings.Default = p.l.live.Default
	id := p.changeProtocol(settings, after)
	live := *p.l.live
	live.Protocol, live.Policy, live.Certificate, live.MutualAuth = settings.Protocol, settings.Policy, settings.Certificate, settings.MutualAuth
	p.l.live = &live
	return []StepID{id}
}

// plainLast reports whether a TLS listener that is to be a plain one has to stay as it is until its rules
// are changed, because some of them do what only TLS listeners can.
func plainLast(l *listenerPlan) bool {
	if l.live == nil || l.desired.TLS != nil || l.network() || l.live.Protocol == l.desired.Protocol() {
		return false
	}
	return needsTLS(l.live.Default) || slices.ContainsFunc(l.live.Rules, func(r observed.Rule) bool { return needsTLS(r.Actions) })
}

func needsTLS(actions []model.Action) bool {
	return slices.ContainsFunc(actions, func(a model.Action) bool {
		switch a.(type) {
		case model.AuthOIDC, model.AuthCognito, model.ValidateJWT:
			return true
		}
		return false
	})
}

func (p *listenerPlanner) changeProtocol(settings ListenerSettings, after []StepID) StepID {
	a := p.l.address()
	return p.add(Step{
		ID: stepID("protocol", a), Address: a, Verb: Update, Do: ModifyListener{Listener: a, Settings: settings},
		Changes: []Change{{Path: "protocol", From: p.l.live.Protocol, To: settings.Protocol}},
		Why:     "the listener differs", Impact: BriefImpact, After: slices.Clone(after), Blames: p.l.desired.Members,
	})
}
