package certificates

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// recordTTL is the TTL of validation records, in seconds.
const recordTTL = 60

// checkHostedZones reports whether a certificate can be validated after it is requested. A private certificate needs no
// validation. A public certificate needs a hosted zone for each host; each host without one gets a finding. Without access
// to Route 53 the result is true, because a user must then create the records. While the hosted zones are not known, the
// result is false. hasOther is set if the member has another certificate on its listener. In this case, the findings do not
// hold the member.
func (m *Managed) checkHostedZones(w model.ManagedCertificate, a plan.Address, hasOther bool) bool {
	if w.CA != "" {
		return true
	}
	zones := m.Have.Facts.HostedZones
	if zones == nil {
		m.Ask(model.AskHostedZones{})
		return false
	}
	if f := zones.Fault; f != nil {
		if f.Reason != "" {
			return true
		}
		if f.Message != "" {
			m.Findings.Add(finding.Finding{
				Object: w.Member, Field: w.Of.Field, Reason: finding.ServiceUnavailable,
				Message: fmt.Sprintf("the certificate for %s is not requested yet: %s", w.Domain, f.Message), Fix: "check the access to Route 53",
			})
		}
		m.awaitCertificate(w, a, plan.Wait{For: "an answer from Route 53", RetryAfter: durations.OutageWait})
		return false
	}
	missing := slices.DeleteFunc(slices.Clone(w.Hosts), func(host string) bool {
		_, ok := HostedZoneOf(zones.Zones, host)
		return ok
	})
	if len(missing) > 0 && m.Have.Facts.Now.Sub(zones.ListedAt) > durations.OutageWait {
		m.Ask(model.AskHostedZones{Recent: true})
	}
	for _, host := range missing {
		f := finding.Finding{
			Object: w.Member, Field: w.Of.Field, Reason: finding.HostedZoneNotFound,
			Message: fmt.Sprintf("no certificate is requested, because the account has no public hosted zone for host %s", host),
			Fix:     "create the zone, or import a certificate and name it in " + naming.SettingName(m.Want.ID.Kind, "certificate-arn"), Blocks: finding.BlocksMember,
		}
		if hasOther {
			f.Message += "; the certificate for the previous hosts is still used"
			f.Blocks, f.Severity = finding.BlocksNothing, finding.Error
		}
		m.Findings.Add(f)
	}
	if len(missing) > 0 {
		m.awaitCertificate(w, a, plan.Wait{For: "a hosted zone", RetryAfter: durations.MissingWait})
	}
	return len(missing) == 0
}

// HostedZoneOf returns the public hosted zone for a domain; false if there is none. If several zones match, it returns the
// most specific zone.
func HostedZoneOf(zones []observed.HostedZone, domain string) (best observed.HostedZone, ok bool) {
	domain = recordDomain(domain)
	for _, z := range zones {
		if z.Private || domain != z.Name && !strings.HasSuffix(domain, "."+z.Name) {
			continue
		}
		if !ok || len(z.Name) > len(best.Name) || z.Name == best.Name && z.ID < best.ID {
			best, ok = z, true
		}
	}
	return best, ok
}

// recordDomain returns the domain whose DNS record validates the given domain in ACM: the domain in lower case, without
// "*.".
func recordDomain(domain string) string {
	return strings.TrimPrefix(strings.ToLower(domain), "*.")
}

// planValidationRecords plans the missing validation records of a certificate, or reports why they cannot be created. It
// returns the time until the certificate must be checked again.
func (m *Managed) planValidationRecords(w model.ManagedCertificate, c observed.OwnCertificate) time.Duration {
	again := durations.OutageWait
	if c.RecordsMissing {
		again = durations.FirstBackOff
	}
	var missing, unseen []observed.DNSRecord
	for _, r := range c.Records {
		if !r.SeenByACM {
			unseen = append(unseen, r)
		}
		if !r.SeenByACM && !r.RecentlyCreated {
			missing = append(missing, r)
		}
	}
	zones := m.Have.Facts.HostedZones
	switch {
	case len(missing) == 0:
		if !c.RecordsMissing && m.Have.Facts.Now.Sub(c.Created) >= durations.OverdueDeadline {
			m.reportPendingCertificate(w, "although its DNS records exist; it was requested at "+c.Created.UTC().Format(time.RFC3339), unseen,
				"check that the domains are delegated to the hosted zones of this account")
		}
	case zones == nil:
		m.Ask(model.AskHostedZones{})
	case zones.Fault != nil && zones.Fault.Reason == "":
		if zones.Fault.Message != "" {
			m.reportPendingCertificate(w, "because its DNS records could not be created yet: "+zones.Fault.Message, nil, "check the access to Route 53")
		}
	case zones.Fault != nil:
		m.reportPendingCertificate(w, manualRecordsText(zones.Fault), unseen, manualRecordsFix)
	default:
		var withoutZone, denied []observed.DNSRecord
		var fault *observed.Fault
		for _, r := range missing {
			switch zone, ok := HostedZoneOf(zones.Zones, r.Domain); {
			case !ok:
				withoutZone = append(withoutZone, r)
			case zone.WriteFault != nil:
				denied, fault = append(denied, r), zone.WriteFault
			default:
				m.createRecord(w, zone, r)
			}
		}
		if fault != nil {
			m.reportPendingCertificate(w, manualRecordsText(fault), denied, manualRecordsFix)
		}
		if len(withoutZone) > 0 {
			m.reportPendingCertificate(w, "for DNS records for which the account has no public hosted zone", withoutZone, "create the hosted zone, or create the records with the DNS provider of the domain")
		}
	}
	return again
}

const manualRecordsFix = "create the records, or allow the controller route53:ListHostedZones and route53:ChangeResourceRecordSets"

// manualRecordsText returns a part of a message: why a user must create the records.
func manualRecordsText(f *observed.Fault) string {
	return "for DNS records that the controller cannot create (" + f.Message + ")"
}

// reportPendingCertificate reports why a certificate is not issued yet, and which DNS records must be created.
func (m *Managed) reportPendingCertificate(w model.ManagedCertificate, why string, records []observed.DNSRecord, fix string) {
	f := finding.Finding{
		Object: w.Member, Field: w.Of.Field, Reason: finding.CertificatePending,
		Message: fmt.Sprintf("the certificate for %s waits %s", w.Domain, why), Fix: fix,
	}
	var lines []string
	for _, r := range records {
		lines = append(lines, r.Name+" CNAME "+r.Value)
	}
	if len(lines) > 0 {
		f.Message += ": " + strings.Join(equal.SortedUnique(lines), "; ")
	}
	m.Findings.Add(f)
}

// createRecord plans to create a validation record. If several certificates need the same record, it is created once.
func (m *Managed) createRecord(w model.ManagedCertificate, zone observed.HostedZone, r observed.DNSRecord) {
	if m.plannedRecords[r.Name] {
		return
	}
	m.plannedRecords[r.Name] = true
	a := recordAddress(r)
	m.planStep(plan.Step{
		ID: plan.NewStepID("create", a), Address: a, Verb: plan.Create,
		Do:      plan.CreateRecord{Zone: zone.ID, Name: r.Name, Value: r.Value, TTL: recordTTL},
		Changes: []plan.Change{{Path: "zone", To: zone.Name}, {Path: "CNAME", To: r.Value}},
		Why:     "ACM validates " + r.Domain + " with this record", After: m.ClaimStepsOf(w.Member), RequestedBy: []finding.Ref{w.Member},
	})
}

func recordAddress(r observed.DNSRecord) plan.Address {
	return plan.Address{Kind: plan.ValidationRecord, ID: strings.TrimSuffix(r.Name, ".")}
}
