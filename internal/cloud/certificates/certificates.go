package certificates

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/cache"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Certificates reads the certificates in ACM. It requests, imports and deletes certificates for the cluster, and creates the
// DNS records that validate them.
type Certificates struct {
	*sdk.Client

	cache.Guard
	certs certificateCache

	issued *sdk.Answers[[]observed.Certificate] // issued certificates of any owner
	// public has the certificates of any owner that Amazon has issued, or will issue after their validation.
	public      *sdk.Answers[[]observed.PublicCertificate]
	validations *sdk.Answers[observed.Validation]

	Zones *Zones // the hosted zones with the records that validate certificates
}

// New returns Certificates. Reset must be called before the first use.
func New(client *sdk.Client) *Certificates {
	return &Certificates{
		Client: client, issued: sdk.NewAnswers[[]observed.Certificate](client), public: sdk.NewAnswers[[]observed.PublicCertificate](client),
		validations: sdk.NewAnswers[observed.Validation](client), Zones: &Zones{Client: client, list: sdk.NewAnswers[observed.HostedZones](client)},
	}
}

// Reset empties the caches of certificates and hosted zones.
func (c *Certificates) Reset() {
	c.WithLock(func() { c.certs = newCertificateCache() })
	c.issued.Expire()
	c.public.Expire()
	c.validations.Expire()
	c.Zones.Reset()
}

type certificateCache struct {
	// details and tags are keyed by ARN.
	details map[string]certificateDetail
	tags    map[string]certificateTags
	// ownCertificates are the certificates of the cluster, in any state.
	ownCertificates []ownCertificate
	ownReadAt       time.Time
	// importedByOthers is the number of imported certificates in the account that do not belong to the cluster.
	importedByOthers int
	// importedContents has the contents of imported certificates of the cluster, by ARN.
	importedContents map[string]importedCertificate
	// recentWrites has imports and deletions that AWS may not show yet, by ARN.
	recentWrites map[string]certificateWrite
}

type certificateDetail struct {
	domains     []string
	ca          string // ARN of the private certificate authority
	kind        acmtypes.CertificateType
	notAfter    time.Time // when the certificate expires
	readAgainAt time.Time // when this entry must be read again
}

type certificateTags struct {
	tags   map[string]string
	readAt time.Time
}

func newCertificateCache() certificateCache {
	return certificateCache{
		details: map[string]certificateDetail{}, tags: map[string]certificateTags{},
		importedContents: map[string]importedCertificate{}, recentWrites: map[string]certificateWrite{},
	}
}

// LookUpCertificates returns the issued certificates of the region with their domains. It reads them from ACM if they were
// not read within the settle window.
func (c *Certificates) LookUpCertificates(ctx context.Context) ([]observed.Certificate, error) {
	return c.issued.Get(ctx, model.AskCertificates{}.Key(), durations.SettleWindow, c.readCertificates)
}

func (c *Certificates) readCertificates(ctx context.Context) ([]observed.Certificate, error) {
	var out []observed.Certificate
	err := forEachListedCertificate(sdk.WithOptional(ctx), c.API.ACM, []acmtypes.CertificateStatus{acmtypes.CertificateStatusIssued}, func(s acmtypes.CertificateSummary) error {
		x, err := c.readCertificate(ctx, s)
		if err == nil {
			out = append(out, x)
		}
		return err
	})
	slices.SortFunc(out, func(a, b observed.Certificate) int { return strings.Compare(a.ARN, b.ARN) })
	return out, err
}

// forEachListedCertificate calls do for each certificate in ACM's list that has one of the statuses, or for every
// certificate if statuses is empty. If do returns a not-found error, because the certificate was deleted during the
// iteration, the iteration continues. Any other error ends the iteration.
func forEachListedCertificate(ctx context.Context, api *acm.Client, statuses []acmtypes.CertificateStatus, do func(s acmtypes.CertificateSummary) error) error {
	// Without a filter for key types ACM lists only certificates with short RSA keys.
	in := &acm.ListCertificatesInput{CertificateStatuses: statuses, Includes: &acmtypes.Filters{KeyTypes: acmtypes.KeyAlgorithm("").Values()}}
	for page, err := range sdk.Pages(ctx, acm.NewListCertificatesPaginator(api, in)) {
		if err != nil {
			return fmt.Errorf("list certificates: %w", err)
		}
		for _, s := range page.CertificateSummaryList {
			if err := sdk.IgnoreGone(do(s)); err != nil {
				return err
			}
		}
	}
	return nil
}

// readCertificate returns the certificate that entry s of ACM's list describes. It reads what the entry does not contain:
// all domains if there are many, the authority of a private certificate, and the tags.
func (c *Certificates) readCertificate(ctx context.Context, s acmtypes.CertificateSummary) (observed.Certificate, error) {
	out := observed.Certificate{
		ARN: aws.ToString(s.CertificateArn), Status: string(acmtypes.CertificateStatusIssued), Domains: s.SubjectAlternativeNameSummaries,
		Imported: s.Type == acmtypes.CertificateTypeImported,
	}
	if s.Status != "" {
		out.Status = string(s.Status)
	}
	if len(out.Domains) == 0 || aws.ToBool(s.HasAdditionalSubjectAlternativeNames) || s.Type == acmtypes.CertificateTypePrivate {
		d, err := c.readCertificateDetail(ctx, out.ARN, s.Type)
		if err != nil {
			return out, err
		}
		out.Domains, out.CA = d.domains, d.ca
	}
	if !c.Config.ManagedCertificates && !c.Config.ManagesCertificateType(s.Type) {
		return out, nil
	}
	tags, err := c.readCertificateTags(ctx, out.ARN)
	owner := certificateOwner(tags)
	out.Owner = &owner
	return out, err
}

// readCertificateDetail returns the details of a certificate. It calls ACM only if the details are not cached. kind is the
// type of the certificate, or "" if the caller does not know it.
func (c *Certificates) readCertificateDetail(ctx context.Context, arn string, kind acmtypes.CertificateType) (certificateDetail, error) {
	var d certificateDetail
	c.WithLock(func() { d = c.certs.details[arn] })
	now := c.Config.Clock.Now()
	if now.Before(d.readAgainAt) {
		return d, nil
	}
	out, err := c.API.ACM.DescribeCertificate(sdk.WithOptional(ctx), &acm.DescribeCertificateInput{CertificateArn: aws.String(arn)})
	if err != nil {
		return d, fmt.Errorf("read certificate %s: %w", arn, err)
	}
	d = certificateDetail{kind: kind, readAgainAt: now.Add(durations.UnchangingFactAge)}
	if x := out.Certificate; x != nil {
		d.domains, d.ca, d.kind, d.notAfter = x.SubjectAlternativeNames, aws.ToString(x.CertificateAuthorityArn), x.Type, aws.ToTime(x.NotAfter)
	}
	if d.kind == acmtypes.CertificateTypeImported {
		d.readAgainAt = now.Add(durations.EditableFactAge)
	}
	c.WithLock(func() { c.certs.details[arn] = d })
	return d, nil
}

// readCertificateTags returns the tags of a certificate. It reads them from ACM if they were not read within
// durations.RarelyChangedAge.
func (c *Certificates) readCertificateTags(ctx context.Context, arn string) (map[string]string, error) {
	var t certificateTags
	c.WithLock(func() { t = c.certs.tags[arn] })
	if c.IsYounger(t.readAt, durations.RarelyChangedAge) {
		return t.tags, nil
	}
	t = certificateTags{tags: map[string]string{}, readAt: c.Config.Clock.Now()}
	out, err := c.API.ACM.ListTagsForCertificate(sdk.WithOptional(ctx), &acm.ListTagsForCertificateInput{CertificateArn: aws.String(arn)})
	if err != nil {
		return nil, fmt.Errorf("read tags of certificate %s: %w", arn, err)
	}
	for _, x := range out.Tags {
		t.tags[aws.ToString(x.Key)] = aws.ToString(x.Value)
	}
	c.WithLock(func() { c.certs.tags[arn] = t })
	return t.tags, nil
}
