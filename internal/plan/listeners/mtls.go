package listeners

import (
	"fmt"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// resolveMutualAuth finds the ARN of the trust store that is given by name. While the ARN is unknown, a listener that
// verifies clients keeps its trust store. A new listener is not created, because it would admit every client. An existing
// listener that does not verify clients is retained. The rules of the members that request the verification are then held,
// and these members are returned.
func (lr *Resolver) resolveMutualAuth(l *resolved.Listener) (blocked []finding.Ref) {
	desired := l.Desired.TLS.MutualAuth
	if desired == nil {
		if (lr.Opt.EnhancedDefaults || lr.Want.ID.Kind.IsGateway()) && l.Live != nil && l.Live.MutualAuth != nil {
			l.MutualAuth = &model.MutualAuth{Mode: equal.SettingOff}
		}
		return nil
	}
	m := *desired
	m.Of, m.Members = finding.Origin{}, nil
	l.MutualAuth = &m
	if !desired.HasTrustStoreName() {
		return nil
	}
	arn, asked := lr.Have.Facts.TrustStores[desired.TrustStore]
	if arn != "" {
		m.TrustStore = arn
		return nil
	}
	l.MutualAuth = nil
	live := l.Live
	if live == nil {
		live = l.LB.ShownPrevious(lr.Have).ListenerOnPort(l.Desired.Port) // listener of the load balancer that is being replaced
	}
	checks := live != nil && live.MutualAuth != nil && live.MutualAuth.Mode == equal.MutualAuthVerify
	switch {
	case live == nil, live.Protocol != l.Desired.Protocol(), !checks && len(desired.Members) == 0:
		l.Planned = false
	case checks:
		l.MutualAuth = live.MutualAuth
	default:
		l.MutualAuth, blocked = live.MutualAuth, desired.Members
	}
	q := model.TrustStoreQuestion(lr.Want.LoadBalancer.Listeners)
	f := lr.ReadFault(q)
	switch {
	case f != nil:
		lr.ReportUnavailable(*f, fmt.Sprintf("port %d keeps its client certificate settings", l.Desired.Port), finding.BlocksListener, desired.Of)
	case !asked:
		lr.Ask(q)
	default:
		lr.Findings.Add(finding.Finding{
			Object: lr.EventObject(desired.Of.Object), Field: desired.Of.Field, Reason: finding.TrustStoreNotFound,
			Message: fmt.Sprintf("no trust store is named %q; port %d keeps its client certificate settings", desired.TrustStore, l.Desired.Port),
			Fix:     "correct the name, or create the trust store", Blocks: finding.BlocksListener,
		})
	}
	return blocked
}
