package certificates

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// ownCertificate is a certificate of the cluster.
type ownCertificate struct {
	observed.OwnCertificate
	tags        map[string]string
	describedAt time.Time // when DescribeCertificate was called for the certificate
	issuedAt    time.Time // issue time by the clock of AWS; zero for an imported certificate and for a certificate that is not issued yet
}

// LookUpOwnCertificates returns the certificates that have the tags of the stack. If the cache is outdated, it reads the
// certificates of all stacks of the cluster together.
func (c *Certificates) LookUpOwnCertificates(ctx context.Context, id model.StackID) ([]observed.OwnCertificate, error) {
	if err := c.refreshOwnCertificates(ctx); err != nil {
		return nil, err
	}
	var out []observed.OwnCertificate
	c.WithLock(func() {
		for _, o := range c.certs.ownCertificates {
			if naming.BelongsToStack(c.Config.Cluster, id, o.tags) {
				o.ResourceID = o.tags[naming.ResourceTag(id.Kind)]
				o.Records = slices.Clone(o.Records)
				for i := range o.Records {
					o.Records[i].RecentlyCreated = c.Zones.wasRecentlyCreated(o.Records[i].Name, o.Records[i].Value)
				}
				out = append(out, o.OwnCertificate)
			}
		}
	})
	return out, nil
}

// OwnedCertificates returns the tags of the certificates that the controller has requested or imported for the cluster, by
// ARN. It omits types of certificates that the configuration does not enable. The result is nil if no type is enabled or ACM
// denies the calls.
func (c *Certificates) OwnedCertificates(ctx context.Context) (map[string]map[string]string, error) {
	if !c.Config.ManagedCertificates && !c.Config.ImportedCertificates {
		return nil, nil
	}
	if err := c.refreshOwnCertificates(ctx); sdk.ClassOf(err) == failure.Denied {
		return nil, nil // the caller can still report orphans that are not certificates
	} else if err != nil {
		return nil, err
	}
	out := map[string]map[string]string{}
	c.WithLock(func() {
		for _, o := range c.certs.ownCertificates {
			out[o.ARN] = o.tags
		}
	})
	return out, nil
}

// refreshOwnCertificates reads the certificates of the cluster, unless they were read within the refresh period. The period
// is shorter while a certificate is pending validation.
func (c *Certificates) refreshOwnCertificates(ctx context.Context) error {
	fresh := func() (ok bool) {
		c.WithLock(func() {
			age := c.Config.Refresh
			for _, o := range c.certs.ownCertificates {
				switch {
				case o.Status != observed.CertificatePendingValidation:
				case o.RecordsMissing:
					age = min(age, durations.PolledFactAge)
				default:
					age = min(age, durations.PendingOperationAge)
				}
			}
			ok = c.IsYounger(c.certs.ownReadAt, age)
		})
		return ok
	}
	return sdk.ReadOnce(ctx, c.ReadOptional, model.AskOwnCertificates{}.Key(), fresh, func() error {
		start := c.Config.Clock.Now()
		own, foreign, err := c.readOwnCertificates(ctx)
		if err != nil {
			return err
		}
		c.WithLock(func() { c.certs.ownCertificates, c.certs.importedByOthers, c.certs.ownReadAt = own, foreign, start })
		return nil
	})
}

// readOwnCertificates reads the certificates of the cluster. foreign is the number of imported certificates of other owners.
func (c *Certificates) readOwnCertificates(ctx context.Context) (out []ownCertificate, foreign int, err error) {
	begun := c.Config.Clock.Now()
	err = forEachListedCertificate(sdk.WithOptional(ctx), c.API.ACM, nil, func(s acmtypes.CertificateSummary) error {
		if !c.Config.ManagesCertificateType(s.Type) {
			return nil
		}
		tags, err := c.readCertificateTags(ctx, aws.ToString(s.CertificateArn))
		if err != nil {
			return err
		}
		imported := s.Type == acmtypes.CertificateTypeImported
		if !naming.BelongsToCluster(c.Config.Cluster, tags) {
			if imported {
				foreign++
			}
			return nil
		}
		read := c.readOwnCertificate
		if imported {
			read = c.readImported
		}
		x, err := read(ctx, s)
		if err == nil {
			x.tags = tags
			out = append(out, x)
		}
		return err
	})
	if err != nil {
		return nil, 0, err
	}
	c.WithLock(func() { out = c.certs.withRecentWrites(out, begun) })
	return out, foreign, nil
}

// readOwnCertificate returns the certificate that entry s of ACM's list describes. If the certificate is not issued, or the
// entry does not have all domains, it also reads the details. Validation records never change, so a certificate whose
// records are known is read less often.
func (c *Certificates) readOwnCertificate(ctx context.Context, s acmtypes.CertificateSummary) (ownCertificate, error) {
	out := ownCertificate{OwnCertificate: observed.OwnCertificate{
		ARN: aws.ToString(s.CertificateArn), Status: string(s.Status), Domains: s.SubjectAlternativeNameSummaries, Created: aws.ToTime(s.CreatedAt),
		Public: s.Type == acmtypes.CertificateTypeAmazonIssued,
	}, issuedAt: aws.ToTime(s.IssuedAt)}
	if out.Status == observed.CertificateIssued && len(out.Domains) > 0 && !aws.ToBool(s.HasAdditionalSubjectAlternativeNames) {
		return out, nil
	}
	var known ownCertificate
	c.WithLock(func() {
		if i := slices.IndexFunc(c.certs.ownCertificates, func(o ownCertificate) bool { return o.ARN == out.ARN }); i >= 0 {
			known = c.certs.ownCertificates[i]
		}
	})
	if known.Status == out.Status && !known.RecordsMissing && c.IsYounger(known.describedAt, durations.PendingOperationAge) {
		return known, nil
	}
	out.describedAt = c.Config.Clock.Now()
	res, err := c.API.ACM.DescribeCertificate(sdk.WithOptional(ctx), &acm.DescribeCertificateInput{CertificateArn: s.CertificateArn})
	if err != nil {
		return out, fmt.Errorf("read certificate %s: %w", out.ARN, err)
	}
	if d := res.Certificate; d != nil {
		out.Status, out.Domains, out.Created, out.Failure = string(d.Status), d.SubjectAlternativeNames, aws.ToTime(d.CreatedAt), string(d.FailureReason)
		if out.Status == observed.CertificatePendingValidation {
			complete := false
			out.Records, complete = validationRecords(d)
			out.RecordsMissing = !complete
		}
	}
	return out, nil
}

// forgetLists makes the next run read all lists of certificates again.
func (c *Certificates) forgetLists() {
	c.WithLock(func() { c.certs.ownReadAt = time.Time{} })
	c.issued.Expire()
	c.public.Expire()
}

// RequestCertificate requests a certificate. The idempotency token makes ACM return the same certificate if the answer
// to an earlier request was lost.
func (c *Certificates) RequestCertificate(ctx context.Context, a plan.RequestCertificate) (plan.StepResult, error) {
	sum := sha256.Sum256([]byte(c.Config.Cluster + " " + a.Token))
	in := &acm.RequestCertificateInput{
		DomainName: aws.String(a.Domain), SubjectAlternativeNames: a.Hosts, CertificateAuthorityArn: convert.NilIfEmpty(a.CA),
		ValidationMethod: acmtypes.ValidationMethodDns, IdempotencyToken: aws.String(hex.EncodeToString(sum[:16])),
	}
	for _, t := range convert.TagsToAWS(a.Tags) {
		in.Tags = append(in.Tags, acmtypes.Tag{Key: t.Key, Value: t.Value})
	}
	out, err := c.API.ACM.RequestCertificate(ctx, in)
	c.forgetLists()
	if err != nil {
		return plan.StepResult{}, fmt.Errorf("request a certificate for %s: %w", a.Domain, err)
	}
	return plan.StepResult{ID: aws.ToString(out.CertificateArn)}, nil
}

// isOwn reports whether the cluster requested or imported a certificate. The caller holds the lock.
func (k *certificateCache) isOwn(arn string) bool {
	return slices.ContainsFunc(k.ownCertificates, func(o ownCertificate) bool { return o.ARN == arn })
}

// DeleteCertificate deletes a certificate of the cluster. It succeeds if the certificate does not exist any more.
func (c *Certificates) DeleteCertificate(ctx context.Context, a plan.DeleteCertificate) error {
	own := false
	c.WithLock(func() { own = c.certs.isOwn(a.ARN) })
	if !own {
		return sdk.NewError(failure.Conflict, "delete certificate "+a.ARN, "the certificate is not one of those that cluster %s requested or imported", c.Config.Cluster)
	}
	_, err := c.API.ACM.DeleteCertificate(ctx, &acm.DeleteCertificateInput{CertificateArn: aws.String(a.ARN)})
	if err != nil && !sdk.IsGone(err) {
		if sdk.ClassOf(err) != failure.InUse {
			c.forgetLists()
		}
		return fmt.Errorf("delete certificate %s: %w", a.ARN, err)
	}
	c.forgetLists()
	c.recordWrite(certificateWrite{ownCertificate: ownCertificate{OwnCertificate: observed.OwnCertificate{ARN: a.ARN}}, deleted: true, writtenAt: c.Config.Clock.Now()})
	c.validations.Forget(model.AskValidation{ARN: a.ARN}.Key())
	return nil
}
