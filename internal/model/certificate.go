package model

import "github.com/fulcrum-lb/fulcrum/internal/finding"

// ManagedCertificate is a certificate that is to be requested from ACM for a member, and deleted
// when nobody wants it any more.
type ManagedCertificate struct {
	ID     string // logical id, value of the resource tag
	Member finding.Ref
	// CA is the ARN of a private authority; empty asks for a public certificate, which is issued
	// once its DNS records exist.
	CA     string
	Domain string   // the first of the hosts
	Hosts  []string // sorted, unique
	// Tags are those of users and defaults; tracking tags are added when the plan is made.
	Tags map[string]string
	Of   finding.Origin
}

// CertManaged is a member's contribution to a listener's certificates by the id of a
// ManagedCertificate of the stack.
type CertManaged struct {
	Member finding.Ref
	ID     string
}

func (CertManaged) certChoice() {}

// AskOwnCertificates asks for the certificates that carry the tags of the stack.
type AskOwnCertificates struct{}

// Key implements Question.
func (AskOwnCertificates) Key() string { return "own certificates" }
