package observed

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Statuses of certificates as the ACM API names them.
const (
	CertificateIssued            = "ISSUED"
	CertificatePendingValidation = "PENDING_VALIDATION"
)

// OwnCertificate is a certificate in ACM with the tags of the stack, which the controller requested or imported.
type OwnCertificate struct {
	ARN        string
	ResourceID string
	Domains    []string
	// ImportedIdentity identifies the content of an imported certificate; nil for a certificate that was requested.
	ImportedIdentity *model.CertificateIdentity
	// Public is set if ACM validates the domains of the certificate by DNS records. A certificate of a private CA needs no
	// validation.
	Public  bool
	Status  string
	Failure string // the reason why ACM did not issue the certificate
	Created time.Time
	// Records are the records that must exist in DNS before ACM issues the certificate; empty after it is issued.
	Records []DNSRecord
	// RecordsMissing is set if ACM has not returned all records yet.
	RecordsMissing bool
}

// CertificateOwner is the stack for which a controller requested or imported a certificate, according to the tags of the
// certificate.
type CertificateOwner struct {
	// Managed is set if the certificate has tags of a controller. Otherwise all other fields are empty.
	Managed bool
	// Cluster, Kind and Stack identify the stack. Stack is the value of the stack tag.
	Cluster string
	Kind    model.Kind
	Stack   string
	// ResourceID is the id of the certificate in the model.
	ResourceID string
	// Names and NotAfter describe an imported certificate. They are zero if they were not read.
	Names    []string
	NotAfter time.Time
}

// DNSRecord is a CNAME record by which ACM validates that the account controls a domain.
type DNSRecord struct {
	Domain      string // without "*.": a domain and its wildcard share the record
	Name, Value string
	// SeenByACM is set if ACM has found the record in DNS.
	SeenByACM bool
	// RecentlyCreated is set if this process has recently created the record, or found that it exists.
	RecentlyCreated bool
}

// HostedZones has the hosted zones of the account in Route 53.
type HostedZones struct {
	Zones    []HostedZone
	ListedAt time.Time // time at which the zones were listed
	Fault    *Fault    // the reason why the zones could not be read; nil if they were read
}

// HostedZone is a hosted zone in Route 53.
type HostedZone struct {
	ID      string
	Name    string // lower case, without the dot at the end
	Private bool   // the zone is visible only in its VPCs
	// WriteFault is the reason why the records of the zone cannot be changed; nil if no reason is known.
	WriteFault *Fault
}

// Validation has the DNS records that must be deleted together with a certificate, and reports whether the certificate is in
// use and therefore cannot be deleted.
type Validation struct {
	Records []DNSRecord
	// InUse is set if ACM reports that a resource uses the certificate. ACM reports a change of the use only after a delay.
	InUse bool
}

// PublicCertificate is a public certificate in ACM, requested by this controller or by another program.
type PublicCertificate struct {
	ARN     string
	Domains []string
}
