package acm

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/aws/aws-sdk-go-v2/service/acm/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// maxNamesInSummary is the maximum number of names of each certificate in a response of ListCertificates.
const maxNamesInSummary = 100

// ListCertificates lists certificates. If the request has no key types, it lists only certificates with RSA keys of 1,024 or
// 2,048 bits, as AWS does.
func (s *Service) ListCertificates(c *store.Call, in *acm.ListCertificatesInput) (*acm.ListCertificatesOutput, error) {
	p := c.Partition
	if in.SortBy != "" && in.SortOrder == "" || in.SortBy == "" && in.SortOrder != "" {
		return nil, store.Errorf(store.UnprovenSource, "InvalidArgsException", "SortBy and SortOrder must be given together")
	}
	kinds := []types.KeyAlgorithm{types.KeyAlgorithmRsa1024, types.KeyAlgorithmRsa2048}
	if in.Includes != nil && len(in.Includes.KeyTypes) > 0 {
		kinds = in.Includes.KeyTypes
		for _, k := range kinds {
			if !slices.Contains(k.Values(), k) {
				return nil, validationError(store.UnprovenSource, "1 validation error detected: Value '[%s]' at 'includes.keyTypes' failed to satisfy constraint: Member must satisfy enum value set", k)
			}
		}
	}
	var all []*store.Certificate
	for _, arn := range store.SortedKeys(p.ACM.Certificates) {
		cert := p.ACM.Certificates[arn]
		statusMatches := len(in.CertificateStatuses) == 0 || slices.Contains(in.CertificateStatuses, p.CertificateStatus(cert, c.Now))
		if statusMatches && cert.Domain != "" && slices.Contains(kinds, cert.Algorithm) {
			all = append(all, cert)
		}
	}
	order := func(a, b *store.Certificate) int { return cmp.Compare(a.ARN, b.ARN) }
	if in.SortBy == types.SortByCreatedAt {
		order = func(a, b *store.Certificate) int {
			byTime := cmp.Compare(a.Created.UnixNano(), b.Created.UnixNano())
			if in.SortOrder == types.SortOrderDescending {
				byTime = -byTime
			}
			return cmp.Or(byTime, cmp.Compare(a.ARN, b.ARN))
		}
	}
	slices.SortFunc(all, order)
	all, next, err := s.nextPage(all, order, in.NextToken, in.MaxItems)
	if err != nil {
		return nil, err
	}
	out := &acm.ListCertificatesOutput{NextToken: next, CertificateSummaryList: []types.CertificateSummary{}}
	for _, cert := range all {
		out.CertificateSummaryList = append(out.CertificateSummaryList, certificateSummary(p, cert, c.Now))
	}
	if in.SortBy == "" {
		store.Shuffle(s.store, out.CertificateSummaryList)
	}
	return out, nil
}

func certificateSummary(p *store.Partition, cert *store.Certificate, now time.Time) types.CertificateSummary {
	d := describeCertificate(p, cert, now)
	out := types.CertificateSummary{
		CertificateArn: d.CertificateArn, DomainName: d.DomainName, Status: d.Status, Type: d.Type, KeyAlgorithm: cert.Algorithm,
		InUse: new(len(d.InUseBy) > 0), CreatedAt: d.CreatedAt, IssuedAt: d.IssuedAt, ImportedAt: d.ImportedAt,
		NotBefore: d.NotBefore, NotAfter: d.NotAfter, RenewalEligibility: d.RenewalEligibility,
		SubjectAlternativeNameSummaries: d.SubjectAlternativeNames, HasAdditionalSubjectAlternativeNames: new(false),
	}
	if len(out.SubjectAlternativeNameSummaries) > maxNamesInSummary {
		out.SubjectAlternativeNameSummaries = out.SubjectAlternativeNameSummaries[:maxNamesInSummary]
		out.HasAdditionalSubjectAlternativeNames = new(true)
	}
	return out
}

// DescribeCertificate describes a certificate.
func (s *Service) DescribeCertificate(c *store.Call, in *acm.DescribeCertificateInput) (*acm.DescribeCertificateOutput, error) {
	p := c.Partition
	cert, err := findCertificate(p, in.CertificateArn)
	if err != nil {
		return nil, err
	}
	d := describeCertificate(p, cert, c.Now)
	store.Shuffle(s.store, d.InUseBy)
	return &acm.DescribeCertificateOutput{Certificate: &d}, nil
}

// describeCertificate returns a certificate in the form of a response of DescribeCertificate.
func describeCertificate(p *store.Partition, cert *store.Certificate, now time.Time) types.CertificateDetail {
	status := p.CertificateStatus(cert, now)
	d := types.CertificateDetail{
		CertificateArn: new(cert.ARN), DomainName: new(cert.Domain), SubjectAlternativeNames: slices.Clone(cert.Names),
		Type: cert.Type, Status: status, InUseBy: p.LoadBalancersUsingCertificate(cert.ARN),
		// In this response AWS writes "RSA-2048", although the enumeration has "RSA_2048".
		KeyAlgorithm: types.KeyAlgorithm(strings.Replace(string(cert.Algorithm), "_", "-", 1)),
		Options:      cert.Options,
		CreatedAt:    optionalTime(cert.Created), ImportedAt: optionalTime(cert.Imported),
		CertificateAuthorityArn: store.StringOrNil(cert.Authority),
	}
	if cert.Type != types.CertificateTypeImported {
		d.RenewalEligibility = types.RenewalEligibilityIneligible
		if len(d.InUseBy) > 0 {
			d.RenewalEligibility = types.RenewalEligibilityEligible
		}
	}
	if status != types.CertificateStatusPendingValidation && status != types.CertificateStatusValidationTimedOut {
		d.Issuer, d.Subject, d.Serial, d.SignatureAlgorithm = store.StringOrNil(cert.Issuer), store.StringOrNil(cert.Subject), store.StringOrNil(cert.Serial), store.StringOrNil(cert.Signature)
		d.NotBefore, d.NotAfter, d.IssuedAt = optionalTime(cert.NotBefore), optionalTime(cert.NotAfter), optionalTime(cert.Issued)
	}
	recordAt := cert.Created.Add(p.Store().Config.ACM.RecordDelay)
	for _, v := range cert.Domains {
		if now.Before(recordAt) {
			v.ResourceRecord = nil
		}
		switch status {
		case types.CertificateStatusPendingValidation:
			v.ValidationStatus = types.DomainStatusPendingValidation
			if p.IsDomainValidated(cert, *v.DomainName, now) {
				v.ValidationStatus = types.DomainStatusSuccess
			}
		case types.CertificateStatusValidationTimedOut:
			v.ValidationStatus = types.DomainStatusFailed
		default:
			v.ValidationStatus = types.DomainStatusSuccess
		}
		d.DomainValidationOptions = append(d.DomainValidationOptions, v)
	}
	return d
}

// optionalTime returns nil for the zero time.
func optionalTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// GetCertificate returns the certificate and its chain as PEM.
func (s *Service) GetCertificate(c *store.Call, in *acm.GetCertificateInput) (*acm.GetCertificateOutput, error) {
	p := c.Partition
	cert, err := findCertificate(p, in.CertificateArn)
	if err != nil {
		return nil, err
	}
	switch status := p.CertificateStatus(cert, c.Now); status {
	case types.CertificateStatusIssued, types.CertificateStatusExpired:
	default:
		return nil, store.Errorf(store.UnprovenSource, "RequestInProgressException", "The certificate %s is in the status %s", cert.ARN, status)
	}
	if err := GenerateContent(cert); err != nil {
		return nil, store.Errorf(store.EmulatorSource, "InternalFailure", "internal error of the emulator: %v", err)
	}
	return &acm.GetCertificateOutput{Certificate: new(cert.CertificatePEM), CertificateChain: store.StringOrNil(cert.ChainPEM)}, nil
}

// ListTagsForCertificate lists the tags of a certificate.
func (s *Service) ListTagsForCertificate(c *store.Call, in *acm.ListTagsForCertificateInput) (*acm.ListTagsForCertificateOutput, error) {
	cert, err := findCertificate(c.Partition, in.CertificateArn)
	if err != nil {
		return nil, err
	}
	return &acm.ListTagsForCertificateOutput{Tags: s.tagList(cert.Tags)}, nil
}
