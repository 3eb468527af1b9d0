package acm

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/acm/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

const (
	quotaDomainNames  = "domain-names-per-certificate"
	quotaCertificates = "certificates"
	// maxFirstNameLength is the maximum length of the main domain name. Alternative names can have 253 characters.
	maxFirstNameLength = 64
	// tokenLifetime is how long RequestCertificate recognizes an idempotency token.
	tokenLifetime = time.Hour
)

var (
	domainPattern = regexp.MustCompile(`^(\*\.)?([A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.)+[A-Za-z][A-Za-z0-9-]*[A-Za-z0-9]$`)
	tokenPattern  = regexp.MustCompile(`^\w{1,32}$`)
)

// checkQuota returns an error if the account has reached its quota of certificates.
func (s *Service) checkQuota(p *store.Partition) error {
	if quota := s.store.Quota(quotaCertificates, 2500); len(p.ACM.Certificates) >= quota {
		return store.Errorf(store.UnprovenSource, "LimitExceededException", "The maximum number of certificates '%d' has been reached", quota)
	}
	return nil
}

// RequestCertificate requests a certificate. A public certificate is issued after its validation, a certificate of a private
// CA immediately.
func (s *Service) RequestCertificate(c *store.Call, in *acm.RequestCertificateInput) (*acm.RequestCertificateOutput, error) {
	p := c.Partition
	names, err := s.requestedNames(in)
	if err != nil {
		return nil, err
	}
	if in.IdempotencyToken != nil && !tokenPattern.MatchString(*in.IdempotencyToken) {
		return nil, store.Errorf(store.UnprovenSource, "InvalidParameterException", "The idempotency token is not valid")
	}
	cert := &store.Certificate{
		Domain: names[0], Names: names, Type: types.CertificateTypeAmazonIssued, Status: types.CertificateStatusPendingValidation,
		Algorithm: in.KeyAlgorithm, Validation: in.ValidationMethod, Options: in.Options, Token: store.Value(in.IdempotencyToken),
		Authority: store.Value(in.CertificateAuthorityArn), Created: c.Now,
	}
	if cert.Algorithm == "" {
		cert.Algorithm = types.KeyAlgorithmRsa2048
	}
	if !slices.Contains(cert.Algorithm.Values(), cert.Algorithm) {
		return nil, validationError(store.UnprovenSource, "The key algorithm '%s' is not valid", cert.Algorithm)
	}
	if cert.Validation == "" {
		cert.Validation = types.ValidationMethodEmail
	}
	if !slices.Contains(cert.Validation.Values(), cert.Validation) {
		return nil, validationError(store.UnprovenSource, "The validation method '%s' is not valid", cert.Validation)
	}
	if cert.Tags, err = mergeTags(nil, in.Tags); err != nil {
		return nil, err
	}
	if existing := findEarlierRequest(p, cert, c.Now); existing != nil {
		return &acm.RequestCertificateOutput{CertificateArn: new(existing.ARN)}, nil
	}
	if err := s.checkQuota(p); err != nil {
		return nil, err
	}
	issuer := "Amazon"
	if cert.Authority != "" {
		cert.Type, cert.Status, cert.Validation, issuer = types.CertificateTypePrivate, types.CertificateStatusIssued, "", "Private CA"
	} else if cert.Domains, err = domainValidations(p.Account, in, cert); err != nil {
		return nil, err
	}
	cert.ARN = p.ARN("acm", "certificate/"+s.store.RandomUUID())
	cert.Issuer, cert.Subject, cert.Serial, cert.Signature = issuer, "CN="+cert.Domain, formatSerial(s.store.RandomHex(32)), "SHA256WITHRSA"
	p.AddRequestedCertificate(cert)
	return &acm.RequestCertificateOutput{CertificateArn: new(cert.ARN)}, nil
}

// requestedNames returns the domain names in a request without duplicates, the main domain name first.
func (s *Service) requestedNames(in *acm.RequestCertificateInput) ([]string, error) {
	var names []string
	for _, n := range append([]string{store.Value(in.DomainName)}, in.SubjectAlternativeNames...) {
		if len(n) > 253 || !domainPattern.MatchString(n) {
			return nil, validationError(store.UnprovenSource, "The domain name '%s' is not valid", n)
		}
		if !slices.Contains(names, n) {
			names = append(names, n)
		}
	}
	if len(names[0]) > maxFirstNameLength {
		return nil, store.Errorf(store.ReportSource("convox/rack#2818"), "InvalidDomainValidationOptionsException", "The first domain name can be no longer than %d characters.", maxFirstNameLength)
	}
	if quota := s.store.Quota(quotaDomainNames, 10); len(names) > quota {
		return nil, store.Errorf(store.UnprovenSource, "LimitExceededException", "A certificate cannot have more than %d domain names", quota)
	}
	return names, nil
}

// findEarlierRequest returns the certificate that was requested with the token, names and private CA of want within the
// tokenLifetime before now, or nil if there is none.
func findEarlierRequest(p *store.Partition, want *store.Certificate, now time.Time) *store.Certificate {
	if want.Token == "" {
		return nil
	}
	for _, c := range p.ACM.Certificates {
		if c.Token == want.Token && now.Sub(c.Created) < tokenLifetime && slices.Equal(c.Names, want.Names) && c.Authority == want.Authority {
			return c
		}
	}
	return nil
}

// domainValidations returns the validation options of the domain names of cert. For validation by DNS, they contain the
// validation records.
func domainValidations(account string, in *acm.RequestCertificateInput, cert *store.Certificate) ([]types.DomainValidation, error) {
	var out []types.DomainValidation
	for _, n := range cert.Names {
		base := strings.TrimPrefix(n, "*.")
		v := types.DomainValidation{DomainName: new(n), ValidationDomain: new(base), ValidationMethod: cert.Validation}
		if cert.Validation == types.ValidationMethodDns {
			name, value := store.ValidationRecord(account, n)
			v.ResourceRecord = &types.ResourceRecord{Name: &name, Type: types.RecordTypeCname, Value: &value}
		}
		out = append(out, v)
	}
	for _, o := range in.DomainValidationOptions {
		i := slices.IndexFunc(out, func(v types.DomainValidation) bool { return *v.DomainName == store.Value(o.DomainName) })
		super := store.Value(o.ValidationDomain)
		if i < 0 || !strings.HasSuffix("."+strings.TrimPrefix(store.Value(o.DomainName), "*."), "."+super) {
			return nil, store.Errorf(store.UnprovenSource, "InvalidDomainValidationOptionsException", "The validation domain '%s' is not a superdomain of '%s'", super, store.Value(o.DomainName))
		}
		out[i].ValidationDomain = new(super)
	}
	return out, nil
}

// formatSerial writes hexadecimal digits as AWS writes a serial number: in pairs, separated by colons.
func formatSerial(digits string) string {
	var pairs []string
	for i := 0; i+1 < len(digits); i += 2 {
		pairs = append(pairs, digits[i:i+2])
	}
	return strings.Join(pairs, ":")
}

// DeleteCertificate deletes a certificate, unless a load balancer uses it.
func (s *Service) DeleteCertificate(c *store.Call, in *acm.DeleteCertificateInput) (*acm.DeleteCertificateOutput, error) {
	p := c.Partition
	cert, err := findCertificate(p, in.CertificateArn)
	if err != nil {
		return nil, err
	}
	if len(p.LoadBalancersUsingCertificate(cert.ARN)) > 0 {
		return nil, store.Errorf(store.UnprovenSource, "ResourceInUseException", "Certificate %s in account %s is in use.", cert.ARN, p.Account)
	}
	delete(p.ACM.Certificates, cert.ARN)
	return &acm.DeleteCertificateOutput{}, nil
}

// AddTagsToCertificate adds tags to a certificate, or replaces tags with the same keys.
func (s *Service) AddTagsToCertificate(c *store.Call, in *acm.AddTagsToCertificateInput) (*acm.AddTagsToCertificateOutput, error) {
	cert, err := findCertificate(c.Partition, in.CertificateArn)
	if err != nil {
		return nil, err
	}
	next, err := mergeTags(cert.Tags, in.Tags)
	if err != nil {
		return nil, err
	}
	cert.Tags = next
	return &acm.AddTagsToCertificateOutput{}, nil
}

// RemoveTagsFromCertificate removes tags from a certificate. If the request has a value for a tag, the tag is removed only
// if it has this value.
func (s *Service) RemoveTagsFromCertificate(c *store.Call, in *acm.RemoveTagsFromCertificateInput) (*acm.RemoveTagsFromCertificateOutput, error) {
	cert, err := findCertificate(c.Partition, in.CertificateArn)
	if err != nil {
		return nil, err
	}
	for _, t := range in.Tags {
		have, ok := cert.Tags[store.Value(t.Key)]
		if ok && (t.Value == nil || *t.Value == have) {
			delete(cert.Tags, store.Value(t.Key))
		}
	}
	return &acm.RemoveTagsFromCertificateOutput{}, nil
}
