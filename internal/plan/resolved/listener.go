package resolved

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// An accepted rule has precedence over a held rule: a rule that is held for one member never blocks, replaces or precedes
// the rule of another member with the same conditions. Therefore a held rule is omitted if an accepted rule has the same
// conditions. A held rule does not keep an existing rule that has the conditions of an accepted rule.

// HasHeldRule reports whether a rule of the listener is held.
func (l *Listener) HasHeldRule() bool {
	return slices.ContainsFunc(l.Rules, func(p Rule) bool { return p.IsHeld() })
}

// LiveWithoutForeignRules returns the existing listener without the rules in ForeignRules. If HasForeignDefault is set, its
// default action is a 404 response.
func (l Listener) LiveWithoutForeignRules() *observed.Listener {
	out := *l.Live
	out.Rules = slices.DeleteFunc(slices.Clone(out.Rules), func(r observed.Rule) bool {
		return slices.ContainsFunc(l.ForeignRules, func(s observed.Rule) bool { return s.ARN == r.ARN })
	})
	if l.HasForeignDefault {
		out.Default = []model.Action{plan.NotFoundResponse}
	}
	return &out
}

// Listener is a desired listener after all choices are made. A setting that is held has its current value in AWS.
type Listener struct {
	LB      *LoadBalancer // the load balancer of the listener
	Desired model.Listener
	Live    *observed.Listener
	// Planned is false if the plan neither creates nor changes the listener. A listener that exists in AWS then stays
	// unchanged.
	Planned bool
	Certs   Certificates
	// MutualAuth is the client certificate setting, with the trust store by ARN.
	MutualAuth *model.MutualAuth
	// DefaultActions are the default actions to be set; if they are held, the current default actions.
	DefaultActions []model.Action
	Rules          []Rule
	// ForeignRules are existing rules without an owner, or of members without a right to them. They are deleted although the
	// listener is retained for its other rules.
	ForeignRules []observed.Rule
	// HasForeignDefault is set if the existing default action has no owner, or a member without a right to it, and is
	// therefore removed.
	HasForeignDefault bool
	// OmittedRules are held rules that neither exist in AWS nor have a placeholder.
	OmittedRules []Rule
	// RulesAwaitingQuota are rules that exceed the quota of AWS until a rule of another listener is deleted.
	RulesAwaitingQuota []Rule
	// InterimDefaultActions are the default actions to be set in this run, as long as the desired default actions have to
	// wait. DefaultActionWait is the wait of the desired default actions.
	InterimDefaultActions []model.Action
	DefaultActionWait     plan.Wait
	// ChangesInOneCall is set if AWS can change protocol and target groups of the listener only in the same call.
	ChangesInOneCall bool
	// RedirectsAll is set if the listener has no rules because it redirects all requests. DefaultServesBackend is set if its
	// default action comes from a member.
	RedirectsAll, DefaultServesBackend bool
}

// Address returns the address of the listener.
func (l *Listener) Address() plan.Address { return l.LB.ListenerAddress(l.Desired.Port) }

// IsNetwork reports whether the listener belongs to a network load balancer.
func (l *Listener) IsNetwork() bool {
	return l.LB.Desired != nil && l.LB.Desired.Type == model.Network
}

// Attributes returns the desired listener attributes. AWS has no attributes for listeners with protocol TLS.
func (l *Listener) Attributes() map[string]string {
	if l.Desired.Protocol() == "TLS" {
		return nil
	}
	return l.Desired.Attributes
}
