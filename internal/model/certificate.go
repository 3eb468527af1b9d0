package model

import "github.com/fulcrum-lb/fulcrum/internal/finding"

// ManagedCertificate is a certificate in ACM that the controller requests or imports for a member, and deletes when no
// listener needs it any more.
type ManagedCertificate struct {
	ID     string // id in the model, which is the value of the resource tag
	Member finding.Ref
	// Import describes the import of the certificate; nil if the certificate is requested.
	Import *CertificateImport
	// CA is the ARN of a private certificate authority; empty for a public certificate, which ACM issues when its DNS
	// records exist.
	CA     string
	Domain string   // the first of Hosts that ACM accepts as main name
	Hosts  []string // sorted, unique
	// Tags are the tags of users and the default tags. The plan adds the tags of the controller.
	Tags map[string]string
	Of   finding.Origin
}

// CertManaged chooses certificates for a listener among the ManagedCertificates of the stack, by their ids. Certificates
// that exist are used even if others do not exist yet.
type CertManaged struct {
	Member finding.Ref
	IDs    []string
	Field  string // the field of the member that requests or names the certificates
}

func (CertManaged) certChoice() {}

// AskOwnCertificates asks for the certificates in ACM that have the tags of the stack.
type AskOwnCertificates struct{}

// Key implements Question.
func (AskOwnCertificates) Key() string { return "own certificates" }

// AskCertificateOwner asks for which stack a controller requested or imported a certificate. The tags of the certificate
// name the stack.
type AskCertificateOwner struct{ ARN string }

// Key implements Question.
func (q AskCertificateOwner) Key() string { return "certificate owner " + q.ARN }

// AskHostedZones asks for the hosted zones of the account in Route 53. If Recent is set, they are listed again, to find
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

// AskPublicCertificates asks for the public certificates of the account and region, of any owner, without failed ones. The
// answer is at most a few seconds old.
type AskPublicCertificates struct{}

// Key implements Question.
func (AskPublicCertificates) Key() string { return "public certificates" }
