package certificates

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// RemoveUnused plans to delete the managed certificates that no listener of the stack uses. A certificate that ACM reports
// as in use is not deleted, see usageWait.
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
		if used[c.ARN] || m.retainedARNs[c.ARN] {
			continue
		}
		s := m.deletionStep(c, after)
		if m.attachmentRank(c.ARN) > 0 {
			s.Wait = m.detachmentWait(c)
			m.Add(s)
			continue
		}
		wait := m.usageWait(c) // called before requestDeletionFacts, so that a failed read does not make the wait begin again
		if !m.requestDeletionFacts(c) {
			continue
		}
		if m.Have.Facts.Validations[c.ARN].InUse {
			m.reportInUse(c, wait)
			if s.Wait = wait; s.Waits() {
				m.Add(s)
			}
			continue
		}
		if z := m.Have.Facts.HostedZones; c.Public && z.Fault != nil && z.Fault.Reason == "" {
			s.Wait = m.NewWait("records "+c.ARN, "an answer from Route 53", durations.LongestWait)
			if s.Wait.RetryAfter = durations.OutageWait; s.Waits() {
				m.Add(s)
				continue
			}
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

// requestDeletionFacts reports whether all facts are known on which the deletion of a certificate depends, and adds
// questions for missing facts. A certificate without validation records can be deleted even if its use could not be read,
// because ACM does not delete a certificate in use.
func (m *Managed) requestDeletionFacts(c observed.OwnCertificate) bool {
	facts := &m.Have.Facts
	if q := (model.AskValidation{ARN: c.ARN}); !c.Public {
		_, known := facts.Validations[c.ARN]
		if known || m.ReadFault(q) != nil {
			return true
		}
		m.Ask(q)
		return false
	}
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

// releaseText describes the condition that the deletion of a certificate waits for (plan.Wait.For).
const releaseText = "ACM to report that nothing uses it"

// detachmentWait returns the wait before the deletion of a certificate that is attached to a load balancer of the stack. The
// wait has no deadline. Usually, earlier steps of the plan remove the certificate or delete the load balancer, and the next
// run finds the certificate detached. But a previous load balancer has its certificates until it is deleted. Therefore the
// interval of the checks becomes long.
func (m *Managed) detachmentWait(c observed.OwnCertificate) plan.Wait {
	w := m.NewWait("attached "+c.ARN, releaseText, durations.LongestWait)
	switch {
	case w.For != "":
		return plan.Wait{For: releaseText, RetryAfter: durations.FirstBackOff}
	case m.Want.IsEmpty(): // the finalizers of all members wait for the deletion, so that the interval is shorter
		return plan.Wait{For: releaseText, RetryAfter: durations.LastPoll}
	}
	return plan.Wait{For: releaseText, RetryAfter: durations.LongestBackOff}
}

// usageWait returns the wait before the deletion of a certificate that ACM reports as in use by a resource outside of the
// stack. If this use lasts longer than the deadline, the result is the zero Wait, and the certificate is not deleted. Any
// namespace can use the certificates of the account, by ARN or for the hostname of a Gateway. Therefore the finalizers of
// the members must not wait for the end of this use. The validation records are also retained, because ACM needs them to
// renew the certificate, and because a member may request the certificate again. A later run of the stack deletes the
// certificate and its records. If the stack does not exist any more, the certificate is an orphan.
func (m *Managed) usageWait(c observed.OwnCertificate) plan.Wait {
	w := m.NewWait(usageKey(c), releaseText, durations.LongestWait)
	if w.For != "" {
		w.RetryAfter = durations.FirstBackOff
	}
	return w
}

// usageKey returns the key of the wait until nothing uses a certificate.
func usageKey(c observed.OwnCertificate) string { return "unused " + c.ARN }

// reportInUse reports that a resource outside of the stack uses a certificate, if it has used the certificate longer than
// the settle window. The finding is reported during the wait, because a member that is being deleted may not exist
// afterwards. Only the owners of the certificate get its ARN. If the stack is empty, the other members wait for the deletion
// as well and get the finding without the ARN. If the stack has members but the certificate has no owner, the first member
// gets the finding without the ARN.
func (m *Managed) reportInUse(c observed.OwnCertificate, wait plan.Wait) {
	if m.Memory.WaitedTimes[usageKey(c)] < durations.SettleWindow {
		return
	}
	owners := Owners(c, slices.Concat(m.Want.Members, m.Want.Leaving))
	fix := "the controller deletes it in a later run in which nothing uses it"
	others := m.Members()
	if m.Want.IsEmpty() {
		fix = "delete it when nothing uses it any more; fulcrum orphans lists it"
	} else if others = others[:min(len(others), 1)]; len(owners) > 0 {
		others = nil
	}
	stays := "it stays in ACM"
	if c.Public {
		stays += " with its DNS records, so that ACM can renew it"
	}
	if wait.For != "" {
		stays = fmt.Sprintf("its deletion waits for at most %s; then %s", wait.Deadline, stays)
	}
	report := func(o finding.Ref, certificate, fix string) {
		m.Findings.Add(finding.Finding{
			Object: o, Reason: finding.CertificateInUse, Severity: finding.Warning,
			Message: fmt.Sprintf("%s is not needed any more, but something else uses it, such as another load balancer; %s", certificate, stays), Fix: fix,
		})
	}
	for _, o := range owners {
		report(o, fmt.Sprintf("certificate %q", c.ARN), "see in the output of aws acm describe-certificate what uses it; "+fix)
	}
	for _, o := range others {
		if !slices.Contains(owners, o) {
			report(o, "a certificate in ACM with the tags of "+m.Want.ID.String(), fix)
		}
	}
}

// Owners returns the members for which a managed certificate was requested, or, if it was imported, those in the namespace of
// its Secret.
func Owners(c observed.OwnCertificate, members []model.Member) (out []finding.Ref) {
	for _, m := range members {
		_, mark, _ := strings.Cut(naming.CertificateID("", m.Ref, ""), "/")
		if strings.HasSuffix(c.ResourceID, mark) || naming.IsImportedFrom(c.ResourceID, m.Ref.Namespace) {
			out = append(out, m.Ref)
		}
	}
	return out
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
// steps. If the controller has no permission to delete the records, they remain, which has no effect on traffic.
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
