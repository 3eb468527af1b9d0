package members

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// Port is a listener port with the members that listen on it, in their order. ConflictingMembers set another protocol for
// the port, so their rules are held.
type Port struct {
	Number             int32
	BaseProtocol       model.BaseProtocol
	TLS                bool
	Members            []*Member
	ConflictingMembers []*Member
	// Held reports whether the port keeps a protocol that it has in AWS and that none of its members sets, because a
	// previous member that retains its rights is served with this protocol.
	Held bool
}

// ListenPort returns the port as a settings.ListenPort.
func (p *Port) ListenPort() settings.ListenPort {
	return settings.ListenPort{Port: p.Number, BaseProtocol: p.BaseProtocol, TLS: p.TLS}
}

// MembersWithRules returns the members that have rules on the port, including ConflictingMembers, sorted in the same way as
// order.
func (p *Port) MembersWithRules(order []*Member) []*Member {
	if len(p.ConflictingMembers) == 0 {
		return p.Members
	}
	on := map[*Member]bool{}
	for _, m := range append(slices.Clone(p.Members), p.ConflictingMembers...) {
		on[m] = true
	}
	return slices.DeleteFunc(slices.Clone(order), func(m *Member) bool { return !on[m] })
}

// MergePorts sets Ports from the ports of all members. If members disagree on the protocol of a port, the protocol in AWS
// stays as long as a member sets it; otherwise the first member decides.
func (t *Translation) MergePorts() {
	byNumber := map[int32]*Port{}
	for _, m := range t.Members {
		for _, lp := range m.Ports {
			p := byNumber[lp.Port]
			if p == nil {
				p = &Port{Number: lp.Port, TLS: lp.TLS}
				byNumber[lp.Port] = p
				t.Ports = append(t.Ports, p)
			}
			if p.TLS == lp.TLS {
				p.Members = append(p.Members, m)
			} else {
				p.ConflictingMembers = append(p.ConflictingMembers, m)
			}
		}
	}
	slices.SortFunc(t.Ports, func(a, b *Port) int { return cmp.Compare(a.Number, b.Number) })
	for _, p := range t.Ports {
		t.chooseProtocol(p)
	}
}

// chooseProtocol chooses the protocol of a port on which members disagree, and adds a finding for each member that sets the
// other protocol.
func (t *Translation) chooseProtocol(p *Port) {
	same, known := t.matchesLiveProtocol(p.ListenPort())
	retained := t.retainedMemberOnPort(p.Number)
	if len(p.ConflictingMembers) == 0 && (retained == nil || same) {
		return
	}
	t.Stack.Contested = true
	why, losers := "comes first by group.order and name", p.ConflictingMembers
	switch {
	case known && !same && len(p.ConflictingMembers) == 0:
		why, losers, p.TLS, p.Held = "has the protocol that exists in AWS", p.Members, !p.TLS, true
	case known && !same:
		why, p.TLS, p.Members, p.ConflictingMembers = "has the protocol that exists in AWS", !p.TLS, p.ConflictingMembers, p.Members
		losers = p.ConflictingMembers
	case known:
		why = "has the protocol that exists in AWS"
	}
	winner := retained
	if !p.Held {
		winner = p.Members[0]
	}
	for _, m := range losers {
		lp := settings.ListenPort{Port: p.Number, TLS: !p.TLS}
		t.Found.Add(finding.Finding{
			Object: m.Ref, Field: naming.SettingField(t.ID.Kind, "listen-ports"), Reason: finding.ListenerConflict,
			Message: fmt.Sprintf("port %d is %s for %s, which %s; the rules of this %s for %s are held", p.Number, p.ListenPort().Protocol(), winner.Ref, why, m.Ref.Kind, lp.Protocol()),
			Fix:     "use the same protocol, or another port", Blocks: finding.BlocksListener,
		})
	}
}
