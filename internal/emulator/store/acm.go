package store

import (
	"time"

	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
)

// ACMState has the certificates of one account in one region.
type ACMState struct {
	Certificates map[string]*Certificate // by ARN
	Imports      []time.Time             // times of imports, at least those of the last 365 days
}

// AddRequestedCertificate adds a certificate that was requested at c.Created. A private certificate is issued immediately. A
// public certificate is issued after its validation, see [Store.UpdateValidations].
func (p *Partition) AddRequestedCertificate(c *Certificate) {
	switch {
	case c.Authority != "":
		c.setIssueTime(c.Created, true)
	default:
		c.setIssueTime(c.Created.Add(max(0, p.store.Config.ACM.ValidationDelay)), !p.store.needsDNSValidation(c))
	}
	p.ACM.Certificates[c.ARN] = c
	p.store.UpdateValidations(p.Account)
}

func newACMState() *ACMState {
	return &ACMState{Certificates: map[string]*Certificate{}}
}

// Certificate is an imported or requested certificate.
type Certificate struct {
	ARN       string
	Domain    string
	Names     []string // subject alternative names, including Domain
	Type      acmtypes.CertificateType
	Status    acmtypes.CertificateStatus
	Algorithm acmtypes.KeyAlgorithm // with underscores, as in the SDK's enumeration
	Signature string
	Issuer    string
	Subject   string
	Serial    string
	Authority string // ARN of the private certificate authority, "" for a public certificate

	Created   time.Time
	Issued    time.Time
	Imported  time.Time
	NotBefore time.Time
	NotAfter  time.Time

	// The content in PEM. For a requested certificate, the emulator creates the key.
	CertificatePEM string
	ChainPEM       string
	KeyPEM         string

	Validation acmtypes.ValidationMethod
	Domains    []acmtypes.DomainValidation
	// Validated maps domains to the time at which they become validated. It has only domains whose validation record exists
	// or existed.
	Validated map[string]time.Time
	Options   *acmtypes.CertificateOptions
	Token     string // idempotency token of the request
	Tags      map[string]string
}
