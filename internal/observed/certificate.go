package observed

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Statuses of certificates in ACM.
const (
	CertificateIssued            = "ISSUED"
	CertificatePendingValidation = "PENDING_VALIDATION"
)

// OwnCertificate is a certificate with the tags of the stack.
type OwnCertificate struct {
	ARN        string
	ResourceID string
	Domains    []string
	// ImportedIdentity identifies the certificate that was imported; nil if the certificate was requested.
	ImportedIdentity *model.CertificateIdentity
	// Public is set if DNS records validate the certificate. A private CA needs no validation.
	Public  bool
	Status  string
	Failure string // why the certificate was not issued
	Created time.Time
	// Records are the records that DNS must have before the certificate is issued; empty afterwards.
	Records []DNSRecord
	// RecordsMissing is set if ACM has not returned all records yet.
	RecordsMissing bool
}

// CertificateOwner is the stack for which a controller requested or imported a certificate, by its tags.
type CertificateOwner struct {
	// Managed is set if the certificate has the tags of a controller. Otherwise all other fields are empty.
	Managed bool
	// Cluster, Kind and Stack identify the stack. Stack is the value of the stack tag.
	Cluster string
	Kind    model.Kind
	Stack   string
	// ResourceID is the logical id of the certificate.
	ResourceID string
	// Names and NotAfter describe an imported certificate. They are zero if they were not read.
	Names    []string
	NotAfter time.Time
}

// DNSRecord is a CNAME record that validates a domain.
type DNSRecord struct {
	Domain      string // without "*.", which shares the record
	Name, Value string
	// SeenByACM is set if ACM has found the record.
	SeenByACM bool
	// RecentlyCreated is set if this process has recently created the record, or found that it exists.
	RecentlyCreated bool
}

// HostedZones has the hosted zones of the account in Route 53.
type HostedZones struct {
	Zones    []HostedZone
	ListedAt time.Time // when they were listed
	// Fault is why the zones could not be read, and WriteFault why their records cannot be changed; nil if there is no
	// obstacle.
	Fault, WriteFault *Fault
}

// HostedZone is a hosted zone of Route 53.
type HostedZone struct {
	ID      string
	Name    string // lower case, without the dot at the end
	Private bool   // the zone is visible only in its VPCs
}

// Validation has the DNS records that have to be deleted with a certificate, and whether the certificate can be deleted.
type Validation struct {
	Records []DNSRecord
	// InUse is set if ACM reports that a resource uses the certificate. ACM reports changes after a delay.
	InUse bool
}

// PublicCertificate is a public certificate that this or another program requested.
type PublicCertificate struct {
	ARN     string
	Domains []string
}
