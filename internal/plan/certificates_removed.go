package plan

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// unusedWait is how often ACM is asked whether it has seen that nothing uses a certificate.
const unusedWait = 5 * time.Second

// removeOwnCertificates deletes what no listener uses any more.
func (b *builder) removeOwnCertificates(after []StepID) {
	if !b.opt.ManageCertificates || b.want.Held.Certificates {
		return
	}
	if f := b.unread(model.AskOwnCertificates{}); f != nil && b.want.Empty() {
		// There may be some. Once the objects are gone nothing would delete them.
		b.awaitUnread(Address{Kind: Certificate, ID: b.want.ID.String()}, DeleteCertificate{}, *f)
	}
	if !b.ownCertificatesKnown() || slices.ContainsFunc(b.listeners, func(l listenerPlan) bool { return l.certs.AttachedUnread }) {
		return
	}
	used := map[string]bool{}
	for _, l := range b.listeners {
		used[l.certs.Default] = true
		for _, arn := range l.certs.Extra {
			used[arn] = true
		}
		if !l.make && l.live != nil {
			used[l.live.Certificate] = true
			for _, arn := range l.live.Certificates {
				used[arn] = true
			}
		}
	}
	var free []observed.OwnCertificate // that can go now
	for _, c := range b.have.Facts.OwnCertificates {
		if used[c.ARN] || b.ownKept[c.ARN] || !b.removalKnown(c) {
			continue
		}
		s := b.deletion(c, after)
		if s.Wait = b.stays(c); s.Waits() {
			b.add(s)
			continue
		}
		free = append(free, c)
	}
	// The records go first: once the certificate is gone nobody knows them any more. Until both are
	// gone each attempt finds the certificate, and removes what is left.
	needed := b.neededDomains(free)
	for _, c := range free {
		b.add(b.deletion(c, append(slices.Clone(after), b.removeRecords(c, needed, after)...)))
	}
}

// removalKnown says whether all is known that the removal of a certificate depends on; what is not
// is asked.
func (b *builder) removalKnown(c observed.OwnCertificate) bool {
	if !c.Public {
		return true
	}
	facts := &b.have.Facts
	for _, q := range []model.Question{model.AskValidation{ARN: c.ARN}, model.AskPublicCertificates{}} {
		if f := b.unread(q); f != nil {
			b.tellUnread(*f, fmt.Sprintf("certificate %q is not deleted yet", c.ARN), finding.BlocksNothing)
			if b.want.Empty() {
				b.awaitUnread(Address{Kind: Certificate, ID: c.ARN}, DeleteCertificate{ARN: c.ARN}, *f)
			}
			return false
		}
	}
	_, known := facts.Validations[c.ARN]
	if !known {
		b.ask(model.AskValidation{ARN: c.ARN})
	}
	if !facts.PublicCertificatesAsked {
		b.ask(model.AskPublicCertificates{})
	}
	if facts.Zones == nil {
		b.ask(model.AskHostedZones{})
	}
	return known && facts.PublicCertificatesAsked && facts.Zones != nil
}

// stays says for what the deletion of a certificate has to wait.
func (b *builder) stays(c observed.OwnCertificate) Wait {
	if !c.Public {
		return Wait{}
	}
	if b.have.Facts.Validations[c.ARN].InUse {
		// Its records stay too: until it is gone it may be wanted again.
		wait := b.wait("unused "+c.ARN, "ACM to see that nothing uses it", longestWait)
		wait.Again = unusedWait
		return wait
	}
	if f := b.have.Facts.Zones.Fault; f != nil && f.Reason == "" {
		wait := b.wait("records "+c.ARN, "an answer of Route 53", longestWait)
		wait.Again = outageWait
		return wait
	}
	return Wait{}
}

func (b *builder) deletion(c observed.OwnCertificate, after []StepID) Step {
	a := Address{Kind: Certificate, ID: c.ARN}
	return Step{
		ID: stepID("delete", a), Address: a, Verb: Delete, Do: DeleteCertificate{ARN: c.ARN},
		Changes: []Change{{Path: "hosts", From: strings.Join(c.Domains, ", ")}},
		Why:     "no listener needs it any more", After: after, Blames: b.members(),
	}
}

// neededDomains are those whose records keep another certificate valid, or will be needed by one
// that is on its way. All certificates of the account share the record of a domain.
func (b *builder) neededDomains(free []observed.OwnCertificate) map[string]bool {
	goes := map[string]bool{}
	for _, c := range free {
		goes[c.ARN] = true
	}
	needed := map[string]bool{}
	need := func(domains []string) {
		for _, d := range domains {
			needed[recordDomain(d)] = true
		}
	}
	for _, w := range b.want.Certificates {
		if w.CA == "" {
			need(w.Hosts)
		}
	}
	for _, c := range b.have.Facts.OwnCertificates {
		if c.Public && !goes[c.ARN] {
			need(c.Domains)
		}
	}
	for _, c := range b.have.Facts.PublicCertificates {
		if !goes[c.ARN] {
			need(c.Domains)
		}
	}
	return needed
}

// removeRecords removes those records of a certificate that no other needs. Where this cannot be
// done they stay, and do no harm.
func (b *builder) removeRecords(c observed.OwnCertificate, needed map[string]bool, after []StepID) []StepID {
	zones := b.have.Facts.Zones
	if !c.Public || zones.Fault != nil || zones.Locked != nil {
		return nil
	}
	var out []StepID
	for _, r := range b.have.Facts.Validations[c.ARN].Records {
		zone, ok := zoneOf(zones.List, r.Domain)
		if !ok || needed[recordDomain(r.Domain)] {
			continue
		}
		a := recordAddress(r)
		id := stepID("delete", a)
		out = append(out, id)
		if b.records[r.Name] {
			continue // another certificate that goes has it too
		}
		b.records[r.Name] = true
		b.add(Step{
			ID: id, Address: a, Verb: Delete,
			Do:      DeleteRecord{Certificate: c.ARN, CreateRecord: CreateRecord{Zone: zone.ID, Name: r.Name, Value: r.Value, TTL: recordTTL}},
			Changes: []Change{{Path: "CNAME", From: r.Value}},
			Why:     "no certificate needs it any more", After: after, Blames: b.members(),
		})
	}
	return out
}
