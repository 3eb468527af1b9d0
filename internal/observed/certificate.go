package observed

import (
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// The statuses of a certificate that matter.
const (
	Issued            = "ISSUED"
	PendingValidation = "PENDING_VALIDATION"
)

// OwnCertificate is a certificate that carries the tags of the stack.
type OwnCertificate struct {
	ARN        string
	ResourceID string
	Domains    []string
	// Imported is what was imported; nil if the certificate was requested.
	Imported *model.CertificateIdentity
	// Public is set if DNS records validate the certificate; a private CA needs none.
	Public  bool
	Status  string
	Failure string // why it was not issued
	Created time.Time
	// Records are the records that DNS must have before the certificate is issued; empty afterwards.
	Records []DNSRecord
	// Unnamed is set if ACM has not returned all of the records yet.
	Unnamed bool
}

// CertificateOwner is the stack for which a controller requested or imported a certificate, by its tags.
type CertificateOwner struct {
	// Managed is set if it carries the tags of a controller. Nothing else is known of one that does not.
	Managed bool
	// Cluster, Kind and Stack are those of the stack; Stack is the value of its tag.
	Cluster string
	Kind    model.Kind
	Stack   string
	// ResourceID is the logical id of the certificate.
	ResourceID string
	// Names and NotAfter are those of an imported one, zero if they are not known.
	Names    []string
	NotAfter time.Time
}

// DNSRecord is a CNAME record that validates a domain.
type DNSRecord struct {
	Domain      string // without "*.", which shares the record
	Name, Value string
	// Seen is set if ACM has found the record.
	Seen bool
	// Made is set if this process has created the record, or found that it exists, a short while
	// ago.
	Made bool
}

// HostedZones are the zones of the account.
type HostedZones struct {
	List []HostedZone
	At   time.Time // when they were listed
	// Fault is why they could not be read, Locked why their records cannot be changed; nil if
	// nothing prevents it.
	Fault, Locked *Fault
}

// HostedZone is a zone of Route 53.
type HostedZone struct {
	ID      string
	Name    string // lower case, without the dot at the end
	Private bool   // answers only to its VPCs
}

// Validation is what has to be deleted with a certificate, and whether it can be deleted.
type Validation struct {
	Records []DNSRecord
	// InUse is set if a resource uses the certificate. ACM shows changes only after a delay.
	InUse bool
}

// PublicCertificate is a public certificate, whoever requested it.
type PublicCertificate struct {
	ARN     string
	Domains []string
}
