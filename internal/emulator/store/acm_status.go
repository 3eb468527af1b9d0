package store

import (
	"time"

	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
)

// maxPendingValidation is the time after which a certificate in status PENDING_VALIDATION gets the status
// VALIDATION_TIMED_OUT.
const maxPendingValidation = 72 * time.Hour

// CertificateStatus returns the status of a certificate at a time. The status changes with time: a requested certificate is
// issued after its validation, or its validation times out, and every certificate expires.
func (p *Partition) CertificateStatus(c *Certificate, now time.Time) acmtypes.CertificateStatus {
	status := c.Status
	if status == acmtypes.CertificateStatusPendingValidation {
		switch {
		case p.store.isValidated(c, now):
			status = acmtypes.CertificateStatusIssued
		case !now.Before(c.Created.Add(maxPendingValidation)):
			status = acmtypes.CertificateStatusValidationTimedOut
		}
	}
	if status == acmtypes.CertificateStatusIssued && !c.NotAfter.IsZero() && now.After(c.NotAfter) {
		status = acmtypes.CertificateStatusExpired
	}
	return status
}

// LoadBalancersUsingCertificate returns the sorted ARNs of the load balancers that have a listener with the certificate.
func (p *Partition) LoadBalancersUsingCertificate(arn string) []string {
	users := map[string]bool{}
	for _, l := range p.ELB.Listeners {
		if l.Certificate == arn {
			users[l.LoadBalancer] = true
		}
		for _, sni := range l.SNI {
			if sni == arn {
				users[l.LoadBalancer] = true
			}
		}
	}
	return SortedKeys(users)
}
