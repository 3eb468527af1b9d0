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

// resolveMutualAuth finds the trust store that is given by name. While there is none, a listener
// that checks clients goes on with the store that it has; one that does not is left as it is, and
// a new one is not made, as it would let everybody in.
func (b *builder) resolveMutualAuth(l *listenerPlan) {
	wish := l.wish.TLS.MutualAuth
	if wish == nil {
		if b.opt.EnhancedDefaults && l.live != nil && l.live.MutualAuth != nil {
			l.mutual = &model.MutualAuth{Mode: off}
		}
		return
	}
	m := *wish
	m.Of = finding.Origin{}
	l.mutual = &m
	if !wish.ByName() {
		return
	}
	arn, asked := b.have.Facts.TrustStores[wish.TrustStore]
	if arn != "" {
		m.TrustStore = arn
		return
	}
	l.mutual = nil
	if l.live != nil && l.live.MutualAuth != nil && l.live.MutualAuth.Mode == verify {
		l.mutual = l.live.MutualAuth
	} else {
		l.make = false
	}
	if !asked {
		b.ask(model.AskTrustStores{Names: wish.TrustStore})
		return
	}
	b.found.Add(finding.Finding{
		Object: b.blameable(wish.Of.Object), Field: wish.Of.Field, Reason: finding.TrustStoreNotFound,
		Message: fmt.Sprintf("no trust store is named %s, so port %d stays as it is", wish.TrustStore, l.wish.Port),
		Fix:     "correct the name, or create the trust store", Blocks: finding.BlocksListener,
	})
}
