package model

import "github.com/fulcrum-lb/fulcrum/internal/finding"

// ManagedCertificate is a certificate that is to be requested from ACM for a member, or imported into it,
// and deleted when no listener needs it any more.
type ManagedCertificate struct {
	ID     string // id in the model, which is the value of the resource tag
	Member finding.Ref
	// Import has the certificate to be imported; nil if the certificate is requested.
	Import *CertificateImport
	// CA is the ARN of a private certificate authority; empty for a public certificate, which is issued when its DNS
	// records exist.
	CA     string
	Domain string   // the first of the hosts
	Hosts  []string // sorted, unique
	// Tags are those of users and the default tags. Tags of the controller are added when the plan is made.
	Tags map[string]string
	Of   finding.Origin
}

// CertManaged are certificates of a member for a listener, by the ids of ManagedCertificates of the stack. Those that
// exist are used even if others do not.
type CertManaged struct {
	Member finding.Ref
	IDs    []string
	Field  string // the field of the member that asks for them
}

func (CertManaged) certChoice() {}

// AskOwnCertificates asks for the certificates with the tags of the stack.
type AskOwnCertificates struct{}

// Key implements Question.
func (AskOwnCertificates) Key() string { return "own certificates" }

// AskCertificateOwner asks for the stack for which a certificate was requested or imported, by its tags.
type AskCertificateOwner struct{ ARN string }

// Key implements Question.
func (q AskCertificateOwner) Key() string { return "certificate owner " + q.ARN }

// AskHostedZones asks for the hosted zones of the account in Route 53. With Recent, they are listed again, to find
// zones that were created recently.
type AskHostedZones struct{ Recent bool }

// Key implements Question.
func (q AskHostedZones) Key() string {
	if q.Recent {
		return "hosted zones again"
	}
	return "hosted zones"
}

// AskValidation asks for the DNS records of a certificate, and whether it is in use.
type AskValidation struct{ ARN string }

// Key implements Question.
func (q AskValidation) Key() string { return "validation " + q.ARN }

// AskPublicCertificates asks for all certificates of the account and region that are validated by DNS, by any owner.
// They are read at once.
type AskPublicCertificates struct{}

// Key implements Question.
func (AskPublicCertificates) Key() string { return "public certificates" }
