package resolved

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// An accepted rule beats a held one: what is held for one member never blocks, replaces or precedes
// what another wants with the same conditions. So a held rule with the conditions of one that is not
// held is left out, and a live rule with such conditions is not kept for a held one.

// Holds reports whether a rule of the listener is held.
func (l *Listener) HasHeldRule() bool {
	return slices.ContainsFunc(l.Rules, func(p Rule) bool { return p.Held() })
}

// Staying returns the live listener without what is to be removed from it.
func (l Listener) WithoutForeign() *observed.Listener {
	out := *l.Live
	out.Rules = slices.DeleteFunc(slices.Clone(out.Rules), func(r observed.Rule) bool {
		return slices.ContainsFunc(l.ForeignRules, func(s observed.Rule) bool { return s.ARN == r.ARN })
	})
	if l.ForeignDefault {
		out.Default = []model.Action{plan.NotFoundResponse}
	}
	return &out
}

// Listener is a desired listener with its choices resolved and its held parts filled in.
type Listener struct {
	LB      *LoadBalancer // that it belongs to
	Desired model.Listener
	Live    *observed.Listener
	Planned bool // false: it cannot be made, and what is live of it stays
	Certs   Certificates
	// Mutual is the client certificate setting with the trust store by ARN.
	MutualAuth *model.MutualAuth
	// Defaults is the default action to set; the live one where it is held.
	DefaultActions []model.Action
	Rules          []Rule
	// ForeignMembers are live rules to be deleted from a listener that stays for its other rules.
	ForeignRules []observed.Rule
	// StrangeDefault says so of its default action.
	ForeignDefault bool
	// LeftOut are held rules that have neither a live form to keep nor a placeholder.
	Omitted []Rule
	// Late are rules that are made when a rule of another listener has gone.
	AwaitingPlace []Rule
	// DefaultNow is the default action to set now, on the way to the desired one; defaultWait is for
	// what the desired one waits.
	InterimDefault []model.Action
	DefaultWait    plan.Wait
	// AtOnce is set where protocol and target groups only change in one call.
	ChangesInOneCall bool
	// RedirectsAll reports whether the listener has no rules because it redirects everything; ownDefault
	// that its default action serves a backend.
	RedirectsAll, DefaultServesBackend bool
}

// Address returns the address of the listener that is kept or made.
func (l *Listener) Address() plan.Address { return l.LB.ListenerAddress(l.Desired.Port) }

// Network reports whether it is the listener of a network load balancer.
func (l *Listener) IsNetwork() bool {
	return l.LB.Desired != nil && l.LB.Desired.Type == model.Network
}

// Attributes returns the attributes asked for. AWS has none of TLS listeners.
func (l *Listener) Attributes() map[string]string {
	if l.Desired.Protocol() == "TLS" {
		return nil
	}
	return l.Desired.Attributes
}
