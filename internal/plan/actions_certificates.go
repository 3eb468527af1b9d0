package plan

import (
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// IsOwner reports whether a certificate was requested or imported for a stack.
func IsOwner(o observed.CertificateOwner, cluster string, id model.StackID) bool {
	return o.Managed && o.Cluster == cluster && o.Kind == id.Kind && o.Stack == naming.StackTagValue(id)
}

// Covers reports whether a certificate's domain covers a host: equal, or a wildcard for exactly one
// label.
func Covers(domain, host string) bool {
	if domain == host {
		return true
	}
	rest, wild := strings.CutPrefix(domain, "*.")
	if !wild {
		return false
	}
	_, parent, ok := strings.Cut(host, ".")
	return ok && parent == rest
}

// ImportCertificate imports a certificate from a TLS Secret into ACM.
type ImportCertificate struct {
	ARN     string // of the one whose place it takes; empty: a new one
	Secret  string // namespace and name
	Content model.CertificateContent
	Tags    Tags // of a new one

	Uses []finding.Origin // that name the Secret
	// Meanwhile is what serves without the import, in words.
	Meanwhile string
}

func (ImportCertificate) action() {}

// ImportPause is for how long a certificate is not imported: at all, and if the validity of the one that serves would be
// over by then.
type ImportPause struct{ For, Expiring time.Duration }

// Wait returns how long a certificate is not imported, in whose place one serves until a time.
func (p ImportPause) Wait(now, ends time.Time) time.Duration {
	return min(p.For, max(ends.Add(-durations.LongestBackOff).Sub(now), p.Expiring))
}

const (
	// MaxImports is how many certificates AWS attaches to a load balancer.
	MaxImports = 25
	// DefaultAccountImports is how many imported certificates an account has by default.
	DefaultAccountImports = 2500
)

// Certificate is the kind of certificates that are requested from ACM or imported into it.
const Certificate ResourceKind = "certificate"

// RequestCertificate asks ACM for a certificate. It is not issued yet when the step is done.
type RequestCertificate struct {
	Domain string
	Hosts  []string
	CA     string // empty: public, validated by DNS
	Tags   Tags
	Token  string // the same for the same request, so that one whose answer was lost is not made twice
}

// DeleteCertificate deletes a certificate. One that AWS says is in use is deleted later.
type DeleteCertificate struct{ ARN string }

func (RequestCertificate) action() {}

func (DeleteCertificate) action() {}

// Record is the kind of DNS records by which ACM knows a domain as the account's.
const Record ResourceKind = "validation-record"

// CreateRecord makes a CNAME record; one that is there already is a success.
type CreateRecord struct {
	Zone        string // id
	Name, Value string
	TTL         int64 // seconds
}

// DeleteRecord removes a record of a certificate; one that is not there, or is another, is left.
type DeleteRecord struct {
	Certificate string // ARN
	CreateRecord
}

func (CreateRecord) action() {}

func (DeleteRecord) action() {}
