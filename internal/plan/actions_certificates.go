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

// IsCertificateOf reports whether a certificate was requested or imported for a stack of this cluster.
func IsCertificateOf(o observed.CertificateOwner, cluster string, id model.StackID) bool {
	return o.Managed && o.Cluster == cluster && o.Kind == id.Kind && o.Stack == naming.StackTagValue(id)
}

// DomainCovers reports whether a domain of a certificate covers a host. A wildcard in the domain matches exactly
// one label.
func DomainCovers(domain, host string) bool {
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

// ImportCertificate imports the certificate of a TLS Secret into ACM.
type ImportCertificate struct {
	ARN     string // certificate in ACM whose content is replaced; empty to create a certificate
	Secret  string // namespace/name
	Content model.CertificateContent
	Tags    Tags // of the certificate, if the import creates it

	ReferencingFields []finding.Origin // the fields that reference the Secret
	// InterimText describes which certificate is used until the import succeeds, for the finding about a failed import.
	InterimText string
}

func (ImportCertificate) action() {}

// ImportPause limits how often a certificate is imported again. The pause usually lasts for UsualDuration. It ends earlier
// if the certificate in use expires soon, but lasts at least for DurationIfExpiring.
type ImportPause struct{ UsualDuration, DurationIfExpiring time.Duration }

// TimeUntilAllowed returns the time until the certificate may be imported again; 0 if it may be imported now. ends is the
// time at which the certificate in use expires. In the last durations.LongestBackOff before this time, the import is allowed
// as soon as DurationIfExpiring has passed.
func (p ImportPause) TimeUntilAllowed(now, ends time.Time) time.Duration {
	return min(p.UsualDuration, max(ends.Add(-durations.LongestBackOff).Sub(now), p.DurationIfExpiring))
}

const (
	// MaxCertificatesPerLoadBalancer is the default AWS quota of certificates per load balancer. Default certificates do not
	// count.
	MaxCertificatesPerLoadBalancer = 25
	// DefaultImportedCertificateQuota is AWS's default quota of imported certificates per account.
	DefaultImportedCertificateQuota = 2500
)

// Certificate is the resource kind of a certificate that the controller requests from ACM or imports into it.
const Certificate ResourceKind = "certificate"

// RequestCertificate requests a certificate from ACM. ACM issues the certificate later, after the step has succeeded.
type RequestCertificate struct {
	Domain string
	Hosts  []string
	CA     string // ARN of a private CA; empty for a public certificate, which is validated by DNS
	Tags   Tags
	Token  string // idempotency token: a repeated request does not create a second certificate
}

// DeleteCertificate deletes a certificate. If AWS answers that the certificate is in use, the step is repeated later.
type DeleteCertificate struct{ ARN string }

func (RequestCertificate) action() {}
func (DeleteCertificate) action()  {}

// ValidationRecord is the resource kind of a DNS record with which ACM validates that the account controls a domain.
const ValidationRecord ResourceKind = "validation-record"

// CreateRecord creates the CNAME record with which ACM validates a certificate. It succeeds if the record exists already.
type CreateRecord struct {
	Zone        string // id of the hosted zone
	Name, Value string
	TTL         int64 // seconds
}

// DeleteRecord deletes the validation record of a certificate. It does nothing if the record does not exist or has
// another value.
type DeleteRecord struct {
	Certificate string // ARN
	CreateRecord
}

func (CreateRecord) action() {}
func (DeleteRecord) action() {}
