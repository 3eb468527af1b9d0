package store

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
)

// certificateValidity is the validity period of a certificate that AWS issues.
const certificateValidity = 395 * 24 * time.Hour

// ValidationRecord returns the name and the value of the CNAME record that validates a domain for an account. The record is
// the same for all certificates of the account in every region, and for the domain with and without the prefix "*.".
func ValidationRecord(account, domain string) (name, value string) {
	domain = strings.TrimPrefix(domain, "*.")
	digits := func(what string, n int) string {
		sum := sha256.Sum256([]byte(what + " " + account + " " + domain))
		return hex.EncodeToString(sum[:])[:n]
	}
	return "_" + digits("name", 32) + "." + domain + ".", "_" + digits("value", 32) + "." + digits("zone", 10) + ".acm-validations.aws."
}

// UpdateValidations updates the validations of an account's certificates from the DNS records of the account. A domain whose
// validation record exists is validated after [ACMConfig.ValidationDelay], and then stays validated. It must be called after
// each change of DNS records and after each certificate request.
func (w *Store) UpdateValidations(account string) {
	now := w.Clock.Now()
	for _, p := range w.Partitions() {
		if p.Account != account {
			continue
		}
		for _, arn := range SortedKeys(p.ACM.Certificates) {
			if c := p.ACM.Certificates[arn]; w.needsDNSValidation(c) && p.CertificateStatus(c, now) == acmtypes.CertificateStatusPendingValidation {
				w.updateValidation(account, c, now)
			}
		}
	}
}

func (w *Store) updateValidation(account string, c *Certificate, now time.Time) {
	delay := w.Config.ACM.ValidationDelay
	ensureMap(&c.Validated)
	last, all := time.Time{}, true
	for _, d := range c.Names {
		at, seen := c.Validated[d]
		name, value := ValidationRecord(account, d)
		switch exists := w.hasCNAME(account, name, value); {
		case exists && !seen && delay >= 0:
			at, seen = now.Add(delay), true
			c.Validated[d] = at
		case !exists && seen && now.Before(at):
			delete(c.Validated, d)
			seen = false
		}
		all = all && seen
		if at.After(last) {
			last = at
		}
	}
	c.setIssueTime(last, all)
}

// setIssueTime sets the time at which a certificate is issued. If known is false, it resets this time.
func (c *Certificate) setIssueTime(at time.Time, known bool) {
	c.Issued, c.NotBefore, c.NotAfter = time.Time{}, time.Time{}, time.Time{}
	if known {
		c.Issued, c.NotBefore, c.NotAfter = at, at, at.Add(certificateValidity)
	}
}

// needsDNSValidation reports whether DNS records must validate the domains of a certificate before it is issued.
func (w *Store) needsDNSValidation(c *Certificate) bool {
	return c.Validation == acmtypes.ValidationMethodDns && !w.Config.ACM.AssumeRecords
}

// isValidated reports whether all domains of a certificate are validated. A certificate that needs no DNS validation is
// validated after ValidationDelay, unless the delay is negative.
func (w *Store) isValidated(c *Certificate, now time.Time) bool {
	delay := w.Config.ACM.ValidationDelay
	if !w.needsDNSValidation(c) {
		return delay >= 0 && !now.Before(c.Created.Add(delay))
	}
	return !slices.ContainsFunc(c.Names, func(d string) bool {
		at, seen := c.Validated[d]
		return !seen || now.Before(at)
	})
}

// IsDomainValidated reports whether a DNS record has validated a domain of a certificate. It is false for a certificate
// without DNS validation.
func (p *Partition) IsDomainValidated(c *Certificate, domain string, now time.Time) bool {
	at, seen := c.Validated[domain]
	return p.store.needsDNSValidation(c) && seen && !now.Before(at)
}
