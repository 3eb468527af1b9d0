package cloud

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// pendingFor is how long the answer is kept while a certificate is on its way.
const pendingFor = 10 * time.Second

// ownCertificate is a certificate of the cluster.
type ownCertificate struct {
	observed.OwnCertificate
	tags map[string]string
}

// askOwnCertificates reads the certificates that carry the tags of the stack. All of the cluster
// are read at once.
func (c *Cloud) askOwnCertificates(ctx context.Context, id model.StackID) ([]observed.OwnCertificate, error) {
	fresh := func() (ok bool) {
		c.facts.with(func() {
			age := c.cfg.Refresh
			if slices.ContainsFunc(c.facts.certs.own, func(o ownCertificate) bool { return o.Status == observed.PendingValidation }) {
				age = pendingFor
			}
			ok = c.younger(c.facts.certs.ownAt, age)
		})
		return ok
	}
	if !fresh() {
		err := c.flight.do(ctx, model.AskOwnCertificates{}.Key(), func() error {
			if fresh() {
				return nil
			}
			start := c.cfg.Now()
			own, err := c.readOwnCertificates(ctx)
			if err != nil {
				return err
			}
			c.facts.with(func() { c.facts.certs.own, c.facts.certs.ownAt = own, start })
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	var out []observed.OwnCertificate
	c.facts.with(func() {
		for _, o := range c.facts.certs.own {
			if c.belongs(id, o.tags) {
				o.ResourceID = o.tags[naming.ResourceTag(id.Kind)]
				out = append(out, o.OwnCertificate)
			}
		}
	})
	return out, nil
}

func (c *Cloud) readOwnCertificates(ctx context.Context) ([]ownCertificate, error) {
	var out []ownCertificate
	pages := acm.NewListCertificatesPaginator(c.api.acm, &acm.ListCertificatesInput{
		Includes: &acmtypes.Filters{KeyTypes: acmtypes.KeyAlgorithm("").Values()},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("list certificates: %w", err)
		}
		for _, s := range page.CertificateSummaryList {
			if s.Type == acmtypes.CertificateTypeImported {
				continue // nobody requested it
			}
			tags, err := c.certificateTags(ctx, aws.ToString(s.CertificateArn))
			if isGone(err) || err == nil && !c.ours(tags) {
				continue
			}
			if err != nil {
				return nil, err
			}
			x, err := c.readOwnCertificate(ctx, s)
			if isGone(err) {
				continue
			}
			if err != nil {
				return nil, err
			}
			out = append(out, ownCertificate{x, tags})
		}
	}
	slices.SortFunc(out, func(a, b ownCertificate) int { return strings.Compare(a.ARN, b.ARN) })
	return out, nil
}

// readOwnCertificate completes what the list says: what is missing for one that is not issued.
func (c *Cloud) readOwnCertificate(ctx context.Context, s acmtypes.CertificateSummary) (observed.OwnCertificate, error) {
	out := observed.OwnCertificate{
		ARN: aws.ToString(s.CertificateArn), Status: string(s.Status), Domains: s.SubjectAlternativeNameSummaries, Created: aws.ToTime(s.CreatedAt),
	}
	if out.Status == observed.Issued && len(out.Domains) > 0 && !aws.ToBool(s.HasAdditionalSubjectAlternativeNames) {
		return out, nil
	}
	res, err := c.api.acm.DescribeCertificate(ctx, &acm.DescribeCertificateInput{CertificateArn: s.CertificateArn})
	if err != nil {
		return out, fmt.Errorf("read certificate %s: %w", out.ARN, err)
	}
	if d := res.Certificate; d != nil {
		out.Status, out.Domains, out.Created, out.Failure = string(d.Status), d.SubjectAlternativeNames, aws.ToTime(d.CreatedAt), string(d.FailureReason)
		for _, v := range d.DomainValidationOptions {
			if r := v.ResourceRecord; r != nil && v.ValidationStatus != acmtypes.DomainStatusSuccess {
				out.Records = append(out.Records, observed.DNSRecord{Name: aws.ToString(r.Name), Value: aws.ToString(r.Value)})
			}
		}
	}
	return out, nil
}

func (c *Cloud) forgetOwnCertificates() {
	c.facts.with(func() { c.facts.certs.ownAt, c.facts.certs.listAt = time.Time{}, time.Time{} })
}

// requestCertificate asks for a certificate. The token makes ACM give the same one where the answer
// to the same request was lost.
func (c *Cloud) requestCertificate(ctx context.Context, a plan.RequestCertificate) (plan.Result, error) {
	sum := sha256.Sum256([]byte(c.cfg.Cluster + " " + a.Token))
	in := &acm.RequestCertificateInput{
		DomainName: aws.String(a.Domain), SubjectAlternativeNames: a.Hosts, CertificateAuthorityArn: optional(a.CA),
		ValidationMethod: acmtypes.ValidationMethodDns, IdempotencyToken: aws.String(hex.EncodeToString(sum[:16])),
	}
	for _, t := range tagsToAWS(a.Tags) {
		in.Tags = append(in.Tags, acmtypes.Tag{Key: t.Key, Value: t.Value})
	}
	out, err := c.api.acm.RequestCertificate(ctx, in)
	c.forgetOwnCertificates()
	if err != nil {
		return plan.Result{}, c.failure("request a certificate for "+a.Domain, err, time.Time{}, nil)
	}
	return plan.Result{ID: aws.ToString(out.CertificateArn)}, nil
}

// deleteCertificate deletes a certificate of the cluster; one that is gone is a success.
func (c *Cloud) deleteCertificate(ctx context.Context, a plan.DeleteCertificate) error {
	ours := false
	c.facts.with(func() {
		ours = slices.ContainsFunc(c.facts.certs.own, func(o ownCertificate) bool { return o.ARN == a.ARN })
	})
	if !ours {
		return failed(engine.Conflict, "delete certificate "+a.ARN, "it is not known as one that cluster %s requested", c.cfg.Cluster)
	}
	_, err := c.api.acm.DeleteCertificate(ctx, &acm.DeleteCertificateInput{CertificateArn: aws.String(a.ARN)})
	if err != nil && !isGone(err) {
		if classify(err) != engine.InUse {
			c.forgetOwnCertificates()
		}
		return c.failure("delete certificate "+a.ARN, err, time.Time{}, nil)
	}
	c.forgetOwnCertificates()
	return nil
}
