package store

import (
	"time"

	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
)

// ACMState contains the certificates of one account and region.
type ACMState struct {
	Certificates map[string]*Certificate // by ARN
	Imports      []time.Time             // times of the imports of the last 365 days
}

// AddRequestedCertificate adds a certificate that was requested at c.Created. A public certificate is issued after its
// validation, see [Store.UpdateValidations], a private certificate immediately.
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

	// PEM blocks. The emulator creates the key of a requested certificate.
	CertificatePEM string
	ChainPEM       string
	KeyPEM         string

	Validation acmtypes.ValidationMethod
	Domains    []acmtypes.DomainValidation
	// Validated maps each domain with a validation record to the time when it becomes validated.
	Validated map[string]time.Time
	Options   *acmtypes.CertificateOptions
	Token     string // idempotency token of the request
	Tags      map[string]string
}
