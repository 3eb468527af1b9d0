package certificates

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// validationRecords returns the DNS records with which ACM validates a certificate. complete reports whether ACM has
// returned a record for each domain.
func validationRecords(d *acmtypes.CertificateDetail) (out []observed.DNSRecord, complete bool) {
	complete = len(d.DomainValidationOptions) > 0
	for _, v := range d.DomainValidationOptions {
		r := v.ResourceRecord
		if r == nil {
			complete = false
			continue
		}
		out = append(out, observed.DNSRecord{
			Domain: strings.TrimPrefix(aws.ToString(v.DomainName), "*."), Name: aws.ToString(r.Name), Value: aws.ToString(r.Value),
			SeenByACM: v.ValidationStatus == acmtypes.DomainStatusSuccess,
		})
	}
	return out, complete
}

// LookUpValidation returns the validation records of a certificate, and whether the certificate is in use. The result is zero
// if the certificate does not exist.
func (c *Certificates) LookUpValidation(ctx context.Context, q model.AskValidation) (observed.Validation, error) {
	return c.validations.Get(ctx, q.Key(), durations.PolledFactAge, func(ctx context.Context) (v observed.Validation, err error) {
		out, err := c.API.ACM.DescribeCertificate(sdk.WithOptional(ctx), &acm.DescribeCertificateInput{CertificateArn: aws.String(q.ARN)})
		if err != nil && !sdk.IsGone(err) {
			return v, fmt.Errorf("read certificate %s: %w", q.ARN, err)
		}
		if err == nil && out.Certificate != nil {
			v.Records, _ = validationRecords(out.Certificate)
			v.InUse = len(out.Certificate.InUseBy) > 0
		}
		return v, nil
	})
}

// LookUpPublicCertificates returns the certificates of the account and region that Amazon has issued, or will issue once they
// are validated.
func (c *Certificates) LookUpPublicCertificates(ctx context.Context) ([]observed.PublicCertificate, error) {
	return c.public.Get(ctx, model.AskPublicCertificates{}.Key(), durations.Recent, c.readPublicCertificates)
}

func (c *Certificates) readPublicCertificates(ctx context.Context) ([]observed.PublicCertificate, error) {
	var out []observed.PublicCertificate
	// Failed certificates are not listed, as ACM never validates them again.
	statuses := []acmtypes.CertificateStatus{
		acmtypes.CertificateStatusIssued, acmtypes.CertificateStatusPendingValidation, acmtypes.CertificateStatusExpired, acmtypes.CertificateStatusInactive,
	}
	err := forEachListedCertificate(sdk.WithOptional(ctx), c.API.ACM, statuses, func(s acmtypes.CertificateSummary) error {
		if s.Type != acmtypes.CertificateTypeAmazonIssued {
			return nil
		}
		x := observed.PublicCertificate{ARN: aws.ToString(s.CertificateArn), Domains: s.SubjectAlternativeNameSummaries}
		if len(x.Domains) == 0 || aws.ToBool(s.HasAdditionalSubjectAlternativeNames) {
			d, err := c.readCertificateDetail(ctx, x.ARN, s.Type)
			if err != nil {
				return err
			}
			x.Domains = d.domains
		}
		out = append(out, x)
		return nil
	})
	slices.SortFunc(out, func(a, b observed.PublicCertificate) int { return strings.Compare(a.ARN, b.ARN) })
	return out, err
}
