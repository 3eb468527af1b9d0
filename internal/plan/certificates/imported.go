package certificates

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
	"github.com/fulcrum-lb/fulcrum/internal/plan/owners"
)

// resolveImport finds the certificate of a TLS Secret in ACM, or plans to import it. If it cannot be imported, the
// certificate that was last imported for this Secret is used.
func (m *Managed) resolveImport(w model.ManagedCertificate) {
	live := m.importedCertificates(w)
	use := func(c observed.OwnCertificate) { m.managedARNs[w.ID], m.retainedARNs[c.ARN] = c.ARN, true }
	content := w.Import.Content
	same := -1
	if content != nil {
		same = slices.IndexFunc(live, func(c observed.OwnCertificate) bool { return c.ImportedIdentity.Fingerprint == content.Is.Fingerprint })
	}
	switch {
	case same >= 0:
		use(live[same])
	case len(live) > 0:
		use(live[0])
	}
	if content == nil {
		return // the frontend reports why
	}
	claimed := w.Import.Claimed
	if same < 0 {
		claimed = append(slices.Clone(claimed), namesServedByOthers(m.targetGroups, w.Import)...)
	}
	if n := firstNewClaim(claimed, live); n != nil && same < 0 {
		m.reportImport(w, finding.HostNotOwned, fmt.Sprintf("the certificate is for %q, and host %q is already served by %s", n.Name, n.Host, n.By),
			"issue the certificate only for your own hosts")
		return
	}
	now := m.Have.Facts.Now
	begins, ends := time.Unix(content.Is.NotBefore, 0), time.Unix(content.Is.NotAfter, 0)
	at := func(t time.Time) string { return t.UTC().Format(time.RFC3339) }
	if !now.IsZero() && now.After(ends) {
		m.reportImport(w, finding.CertificateInvalid, "the certificate expired at "+at(ends), "renew the certificate in the Secret")
	}
	if same >= 0 {
		return
	}
	a := plan.Address{Kind: plan.Certificate, ID: w.ID}
	switch {
	case now.IsZero():
	case now.After(ends):
		return
	case now.Before(begins):
		m.reportImport(w, finding.CertificateInvalid, "the certificate is not valid before "+at(begins), "wait until then, or correct the clock of the issuer")
		m.RetryWithin(min(begins.Sub(now), time.Hour))
		return
	}
	pause := m.Memory.PausedImports[w.ID]
	rest := pause.UsualDuration
	if serves := servingIdentity(live); serves != nil && serves.NotAfter < content.Is.NotAfter {
		rest = pause.TimeUntilAllowed(now, time.Unix(serves.NotAfter, 0))
	}
	if rest > 0 {
		next := now.Add(rest)
		if rest > time.Hour { // the text is rounded, so that the message does not change with each run
			next = next.Add(time.Hour - time.Second).Truncate(time.Hour)
		}
		m.reportImport(w, finding.ImportsLimited,
			"there were too many imports of this Secret, for its namespace, or in total; the certificate is not imported before "+at(next), "find out which Secrets change or are created repeatedly")
		m.awaitCertificate(w, a, plan.Wait{For: "the time at which it may be imported", RetryAfter: rest})
		return
	}
	do := plan.ImportCertificate{Secret: w.Import.Secret, Content: *content, ReferencingFields: w.Import.Uses, InterimText: interimCertificateText(live)}
	why, verb := "from "+w.Of.String(), plan.Create
	i := slices.IndexFunc(live, func(c observed.OwnCertificate) bool { return content.Is.CanReplace(*c.ImportedIdentity) })
	change := plan.Change{Path: "certificate", To: certificateIdentityText(content.Is)}
	switch {
	case i >= 0:
		use(live[i])
		do.ARN, verb, change.From = live[i].ARN, plan.Update, certificateIdentityText(*live[i].ImportedIdentity)
		why = "the Secret has another certificate, " + why
	case !m.hasImportCapacity(w):
		m.reportImport(w, finding.QuotaReached, fmt.Sprintf("the account has %d of at most %d imported certificates; the rest is reserved for namespaces with fewer certificates",
			m.Have.Facts.Imports.AccountTotal, maxImportedCertificates(m.Opt)), "delete imported certificates that are not needed, or specify certificates by ARN")
		m.awaitCertificate(w, a, plan.Wait{For: "capacity for its certificate", RetryAfter: durations.StableFactAge})
		return
	default:
		do.Tags = m.Tags(w.ID, w.Tags)
		m.importCounts[secretNamespace(w)]++
	}
	m.planStep(plan.Step{
		ID: plan.NewStepID("import", a), Address: a, Verb: verb, Do: do, Changes: []plan.Change{change},
		Why: why, After: m.ClaimStepsOf(w.Import.Members()...), RequestedBy: w.Import.Members(),
	})
	if do.ARN == "" {
		m.awaitCertificate(w, a, plan.Wait{For: "its ARN", RetryAfter: durations.RecheckInterval}, plan.NewStepID("import", a))
		m.importingIDs[w.ID] = len(live) == 0 && m.NewWait("import "+w.ID, "its ARN", durations.ShortWait) != plan.Wait{}
	}
}

// namesServedByOthers returns the names in the certificate of a Secret that cover hosts of rules of other namespaces, if the
// namespaces that use the Secret have no rules for these hosts. Only rules that exist in AWS are considered. AWS chooses
// among the certificates of a listener by host. Therefore the certificate could be presented to the clients of other
// namespaces. The ages of the objects are not compared, because an older object may join the stack later. For a Gateway, no
// names are returned, because the owner of a Gateway decides about its hosts.
func namesServedByOthers(tg *owners.TargetGroups, w *model.CertificateImport) (out []model.ClaimedName) {
	by := w.Members()
	if slices.ContainsFunc(by, func(r finding.Ref) bool { return r.Kind == "Gateway" }) {
		return nil
	}
	guest := slices.ContainsFunc(by, func(r finding.Ref) bool { return r.Kind == "ListenerSet" })
	namespaces, own, others := draft.Namespaces(by), map[string]bool{}, map[string]finding.Ref{}
	for _, lb := range tg.Have.LoadBalancers {
		for _, l := range lb.Listeners {
			for _, r := range l.Rules {
				for _, owner := range tg.ActionOwners(r.Actions) {
					for _, host := range (model.Rule{Conditions: r.Conditions}).Hosts() {
						if slices.Contains(namespaces, owner.Namespace) {
							own[host] = true
						} else if others[host].IsZero() {
							others[host] = owner
						}
					}
				}
			}
		}
	}
	for _, n := range w.Content.Is.Names {
		for _, host := range slices.Sorted(maps.Keys(others)) {
			if !own[host] && (n == host || guest && plan.DomainCovers(n, host)) {
				out = append(out, model.ClaimedName{Name: n, Host: host, By: others[host]})
			}
		}
	}
	return out
}

// firstNewClaim returns the first claimed name that no imported certificate of the Secret has; nil if there is none. A
// claimed name covers a host of another object. Claimed names in an imported certificate are accepted. If they were not, an
// older object that is added later would prevent the renewal.
func firstNewClaim(claimed []model.ClaimedName, live []observed.OwnCertificate) *model.ClaimedName {
	for i, n := range claimed {
		if !slices.ContainsFunc(live, func(c observed.OwnCertificate) bool { return slices.Contains(c.ImportedIdentity.Names, n.Name) }) {
			return &claimed[i]
		}
	}
	return nil
}

// hasImportCapacity reports whether the namespace of a Secret may have one more imported certificate. All namespaces share
// the import quota of the account.
func (m *Managed) hasImportCapacity(w model.ManagedCertificate) bool {
	namespace := secretNamespace(w)
	counted := m.Have.Facts.Imports
	planned := 0
	for _, n := range m.importCounts {
		planned += n
	}
	shared := planned // number of certificates of all namespaces and IngressGroups of this cluster
	for _, n := range counted.ByNamespace {
		shared += n
	}
	var others []float64
	for _, n := range counted.OtherTenants {
		shared += n
		others = append(others, float64(n))
	}
	foreign := counted.AccountTotal + planned - shared
	return model.MayUseOneMore(float64(maxImportedCertificates(m.Opt)-foreign), float64(shared), float64(counted.ByNamespace[namespace]+m.importCounts[namespace]), others)
}

// maxImportedCertificates returns how many imported certificates the account may have.
func maxImportedCertificates(o plan.Options) int {
	return cmp.Or(o.ImportedCertificateQuota, plan.DefaultImportedCertificateQuota)
}

// importedCertificates returns the imported certificates of a Secret in ACM. Certificates that are attached to listeners
// come first. Otherwise the certificates are in descending order of their expiry.
func (m *Managed) importedCertificates(w model.ManagedCertificate) []observed.OwnCertificate {
	var out []observed.OwnCertificate
	for _, c := range m.Have.Facts.OwnCertificates {
		if c.ResourceID == w.ID && c.ImportedIdentity != nil {
			out = append(out, c)
		}
	}
	slices.SortStableFunc(out, func(a, b observed.OwnCertificate) int {
		return cmp.Or(m.attachmentRank(b.ARN)-m.attachmentRank(a.ARN), cmp.Compare(b.ImportedIdentity.NotAfter, a.ImportedIdentity.NotAfter))
	})
	return out
}

// servingIdentity returns the identity of the first imported certificate of a Secret, which is in use; nil if there is none.
func servingIdentity(live []observed.OwnCertificate) *model.CertificateIdentity {
	if len(live) == 0 {
		return nil
	}
	return live[0].ImportedIdentity
}

// interimCertificateText returns a part of a message: which certificate is used until the new certificate is imported.
func interimCertificateText(live []observed.OwnCertificate) string {
	switch serves := servingIdentity(live); {
	case serves == nil:
		return "no certificate of this Secret is in use yet"
	case serves.NotAfter == 0: // ACM did not return the validity
		return "the certificate that was imported before is still used"
	default:
		return "the certificate that was imported before is still used, and its expiry time is " + time.Unix(serves.NotAfter, 0).UTC().Format(time.RFC3339)
	}
}

// attachmentRank returns 1 if an observed listener of the stack has the certificate, and 0 otherwise.
func (m *Managed) attachmentRank(arn string) int {
	for _, lb := range m.Have.LoadBalancers {
		if slices.ContainsFunc(lb.Listeners, func(l observed.Listener) bool { return l.HasCertificate(arn) }) {
			return 1
		}
	}
	return 0
}

// limitImports returns the certificates without those that exceed the quota of certificates of a load balancer. It omits
// only certificates that are not imported yet, and reports them. The namespaces of the Secrets share the quota, see
// plan.Shares.
func (m *Managed) limitImports(all []model.ManagedCertificate) []model.ManagedCertificate {
	shares, room := plan.Shares{}, plan.MaxCertificatesPerLoadBalancer
	var ids, namespaces []string // of the certificates that are not imported yet
	for _, w := range all {
		switch {
		case w.Import == nil:
		case len(m.importedCertificates(w)) > 0:
			shares.AddRetained(secretNamespace(w))
			room--
		default:
			ids, namespaces = append(ids, w.ID), append(namespaces, secretNamespace(w))
		}
	}
	omitted := map[string]bool{}
	for n, i := range plan.OrderClaims(shares, namespaces) {
		omitted[ids[i]] = n >= room
	}
	return slices.DeleteFunc(slices.Clone(all), func(w model.ManagedCertificate) bool {
		if omitted[w.ID] {
			m.reportImport(w, finding.QuotaReached, fmt.Sprintf("a load balancer can have at most %d certificates", plan.MaxCertificatesPerLoadBalancer), "use fewer Secrets, or another load balancer")
		}
		return omitted[w.ID]
	})
}

// secretNamespace returns the namespace of the Secret of a certificate that is imported.
func secretNamespace(w model.ManagedCertificate) string {
	namespace, _, _ := strings.Cut(w.Import.Secret, "/")
	return namespace
}

// reportImport reports, on all objects that reference a Secret, why its certificate is not imported.
func (m *Managed) reportImport(w model.ManagedCertificate, reason finding.Reason, what, fix string) {
	now := interimCertificateText(m.importedCertificates(w))
	for _, use := range w.Import.Uses {
		m.Findings.Add(finding.Finding{
			Object: use.Object, Field: use.Field, Reason: reason, Severity: finding.Error,
			Message: fmt.Sprintf("Secret %q: %s; %s", w.Import.Secret, what, now), Fix: fix,
		})
	}
}

// certificateIdentityText returns a human-readable text of a certificate: its names, its expiry and the beginning of its
// fingerprint.
func certificateIdentityText(c model.CertificateIdentity) string {
	names := strings.Join(c.Names[:min(len(c.Names), 5)], ", ")
	if more := len(c.Names) - 5; more > 0 {
		names += fmt.Sprintf(" and %d more", more)
	}
	return fmt.Sprintf("%s until %s (%.16s)", names, time.Unix(c.NotAfter, 0).UTC().Format(time.DateOnly), c.Fingerprint)
}
