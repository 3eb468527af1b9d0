package assemble

import (
	"fmt"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
)

// Label is a label of a Kubernetes object.
type Label struct{ Key, Value string }

// readSecret reads a Secret with get, and returns it if it has the label SecretLabel. If the Secret does not exist or lacks
// the label, readSecret calls fault with the reason and returns false.
func (o Options) readSecret(namespace, name string, get func(namespace, name string) (*corev1.Secret, bool), fault func(r finding.Reason, message, fix string)) (*corev1.Secret, bool) {
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		// get is not called, because the client of the API server rejects names with a slash.
		fault(finding.SecretInvalid, fmt.Sprintf("secretName %q is not a valid name of a Secret", name), fmt.Sprintf("set the name of a Secret in namespace %q", namespace))
		return nil, false
	}
	s, exists := get(namespace, name)
	if !exists {
		fault(finding.SecretNotFound, finding.MissingSecretMessage(namespace, name), finding.MissingSecretFix(o.ServiceAccount, namespace, name))
		return nil, false
	}
	if l := o.SecretLabel; l.Key != "" && s.Labels[l.Key] != l.Value {
		fault(finding.SecretInvalid, fmt.Sprintf("Secret %s/%s does not have the label %s=%s that the operator requires", namespace, name, l.Key, l.Value), "add the label")
		return nil, false
	}
	return s, true
}

// ReadClientSecret returns the client ID and the client secret for OpenID Connect in a Secret, which it reads with get. If
// the Secret cannot be used, it is reported at the origin that names it, and ok is false.
func ReadClientSecret(b *Builder, namespace, name string, at finding.Origin, get func(namespace, name string) (*corev1.Secret, bool)) (id, secret model.Secret, ok bool) {
	fault := func(reason finding.Reason, message, fix string) {
		b.Found.Add(finding.Finding{
			Object: at.Object, Field: at.Field, Reason: reason,
			Message: message + "; an existing rule stays unchanged, and requests for a new rule are answered with 503", Fix: fix, Blocks: finding.BlocksRule,
		})
	}
	s, ok := b.readSecret(namespace, name, get, fault)
	if !ok {
		return "", "", false
	}
	rawID, hasID := s.Data["clientID"]
	if !hasID {
		rawID, hasID = s.Data["clientId"]
	}
	rawSecret, hasSecret := s.Data["clientSecret"]
	if !hasID || !hasSecret {
		fault(finding.SecretInvalid, fmt.Sprintf("Secret %q needs the keys clientID and clientSecret", namespace+"/"+name), "add the keys")
		return "", "", false
	}
	// A Secret that was created from files may have a newline at the end of a value, which is not part of the credential.
	return model.Secret(strings.TrimRightFunc(string(rawID), unicode.IsSpace)),
		model.Secret(strings.TrimRightFunc(string(rawSecret), unicode.IsControl)), true
}

// issuerCertificateKey is the key of the issuer's certificate in a TLS Secret of cert-manager.
const issuerCertificateKey = "ca.crt"

// maxTLSSecrets is the maximum number of TLS Secrets that are read for an Ingress, or for the listeners of a namespace on a
// Gateway. It is the default AWS quota of certificates of a load balancer.
const maxTLSSecrets = 25

// TLSSecret is a reference to a TLS Secret for the listeners of a member.
type TLSSecret struct {
	Namespace, Name string
	ReferencedAt    finding.Origin // the object with the reference, and its field
	Hosts           []string       // the hosts for which the object names the Secret
	// Rank is the position of the object among the objects that share the load balancer. All DNS names of the
	// certificate must match RequiredHostname, unless it is empty.
	Rank             int
	RequiredHostname string
}

// ID returns the resource ID of the certificate that is imported from the Secret.
func (s TLSSecret) ID() string { return naming.ImportedCertificateID(s.Namespace, s.Name) }

// TLSSecretUse is one reference to a TLS Secret: the resource ID of its certificate, and the object and field that name
// it.
type TLSSecretUse struct {
	ID           string
	ReferencedAt finding.Origin
}

// ImportTLSSecrets adds the certificates of TLS Secrets to the imports of a member. It reports a Secret that cannot be
// used; the certificate that was imported from this Secret before stays. The caller must check before that the member
// may use the Secrets. If a certificate may be used by one reference but not by another, the result has the refused
// references.
func ImportTLSSecrets(b *Builder, m *members.Member, secrets []TLSSecret, claims *HostClaims, get func(namespace, name string) (*corev1.Secret, bool)) map[TLSSecretUse]bool {
	type read struct {
		*model.CertificateImport
		content *model.CertificateContent
	}
	known := map[string]read{}
	counts := map[string]int{} // number of Secrets, by namespace of the object with the reference
	refused, claimedAt := map[TLSSecretUse]bool{}, map[string][]TLSSecretUse{}
	for _, s := range secrets {
		m.ImportedNames = append(m.ImportedNames, s.Hosts...)
		c := model.ManagedCertificate{ID: s.ID(), Member: s.ReferencedAt.Object, Of: s.ReferencedAt, Tags: MergeMaps(m.Tags, b.DefaultTags)}
		one, before := known[c.ID]
		switch {
		case before:
			one.Uses = append(one.Uses, s.ReferencedAt)
		case counts[s.ReferencedAt.Object.Namespace] == maxTLSSecrets:
			b.reportTooManySecrets(s)
			counts[s.ReferencedAt.Object.Namespace]++
			continue
		case counts[s.ReferencedAt.Object.Namespace] > maxTLSSecrets:
			continue
		default:
			counts[s.ReferencedAt.Object.Namespace]++
			one = read{&model.CertificateImport{Secret: s.Namespace + "/" + s.Name, Uses: []finding.Origin{s.ReferencedAt}}, b.parseTLSSecret(s, &b.Found, get)}
			c.Import = one.CertificateImport
			known[c.ID] = one
			m.Imports = append(m.Imports, c)
		}
		use := TLSSecretUse{c.ID, s.ReferencedAt}
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
		if known[use.ID].Content == nil { // no reference may use it, so the certificate that was imported before stays
			delete(refused, use)
		}
	}
	return refused
}

// reportTooManySecrets reports s, the first Secret that exceeds maxTLSSecrets.
func (b *Builder) reportTooManySecrets(s TLSSecret) {
	b.Found.Add(finding.Finding{
		Object: s.ReferencedAt.Object, Field: s.ReferencedAt.Field, Reason: finding.QuotaReached, Severity: finding.Error,
		Message: fmt.Sprintf("more than %d TLS Secrets are named, which is the maximum number of certificates of a load balancer; Secret \"%s/%s\" and those after it are not imported", maxTLSSecrets, s.Namespace, s.Name),
		Fix:     "use fewer Secrets, or another load balancer",
	})
}

// parseTLSSecret returns the certificate in a TLS Secret. If the Secret cannot be used, it reports the reason and returns
// nil.
func (o Options) parseTLSSecret(s TLSSecret, found *finding.List, get func(namespace, name string) (*corev1.Secret, bool)) *model.CertificateContent {
	fault := s.faultReporter(found)
	secret, ok := o.readSecret(s.Namespace, s.Name, get, fault)
	if !ok {
		return nil
	}
	name := s.Namespace + "/" + s.Name
	if secret.Type != corev1.SecretTypeTLS {
		fault(finding.SecretInvalid, fmt.Sprintf("Secret %q has type %q, which is not %q", name, secret.Type, corev1.SecretTypeTLS), "refer to a TLS Secret")
		return nil
	}
	for _, key := range []string{corev1.TLSCertKey, corev1.TLSPrivateKeyKey} {
		if len(secret.Data[key]) == 0 {
			fault(finding.SecretInvalid, fmt.Sprintf("Secret %q needs the keys %s and %s", name, corev1.TLSCertKey, corev1.TLSPrivateKeyKey), "add the key "+key)
			return nil
		}
	}
	content, why := o.certificates.Parse(secret.Data[corev1.TLSCertKey], secret.Data[corev1.TLSPrivateKeyKey], secret.Data[issuerCertificateKey])
	if why != nil {
		fault(finding.CertificateInvalid, fmt.Sprintf("Secret %q: %s", name, why.Message), why.Fix)
		return nil
	}
	return content
}

// faultReporter returns a function that adds a finding about the TLS Secret.
func (s TLSSecret) faultReporter(found *finding.List) func(r finding.Reason, message, fix string) {
	return func(r finding.Reason, message, fix string) {
		found.Add(finding.Finding{
			Object: s.ReferencedAt.Object, Field: s.ReferencedAt.Field, Reason: r, Severity: finding.Error,
			Message: message + "; a certificate that was imported from this Secret before stays", Fix: fix,
		})
	}
}

// claimedNames returns the DNS names of a certificate that cover a host which an object of another namespace claims with
// a lower rank. If a DNS name does not match RequiredHostname, claimedNames reports this, and within is false.
func (b *Builder) claimedNames(s TLSSecret, content *model.CertificateContent, claims *HostClaims) (claimed []model.ClaimedName, within bool) {
	for _, n := range content.Is.Names {
		if w := s.RequiredHostname; w != "" && n != w && !plan.DomainCovers(w, n) && !plan.DomainCovers(n, w) {
			s.faultReporter(&b.Found)(finding.HostNotOwned, fmt.Sprintf("Secret \"%s/%s\": the certificate is for %q, which does not match hostname %q", s.Namespace, s.Name, n, w),
				"issue the certificate for the hostname of the listener")
			return nil, false
		}
		if host, by := claims.earlierClaim(n, s.ReferencedAt.Object.Namespace, s.Rank); host != "" {
			claimed = append(claimed, model.ClaimedName{Name: n, Host: host, By: by})
		}
	}
	return claimed, true
}
