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
	Status     string
	Failure    string // why it was not issued
	Created    time.Time
	// Records are those that DNS must have before it is issued.
	Records []DNSRecord
}

// DNSRecord is one CNAME record.
type DNSRecord struct{ Name, Value string }
