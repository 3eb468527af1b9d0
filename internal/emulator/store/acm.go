package store

import (
	"time"

	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
)

// ACMState holds the certificates of one account and region, by ARN.
type ACMState struct {
	Certificates map[string]*Certificate
	Imports      []time.Time // of the last 365 days
}

// Request completes a certificate that was asked for at c.Created: a public
// one is issued after its validation, which [Store.LookAtRecords] follows, a
// private one at once.
func (p *Partition) Request(c *Certificate) {
	switch {
	case c.Authority != "":
		c.issue(c.Created, true)
	default:
		c.issue(c.Created.Add(max(0, p.store.Config.ACM.ValidationDelay)), !p.store.byRecords(c))
	}
	p.ACM.Certificates[c.ARN] = c
	p.store.LookAtRecords(p.Account)
}

// newACMState returns an empty state.
func newACMState() *ACMState {
	return &ACMState{Certificates: map[string]*Certificate{}}
}

// Certificate is an imported or requested certificate.
type Certificate struct {
	ARN       string
	Domain    string
	Names     []string // subject alternative names, the domain included
	Type      acmtypes.CertificateType
	Status    acmtypes.CertificateStatus
	Algorithm acmtypes.KeyAlgorithm // with underscores, as in the enumeration
	Signature string
	Issuer    string
	Subject   string
	Serial    string
	Authority string // ARN of a private authority

	Created   time.Time
	Issued    time.Time
	Imported  time.Time
	NotBefore time.Time
	NotAfter  time.Time

	// PEM blocks. The key of a requested certificate is made by the emulator.
	CertificatePEM string
	ChainPEM       string
	KeyPEM         string

	Validation acmtypes.ValidationMethod
	Domains    []acmtypes.DomainValidation
	// Validated holds, by name, from when on a domain whose DNS record was
	// seen counts as the account's.
	Validated map[string]time.Time
	Options   *acmtypes.CertificateOptions
	Token     string // idempotency token of the request
	Tags      map[string]string
}
