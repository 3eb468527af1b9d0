package store

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"
	"time"

	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
)

// issuedFor is how long a certificate of AWS's own is valid.
const issuedFor = 395 * 24 * time.Hour

// ValidationRecord returns the CNAME that proves a domain to be the account's. It
// is the same for all certificates of the account, in every region, and for
// the domain with and without "*." before it.
func ValidationRecord(account, domain string) (name, value string) {
	domain = strings.TrimPrefix(domain, "*.")
	digits := func(what string, n int) string {
		sum := sha256.Sum256([]byte(what + " " + account + " " + domain))
		return hex.EncodeToString(sum[:])[:n]
	}
	return "_" + digits("name", 32) + "." + domain + ".", "_" + digits("value", 32) + "." + digits("zone", 10) + ".acm-validations.aws."
}

// LookAtRecords updates the validations from the DNS records of an account: a domain
// whose record is there counts as validated after [ACMConfig.ValidationDelay], and
// stays so. It is to be called whenever records or requests have changed.
func (w *Store) LookAtRecords(account string) {
	now := w.Clock.Now()
	for _, p := range w.Partitions() {
		if p.Account != account {
			continue
		}
		for _, arn := range SortedKeys(p.ACM.Certificates) {
			if c := p.ACM.Certificates[arn]; w.byRecords(c) && p.CertificateStatus(c, now) == acmtypes.CertificateStatusPendingValidation {
				w.validate(account, c, now)
			}
		}
	}
}

func (w *Store) validate(account string, c *Certificate, now time.Time) {
	delay := w.Config.ACM.ValidationDelay
	ensure(&c.Validated)
	last, all := time.Time{}, true
	for _, d := range c.Names {
		at, seen := c.Validated[d]
		name, value := ValidationRecord(account, d)
		switch there := w.hasCNAME(account, name, value); {
		case there && !seen && delay >= 0:
			at, seen = now.Add(delay), true
			c.Validated[d] = at
		case !there && seen && now.Before(at):
			delete(c.Validated, d)
			seen = false
		}
		all = all && seen
		if at.After(last) {
			last = at
		}
	}
	c.issue(last, all)
}

// issue sets when a certificate is issued, if that is determined yet.
func (c *Certificate) issue(at time.Time, known bool) {
	c.Issued, c.NotBefore, c.NotAfter = time.Time{}, time.Time{}, time.Time{}
	if known {
		c.Issued, c.NotBefore, c.NotAfter = at, at, at.Add(issuedFor)
	}
}

// byRecords reports whether DNS records decide when the certificate is issued.
func (w *Store) byRecords(c *Certificate) bool {
	return c.Validation == acmtypes.ValidationMethodDns && !w.Config.ACM.AssumeRecords
}

// validated reports whether all domains of a certificate are validated. Mails are
// always answered, after the same delay as records.
func (w *Store) validated(c *Certificate, now time.Time) bool {
	delay := w.Config.ACM.ValidationDelay
	if !w.byRecords(c) {
		return delay >= 0 && !now.Before(c.Created.Add(delay))
	}
	return !slices.ContainsFunc(c.Names, func(d string) bool {
		at, seen := c.Validated[d]
		return !seen || now.Before(at)
	})
}

// DomainValidated reports whether a domain of a certificate that is not issued yet is
// validated.
func (p *Partition) DomainValidated(c *Certificate, domain string, now time.Time) bool {
	at, seen := c.Validated[domain]
	return p.store.byRecords(c) && seen && !now.Before(at)
}
