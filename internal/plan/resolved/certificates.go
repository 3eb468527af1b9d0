package resolved

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Certificates is the answer to a listener's certificate choices.
type Certificates struct {
	Default string
	Extra   []string // to be attached besides, the default again among them; in order
	// Blocked are members whose certificates could not be found.
	Blocked []finding.Ref
	// Coming reports whether a new listener waits for certificates.
	Pending bool
	// Unavailable reports whether something is not known, so that the live ones stay; AttachedUnavailable that it is
	// not even known which ones are attached.
	Unavailable, AttachedUnavailable bool
	// NotOwned are live ones that were imported for another stack, and that nothing here may serve any more.
	NotOwned []string
	// Places are live certificates that are removed for others just before these are attached, as AWS has no room for both.
	ReplacedBy map[string]string
	// Sources note how certificates were found.
	Sources []CertificateSource
}

func (c *Certificates) AddSource(s CertificateSource) { c.Sources = append(c.Sources, s) }

// Namespaces returns the namespaces whose members ask for a certificate, sorted.
func (c *Certificates) Namespaces(arn string) (out []string) {
	for _, s := range c.Sources {
		if !s.Member.IsZero() && slices.Contains(s.ARNs, arn) {
			out = append(out, s.Member.Namespace)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Withdrawn reports whether the live certificate of a listener must not serve any more, and there is no other one. The
// listener then ends, as it cannot be there without.
func (c *Certificates) Withdrawn() bool { return len(c.NotOwned) > 0 && c.Default == "" && !c.Pending }
