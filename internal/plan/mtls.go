package plan

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// The modes that mean something here: AWS checks client certificates, or ignores them.
const (
	verify = "verify"
	off    = "off"
)

// resolveMutualAuth finds the trust store that is given by name. While there is none, or AWS does not
// say which, a listener that checks clients goes on with the store that it has, and a new one is not
// made, as it would admit every client. A live one that checks no client is served as it is, but for the
// members that ask for the check: they are returned, and their rules are held.
func (lr *listenerResolver) resolveMutualAuth(l *listenerPlan) (blocked []finding.Ref) {
	desired := l.desired.TLS.MutualAuth
	if desired == nil {
		if lr.opt.EnhancedDefaults && l.live != nil && l.live.MutualAuth != nil {
			l.mutual = &model.MutualAuth{Mode: off}
		}
		return nil
	}
	m := *desired
	m.Of, m.Members = finding.Origin{}, nil
	l.mutual = &m
	if !desired.ByName() {
		return nil
	}
	arn, asked := lr.have.Facts.TrustStores[desired.TrustStore]
	if arn != "" {
		m.TrustStore = arn
		return nil
	}
	l.mutual = nil
	checks := l.live != nil && l.live.MutualAuth != nil && l.live.MutualAuth.Mode == verify
	switch {
	case l.live == nil, l.live.Protocol != l.desired.Protocol(), !checks && len(desired.Members) == 0:
		l.make = false
	case checks:
		l.mutual = l.live.MutualAuth
	default:
		l.mutual, blocked = l.live.MutualAuth, desired.Members
	}
	q := model.TrustStoreQuestion(lr.want.LoadBalancer.Listeners)
	f := lr.unavailable(q)
	switch {
	case f != nil:
		lr.reportUnavailable(*f, fmt.Sprintf("port %d keeps its client certificate settings", l.desired.Port), finding.BlocksListener, desired.Of)
	case !asked:
		lr.ask(q)
	default:
		lr.found.Add(finding.Finding{
			Object: lr.blameable(desired.Of.Object), Field: desired.Of.Field, Reason: finding.TrustStoreNotFound,
			Message: fmt.Sprintf("no trust store is named %q; port %d keeps its client certificate settings", desired.TrustStore, l.desired.Port),
			Fix:     "correct the name, or create the trust store", Blocks: finding.BlocksListener,
		})
	}
	return blocked
}
