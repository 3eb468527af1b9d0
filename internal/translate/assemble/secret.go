package assemble

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
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
		fault(finding.SecretNotFound, finding.NoSecret(namespace, name), finding.ProvideSecret(o.ServiceAccount, namespace, name))
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

// MaxTLSSecrets is how many TLS Secrets are read for the objects of a namespace: as many as a load balancer has certificates.
const MaxTLSSecrets = 25

// TLSSecret is a TLS Secret that is named for listeners of a member.
type TLSSecret struct {
	Namespace, Name string
	By              finding.Origin // the object that names it, and its field
	Hosts           []string       // that it is meant for
	// Rank is the place of the object among those that share the load balancer, the first one first. Within is what all
	// names of the certificate have to fit; "" for nothing.
	Rank   int
	Within string
}

// ID returns the logical id of the certificate.
func (s TLSSecret) ID() string { return naming.ImportedCertificateID(s.Namespace, s.Name) }

// TLSSecretUse is one place that names a TLS Secret.
type TLSSecretUse struct {
	ID string
	By finding.Origin
}

// ImportTLSSecrets has the certificates of TLS Secrets imported for a member. One that cannot be
// used is reported, and what was imported of it before serves on. The caller has checked that the member
// may use the Secrets. Of a certificate that may be used in one place and not in another, it returns the uses that
// are refused.
func ImportTLSSecrets(b *Builder, m *members.Member, secrets []TLSSecret, claims *HostClaims, get func(namespace, name string) (*corev1.Secret, bool)) map[TLSSecretUse]bool {
	type read struct {
		*model.CertificateImport
		content *model.CertificateContent
	}
	known := map[string]read{}
	counts := map[string]int{} // of Secrets, by namespace of who names them
	refused, claimedAt := map[TLSSecretUse]bool{}, map[string][]TLSSecretUse{}
	for _, s := range secrets {
		m.ImportedNames = append(m.ImportedNames, s.Hosts...)
		c := model.ManagedCertificate{ID: s.ID(), Member: s.By.Object, Of: s.By, Tags: Overlay(m.Tags, b.DefaultTags)}
		one, before := known[c.ID]
		switch {
		case before:
			one.Uses = append(one.Uses, s.By)
		case counts[s.By.Object.Namespace] == MaxTLSSecrets:
			b.tooManySecrets(s)
			counts[s.By.Object.Namespace]++
			continue
		case counts[s.By.Object.Namespace] > MaxTLSSecrets:
			continue
		default:
			counts[s.By.Object.Namespace]++
			one = read{&model.CertificateImport{Secret: s.Namespace + "/" + s.Name, Uses: []finding.Origin{s.By}}, b.tlsSecret(s, &b.Found, get)}
			c.Import = one.CertificateImport
			known[c.ID] = one
			m.Imports = append(m.Imports, c)
		}
		use := TLSSecretUse{c.ID, s.By}
		if one.content == nil {
			continue
		}
		claimed, within := b.claimedNames(s, one.content, claims)
		switch {
		case !within:
			refused[use] = true
		case len(claimed) == 0:
			one.Content, one.Claimed = one.content, nil
			m.ImportedNames = append(m.ImportedNames, one.content.Is.Names...)
		case one.Content == nil:
			one.Content, one.Claimed = one.content, claimed
			claimedAt[c.ID] = append(claimedAt[c.ID], use)
		default:
			claimedAt[c.ID] = append(claimedAt[c.ID], use)
		}
	}
	for id, uses := range claimedAt {
		if len(known[id].Claimed) == 0 {
			for _, use := range uses {
				refused[use] = true
			}
		}
	}
	for use := range refused {
		if known[use.ID].Content == nil { // what was imported before stays
			delete(refused, use)
		}
	}
	return refused
}

// tooManySecrets reports a Secret that is one more than a load balancer has certificates.
func (b *Builder) tooManySecrets(s TLSSecret) {
	b.Found.Add(finding.Finding{
		Object: s.By.Object, Field: s.By.Field, Reason: finding.QuotaReached, Severity: finding.Error,
		Message: fmt.Sprintf("more than %d TLS Secrets are named, and a load balancer has no more certificates; Secret \"%s/%s\" and those after it are not imported", MaxTLSSecrets, s.Namespace, s.Name),
		Fix:     "use fewer Secrets, or another load balancer",
	})
}

// tlsSecret reads the certificate of a TLS Secret; nil if it cannot be used.
func (o Options) tlsSecret(s TLSSecret, found *finding.List, get func(namespace, name string) (*corev1.Secret, bool)) *model.CertificateContent {
	fault := s.faults(found)
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
	content, why := o.certificates.Parse(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey], secret.Data[caKey])
	if why != nil {
		fault(finding.CertificateInvalid, fmt.Sprintf("Secret %q: %s", name, why.Message), why.Fix)
		return nil
	}
	return content
}

// faults reports what is wrong with a Secret.
func (s TLSSecret) faults(found *finding.List) func(r finding.Reason, message, fix string) {
	return func(r finding.Reason, message, fix string) {
		found.Add(finding.Finding{
			Object: s.By.Object, Field: s.By.Field, Reason: r, Severity: finding.Error,
			Message: message + "; a certificate that was imported from it before stays", Fix: fix,
		})
	}
}

// claimedNames returns the names of a certificate that are for hosts of other objects, which came first, and reports
// whether all names are those of the listener.
func (b *Builder) claimedNames(s TLSSecret, content *model.CertificateContent, claims *HostClaims) (claimed []model.ClaimedName, within bool) {
	for _, n := range content.Is.Names {
		if w := s.Within; w != "" && n != w && !plan.Covers(w, n) && !plan.Covers(n, w) {
			s.faults(&b.Found)(finding.HostNotOwned, fmt.Sprintf("Secret \"%s/%s\": the certificate is for %q, which is not a name of hostname %q", s.Namespace, s.Name, n, w),
				"issue the certificate for the hostname of the listener")
			return nil, false
		}
		if host, by := claims.firstClaim(n, s.By.Object.Namespace, s.Rank); host != "" {
			claimed = append(claimed, model.ClaimedName{Name: n, Host: host, By: by})
		}
	}
	return claimed, true
}
