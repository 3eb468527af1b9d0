package model

import "github.com/fulcrum-lb/fulcrum/internal/finding"

// ManagedCertificate is a certificate that is to be requested from ACM for a member, or imported into it,
// and deleted when no listener needs it any more.
type ManagedCertificate struct {
	ID     string // logical id, value of the resource tag
	Member finding.Ref
	// Import is what is to be imported; nil: the certificate is requested.
	Import *CertificateImport
	// CA is the ARN of a private authority; empty asks for a public certificate, which is issued
	// once its DNS records exist.
	CA     string
	Domain string   // the first of the hosts
	Hosts  []string // sorted, unique
	// Tags are the tags of users and defaults; tracking tags are added when the plan is made.
	Tags map[string]string
	Of   finding.Origin
}

// CertManaged is a member's contribution to a listener's certificates by the ids of
// ManagedCertificates of the stack. Those that can be had serve without the others.
type CertManaged struct {
	Member finding.Ref
	IDs    []string
	Field  string // of the member that asks for them
}

func (CertManaged) certChoice() {}

// AskOwnCertificates asks for the certificates that carry the tags of the stack.
type AskOwnCertificates struct{}

// Key implements Question.
func (AskOwnCertificates) Key() string { return "own certificates" }

// AskCertificateOwner asks for which stack a controller requested or imported a certificate, if one did.
type AskCertificateOwner struct{ ARN string }

// Key implements Question.
func (q AskCertificateOwner) Key() string { return "certificate owner " + q.ARN }

// AskHostedZones asks for the account's zones of DNS. Recent asks for those made a short
// while ago.
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

// AskPublicCertificates asks for all certificates of the account and region that DNS records keep
// valid, whoever requested them, as they are now.
type AskPublicCertificates struct{}

// Key implements Question.
func (AskPublicCertificates) Key() string { return "public certificates" }
