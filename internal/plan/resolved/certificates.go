package resolved

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Certificates are the certificates that were chosen for a listener.
type Certificates struct {
	Default string   // ARN of the default certificate; empty if there is none
	List    []string // ARNs of the certificate list, in order, including the default certificate
	// BlockedMembers are members whose certificates were not found. Their rules on the listener are held.
	BlockedMembers []finding.Ref
	// ImportPending is set if a new listener waits for certificates that are being imported.
	ImportPending bool
	// Unavailable is set if a fact about certificates could not be read, so that the attached certificates are retained.
	// AttachedUnavailable is set if even the attached certificates are unknown.
	Unavailable, AttachedUnavailable bool
	// NotOwnedARNs are the attached certificates that were imported for another stack and must not be used in this stack any
	// more.
	NotOwnedARNs []string
	// ReplacedBy has, by the ARN of an attached certificate, the ARN of the certificate that is attached in its place. The
	// attached certificate is removed first, because the AWS quota does not permit both.
	ReplacedBy map[string]string
	// Sources record for which member and by which method the certificates were found.
	Sources []CertificateSource
}

// Namespaces returns the namespaces of the members for which the certificate with this ARN was found, sorted.
func (c *Certificates) Namespaces(arn string) (out []string) {
	for _, s := range c.Sources {
		if !s.Member.IsZero() && slices.Contains(s.ARNs, arn) {
			out = append(out, s.Member.Namespace)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// IsWithdrawn reports whether an attached certificate must not be used any more and no other certificate was found. In this
// case, the listener is deleted, because a TLS listener needs a certificate in AWS.
func (c *Certificates) IsWithdrawn() bool {
	return len(c.NotOwnedARNs) > 0 && c.Default == "" && !c.ImportPending
}
