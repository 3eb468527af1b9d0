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

// remove deletes what none of the listeners uses any more.
func (m *managedCertificates) remove(listeners []listenerPlan, after []StepID) {
	if !m.opt.managesCertificates() || m.want.Held.Certificates {
		return
	}
	if f := m.unavailable(model.AskOwnCertificates{}); f != nil && m.want.Empty() {
		// There may be some. Once the objects are gone nothing would delete them.
		m.awaitUnavailable(Address{Kind: Certificate, ID: m.want.ID.String()}, DeleteCertificate{}, *f)
	}
	if !m.allKnown() || slices.ContainsFunc(listeners, func(l listenerPlan) bool { return l.certs.AttachedUnavailable }) {
		return
	}
	used := map[string]bool{}
	for _, l := range listeners {
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
	for _, c := range m.have.Facts.OwnCertificates {
		if used[c.ARN] || m.kept[c.ARN] || !m.removalKnown(c) {
			continue
		}
		s := m.deletion(c, after)
		if s.Wait = m.stays(c); s.Waits() {
			m.add(s)
			continue
		}
		free = append(free, c)
	}
	// The records go first: once the certificate is gone they cannot be found any more. Until both are
	// gone each attempt finds the certificate, and removes what is left.
	needed := m.neededDomains(free)
	for _, c := range free {
		m.add(m.deletion(c, append(slices.Clone(after), m.removeRecords(c, needed, after)...)))
	}
}

// removalKnown reports whether all is known that the removal of a certificate depends on; what is not
// is asked.
func (m *managedCertificates) removalKnown(c observed.OwnCertificate) bool {
	if !c.Public {
		return true
	}
	facts := &m.have.Facts
	for _, q := range []model.Question{model.AskValidation{ARN: c.ARN}, model.AskPublicCertificates{}} {
		if f := m.unavailable(q); f != nil {
			m.reportUnavailable(*f, fmt.Sprintf("certificate %q is not deleted yet", c.ARN), finding.BlocksNothing)
			if m.want.Empty() {
				m.awaitUnavailable(Address{Kind: Certificate, ID: c.ARN}, DeleteCertificate{ARN: c.ARN}, *f)
			}
			return false
		}
	}
	_, known := facts.Validations[c.ARN]
	if !known {
		m.ask(model.AskValidation{ARN: c.ARN})
	}
	if !facts.PublicCertificatesAsked {
		m.ask(model.AskPublicCertificates{})
	}
	if facts.Zones == nil {
		m.ask(model.AskHostedZones{})
	}
	return known && facts.PublicCertificatesAsked && facts.Zones != nil
}

// stays says for what the deletion of a certificate has to wait.
func (m *managedCertificates) stays(c observed.OwnCertificate) Wait {
	if !c.Public {
		return Wait{}
	}
	if m.have.Facts.Validations[c.ARN].InUse {
		// Its records stay too: until it is gone it may be wanted again.
		wait := m.wait("unused "+c.ARN, "ACM to see that nothing uses it", longestWait)
		wait.Again = unusedWait
		return wait
	}
	if f := m.have.Facts.Zones.Fault; f != nil && f.Reason == "" {
		wait := m.wait("records "+c.ARN, "an answer of Route 53", longestWait)
		wait.Again = outageWait
		return wait
	}
	return Wait{}
}

func (m *managedCertificates) deletion(c observed.OwnCertificate, after []StepID) Step {
	a := Address{Kind: Certificate, ID: c.ARN}
	return Step{
		ID: stepID("delete", a), Address: a, Verb: Delete, Do: DeleteCertificate{ARN: c.ARN},
		Changes: []Change{{Path: "hosts", From: strings.Join(c.Domains, ", ")}},
		Why:     "no listener needs it any more", After: after, Blames: m.members(),
	}
}

// neededDomains are those whose records keep another certificate valid, or will be needed by one
// that is on its way. All certificates of the account share the record of a domain.
func (m *managedCertificates) neededDomains(free []observed.OwnCertificate) map[string]bool {
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
	for _, w := range m.want.Certificates {
		if w.CA == "" {
			need(w.Hosts)
		}
	}
	for _, c := range m.have.Facts.OwnCertificates {
		if c.Public && !goes[c.ARN] {
			need(c.Domains)
		}
	}
	for _, c := range m.have.Facts.PublicCertificates {
		if !goes[c.ARN] {
			need(c.Domains)
		}
	}
	return needed
}

// removeRecords removes those records of a certificate that no other needs. Where this cannot be
// done they stay, and do no harm.
func (m *managedCertificates) removeRecords(c observed.OwnCertificate, needed map[string]bool, after []StepID) []StepID {
	zones := m.have.Facts.Zones
	if !c.Public || zones.Fault != nil || zones.Locked != nil {
		return nil
	}
	var out []StepID
	for _, r := range m.have.Facts.Validations[c.ARN].Records {
		zone, ok := zoneOf(zones.List, r.Domain)
		if !ok || needed[recordDomain(r.Domain)] {
			continue
		}
		a := recordAddress(r)
		id := stepID("delete", a)
		out = append(out, id)
		if m.records[r.Name] {
			continue // another certificate that goes has it too
		}
		m.records[r.Name] = true
		m.add(Step{
			ID: id, Address: a, Verb: Delete,
			Do:      DeleteRecord{Certificate: c.ARN, CreateRecord: CreateRecord{Zone: zone.ID, Name: r.Name, Value: r.Value, TTL: recordTTL}},
			Changes: []Change{{Path: "CNAME", From: r.Value}},
			Why:     "no certificate needs it any more", After: after, Blames: m.members(),
		})
	}
	return out
}
