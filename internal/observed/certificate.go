package observed

import "time"

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
	// Public says that DNS records validate it; a private authority asks for none.
	Public  bool
	Status  string
	Failure string // why it was not issued
	Created time.Time
	// Records are those that DNS must have before it is issued; known while it is not.
	Records []DNSRecord
	// Unnamed says that ACM has not named all of the records yet.
	Unnamed bool
}

// DNSRecord is a CNAME record that validates a domain.
type DNSRecord struct {
	Domain      string // without "*.", which shares the record
	Name, Value string
	// Seen says that ACM has found the record.
	Seen bool
	// Made says that this process has made the record, or found it there, a short while ago.
	Made bool
}

// HostedZones are the zones of the account.
type HostedZones struct {
	List []HostedZone
	At   time.Time // when they were listed
	// Fault is why they are not known, Locked why their records cannot be changed; nil if there is
	// nothing in the way.
	Fault, Locked *Fault
}

// HostedZone is a zone of Route 53.
type HostedZone struct {
	ID      string
	Name    string // lower case, without the dot at the end
	Private bool   // answers only to its VPCs
}

// Validation is what has to go with a certificate, and whether it can go.
type Validation struct {
	Records []DNSRecord
	// InUse says that something has the certificate. ACM learns of changes after a while.
	InUse bool
}

// PublicCertificate is a certificate of anybody.
type PublicCertificate struct {
	ARN     string
	Domains []string
}
