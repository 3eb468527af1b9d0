package resolved

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Certificates are the certificates that were chosen for a listener.
type Certificates struct {
	Default string   // ARN of the default certificate; empty if there is none
	Extra   []string // ARNs of the certificate list, in order; it has the default certificate too
	// BlockedMembers are members whose certificates were not found. Their rules on the listener are held.
	BlockedMembers []finding.Ref
	// ImportPending reports whether a new listener waits for certificates that are being imported.
	ImportPending bool
	// Unavailable reports whether a fact about certificates could not be read, so that the live ones are retained.
	// AttachedUnavailable reports whether even the attached certificates are unknown.
	Unavailable, AttachedUnavailable bool
	// NotOwnedARNs are the live certificates that were imported for another stack and must not serve here any more.
	NotOwnedARNs []string
	// ReplacedBy has, by the ARN of a live certificate, the ARN of the one that is attached right after its removal,
	// because AWS has no room for both.
	ReplacedBy map[string]string
	// Sources record for whom and how the certificates were found.
	Sources []CertificateSource
}

// AddSource records for whom and how certificates were found.
func (c *Certificates) AddSource(s CertificateSource) { c.Sources = append(c.Sources, s) }

// Namespaces returns the namespaces of the members for which a certificate was found, sorted.
func (c *Certificates) Namespaces(arn string) (out []string) {
	for _, s := range c.Sources {
		if !s.Member.IsZero() && slices.Contains(s.ARNs, arn) {
			out = append(out, s.Member.Namespace)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// IsWithdrawn reports whether the live certificate must not serve any more and no other certificate was found. Then the
// listener is deleted, because AWS has no TLS listener without a certificate.
func (c *Certificates) IsWithdrawn() bool {
	return len(c.NotOwnedARNs) > 0 && c.Default == "" && !c.ImportPending
}
