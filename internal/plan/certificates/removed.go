package certificates

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// RemoveUnused plans to delete the managed certificates that no listener uses.
func (m *Managed) RemoveUnused(listeners []resolved.Listener, after []plan.StepID) {
	if !m.Opt.ManagesCertificates() || m.Want.Held.Certificates {
		return
	}
	if f := m.ReadFault(model.AskOwnCertificates{}); f != nil && m.Want.IsEmpty() {
		// Managed certificates may exist, and no run would delete them after the objects of the stack are deleted.
		m.DeleteOnceReadable(plan.Address{Kind: plan.Certificate, ID: m.Want.ID.String()}, plan.DeleteCertificate{}, *f)
	}
	if !m.requestManagedFacts() || slices.ContainsFunc(listeners, func(l resolved.Listener) bool { return l.Certs.AttachedUnavailable }) {
		return
	}
	used := map[string]bool{}
	for _, l := range listeners {
		used[l.Certs.Default] = true
		for _, arn := range l.Certs.List {
			used[arn] = true
		}
		if !l.Planned && l.Live != nil {
			used[l.Live.Certificate] = true
			for _, arn := range l.Live.Certificates {
				used[arn] = true
			}
		}
	}
	var free []observed.OwnCertificate // certificates that can be deleted now
	for _, c := range m.Have.Facts.OwnCertificates {
		if used[c.ARN] || m.keptARNs[c.ARN] || !m.requestDeletionFacts(c) {
			continue
		}
		s := m.deletionStep(c, after)
		if s.Wait = m.deletionWait(c); s.Waits() {
			m.Add(s)
			continue
		}
		free = append(free, c)
	}
	// The records are deleted before the certificate, because they cannot be found without it. If a deletion fails, the next
	// run finds the certificate and deletes what remains.
	needed := m.neededDomains(free)
	for _, c := range free {
		m.Add(m.deletionStep(c, append(slices.Clone(after), m.removeRecords(c, needed, after)...)))
	}
}

// requestDeletionFacts asks for the facts on which the deletion of a certificate depends. It reports whether all of them are
// known.
func (m *Managed) requestDeletionFacts(c observed.OwnCertificate) bool {
	if !c.Public {
		return true
	}
	facts := &m.Have.Facts
	for _, q := range []model.Question{model.AskValidation{ARN: c.ARN}, model.AskPublicCertificates{}} {
		if f := m.ReadFault(q); f != nil {
			m.ReportUnavailable(*f, fmt.Sprintf("certificate %q is not deleted yet", c.ARN), finding.BlocksNothing)
			if m.Want.IsEmpty() {
				m.DeleteOnceReadable(plan.Address{Kind: plan.Certificate, ID: c.ARN}, plan.DeleteCertificate{ARN: c.ARN}, *f)
			}
			return false
		}
	}
	_, known := facts.Validations[c.ARN]
	if !known {
		m.Ask(model.AskValidation{ARN: c.ARN})
	}
	if !facts.PublicCertificatesAsked {
		m.Ask(model.AskPublicCertificates{})
	}
	if facts.HostedZones == nil {
		m.Ask(model.AskHostedZones{})
	}
	return known && facts.PublicCertificatesAsked && facts.HostedZones != nil
}

// deletionWait returns the wait before a certificate is deleted; the zero Wait if it can be deleted now.
func (m *Managed) deletionWait(c observed.OwnCertificate) plan.Wait {
	if !c.Public {
		return plan.Wait{}
	}
	if m.Have.Facts.Validations[c.ARN].InUse {
		// The records are retained as well, because a member may request the certificate again before it is deleted.
		wait := m.NewWait("unused "+c.ARN, "ACM to report that nothing uses it", durations.LongestWait)
		wait.RetryAfter = durations.FirstBackOff
		return wait
	}
	if f := m.Have.Facts.HostedZones.Fault; f != nil && f.Reason == "" {
		wait := m.NewWait("records "+c.ARN, "an answer from Route 53", durations.LongestWait)
		wait.RetryAfter = durations.OutageWait
		return wait
	}
	return plan.Wait{}
}

func (m *Managed) deletionStep(c observed.OwnCertificate, after []plan.StepID) plan.Step {
	a := plan.Address{Kind: plan.Certificate, ID: c.ARN}
	return plan.Step{
		ID: plan.NewStepID("delete", a), Address: a, Verb: plan.Delete, Do: plan.DeleteCertificate{ARN: c.ARN},
		Changes: []plan.Change{{Path: "hosts", From: strings.Join(c.Domains, ", ")}},
		Why:     "no listener needs it any more", After: after, RequestedBy: m.Members(),
	}
}

// neededDomains returns the domains whose validation records are needed by another certificate, now or for its renewal. All
// certificates of the account share the record of a domain. free are the certificates that the plan deletes, which need no
// records.
func (m *Managed) neededDomains(free []observed.OwnCertificate) map[string]bool {
	deleted := map[string]bool{}
	for _, c := range free {
		deleted[c.ARN] = true
	}
	needed := map[string]bool{}
	need := func(domains []string) {
		for _, d := range domains {
			needed[recordDomain(d)] = true
		}
	}
	for _, w := range m.Want.Certificates {
		if w.CA == "" {
			need(w.Hosts)
		}
	}
	for _, c := range m.Have.Facts.OwnCertificates {
		if c.Public && !deleted[c.ARN] {
			need(c.Domains)
		}
	}
	for _, c := range m.Have.Facts.PublicCertificates {
		if !deleted[c.ARN] {
			need(c.Domains)
		}
	}
	return needed
}

// removeRecords plans to delete the validation records of a certificate that no other certificate needs. It returns these
// steps. If the controller has no permission to delete the records, they remain. This has no effect on traffic.
func (m *Managed) removeRecords(c observed.OwnCertificate, needed map[string]bool, after []plan.StepID) []plan.StepID {
	zones := m.Have.Facts.HostedZones
	if !c.Public || zones.Fault != nil {
		return nil
	}
	var out []plan.StepID
	for _, r := range m.Have.Facts.Validations[c.ARN].Records {
		zone, ok := HostedZoneOf(zones.Zones, r.Domain)
		if !ok || zone.WriteFault != nil || needed[recordDomain(r.Domain)] {
			continue
		}
		a := recordAddress(r)
		id := plan.NewStepID("delete", a)
		out = append(out, id)
		if m.plannedRecords[r.Name] {
			continue // the record is already deleted for another certificate
		}
		m.plannedRecords[r.Name] = true
		m.Add(plan.Step{
			ID: id, Address: a, Verb: plan.Delete,
			Do:      plan.DeleteRecord{Certificate: c.ARN, CreateRecord: plan.CreateRecord{Zone: zone.ID, Name: r.Name, Value: r.Value, TTL: recordTTL}},
			Changes: []plan.Change{{Path: "CNAME", From: r.Value}},
			Why:     "no certificate needs it any more", After: after, RequestedBy: m.Members(),
		})
	}
	return out
}
