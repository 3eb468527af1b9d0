package assemble

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fulcrum-lb/fulcrum/internal/certificate"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/members"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

// Label is a key and a value.
type Label struct{ Key, Value string }

// ReadSecret returns a Secret that get finds by namespace and name, and which the operator's label admits.
// If there is none, fault is called with why.
func (o Options) ReadSecret(namespace, name string, get func(namespace, name string) (*corev1.Secret, bool), fault func(r finding.Reason, message, fix string)) (*corev1.Secret, bool) {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		// It is not asked for: a name with a slash is refused by the client of the API server.
		fault(finding.SecretInvalid, fmt.Sprintf("secretName %q is not the name of a Secret", name), fmt.Sprintf("name a Secret in namespace %q", namespace))
		return nil, false
	}
	s, exists := get(namespace, name)
	if !exists {
		fault(finding.SecretNotFound, fmt.Sprintf("Secret %s/%s does not exist", namespace, name), "create the Secret")
		return nil, false
	}
	if l := o.SecretLabel; l.Key != "" && s.Labels[l.Key] != l.Value {
		fault(finding.SecretInvalid, fmt.Sprintf("Secret %s/%s lacks the label %s=%s that the operator demands", namespace, name, l.Key, l.Value), "add the label")
		return nil, false
	}
	return s, true
}

// caKey is the key of the issuer's certificate in TLS Secrets, as cert-manager stores it.
const caKey = "ca.crt"

// MaxTLSSecrets is how many TLS Secrets of a member are read: as many as a load balancer has certificates.
const MaxTLSSecrets = 25

// TLSSecret is a TLS Secret that a member names for its listeners.
type TLSSecret struct {
	Namespace, Name string
	Field           string   // of the member that names it
	Hosts           []string // that it is meant for
}

// ImportTLSSecrets has the certificates of TLS Secrets imported for a member. One that cannot be
// used is reported, and what was imported of it before serves on. The caller has checked that the member
// may use the Secrets.
func ImportTLSSecrets(b *Builder, m *members.Member, secrets []TLSSecret, get func(namespace, name string) (*corev1.Secret, bool)) {
	if more := len(secrets) - MaxTLSSecrets; more > 0 {
		b.Found.Add(finding.Finding{
			Object: m.Ref, Field: secrets[MaxTLSSecrets].Field, Reason: finding.QuotaReached, Severity: finding.Error,
			Message: fmt.Sprintf("%d TLS Secrets are named, and a load balancer has %d certificates at most; the last %d are not imported", len(secrets), MaxTLSSecrets, more),
			Fix:     "use fewer Secrets, or another load balancer",
		})
		secrets = secrets[:MaxTLSSecrets]
	}
	for _, s := range secrets {
		use := finding.Origin{Object: m.Ref, Field: s.Field}
		c := model.ManagedCertificate{
			ID: naming.ImportedCertificateID(s.Namespace, s.Name), Member: m.Ref, Of: use, Tags: Overlay(m.Tags, b.DefaultTags),
			Import: &model.CertificateImport{Secret: s.Namespace + "/" + s.Name, Uses: []finding.Origin{use}, Content: b.tlsSecret(s, use, &b.Found, get)},
		}
		m.Imports = append(m.Imports, c)
		m.Imported = append(m.Imported, s.Hosts...)
		if content := c.Import.Content; content != nil {
			m.Imported = append(m.Imported, content.Is.Names...)
		}
	}
}

// tlsSecret reads the certificate of a TLS Secret; nil if it cannot be used.
func (o Options) tlsSecret(s TLSSecret, use finding.Origin, found *finding.List, get func(namespace, name string) (*corev1.Secret, bool)) *model.CertificateContent {
	fault := func(r finding.Reason, message, fix string) {
		found.Add(finding.Finding{
			Object: use.Object, Field: use.Field, Reason: r, Severity: finding.Error,
			Message: message + "; a certificate that was imported from it before stays", Fix: fix,
		})
	}
	secret, ok := o.ReadSecret(s.Namespace, s.Name, get, fault)
	if !ok {
		return nil
	}
	name := s.Namespace + "/" + s.Name
	if secret.Type != corev1.SecretTypeTLS {
		fault(finding.SecretInvalid, fmt.Sprintf("Secret %q has type %q, which is not %q", name, secret.Type, corev1.SecretTypeTLS), "name a TLS Secret")
		return nil
	}
	for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		if len(secret.Data[key]) == 0 {
			fault(finding.SecretInvalid, fmt.Sprintf("Secret %q needs the keys %s and %s", name, corev1.TLSCertKey, corev1.TLSPrivateKeyKey), "add the key "+key)
			return nil
		}
	}
	content, why := certificate.Parse(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey], secret.Data[caKey])
	if why != nil {
		fault(finding.CertificateInvalid, fmt.Sprintf("Secret %q: %s", name, why.Message), why.Fix)
	}
	return content
}
