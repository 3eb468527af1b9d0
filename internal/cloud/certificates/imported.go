package certificates

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/convert"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/durations"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/model/certificate"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// importedCertificate is the content of an imported certificate. It is read again if the entry in the list of ACM changes.
type importedCertificate struct {
	identity    model.CertificateIdentity
	summary     importedSummary // the entry in the list of ACM when the certificate was read
	readAgainAt time.Time       // when the certificate must be read again
}

// importedSummary has the times of an imported certificate in ACM's list. Each import changes at least one of these times.
type importedSummary struct{ importedAt, notBefore, notAfter time.Time }

func summaryOf(s acmtypes.CertificateSummary) importedSummary {
	return importedSummary{aws.ToTime(s.ImportedAt), aws.ToTime(s.NotBefore), aws.ToTime(s.NotAfter)}
}

// readImported returns the imported certificate of the cluster that entry s of ACM's list describes. It reads the content
// again if the entry has changed, and after durations.UnchangingFactAge.
func (c *Certificates) readImported(ctx context.Context, s acmtypes.CertificateSummary) (ownCertificate, error) {
	out := ownCertificate{OwnCertificate: observed.OwnCertificate{
		ARN: aws.ToString(s.CertificateArn), Status: string(s.Status), Domains: s.SubjectAlternativeNameSummaries, Created: aws.ToTime(s.CreatedAt),
	}}
	var known importedCertificate
	c.WithLock(func() { known = c.certs.importedContents[out.ARN] })
	now := c.Config.Clock.Now()
	if summary := summaryOf(s); known.summary != summary || !now.Before(known.readAgainAt) {
		res, err := c.API.ACM.GetCertificate(sdk.WithOptional(ctx), &acm.GetCertificateInput{CertificateArn: s.CertificateArn})
		if err != nil {
			return out, fmt.Errorf("read certificate %s: %w", out.ARN, err)
		}
		known = importedCertificate{summary: summary, readAgainAt: now.Add(durations.UnchangingFactAge)}
		// The zero identity of a certificate that cannot be parsed differs from any desired identity.
		known.identity, _ = certificate.Identify(aws.ToString(res.Certificate), aws.ToString(res.CertificateChain))
		c.WithLock(func() { c.certs.importedContents[out.ARN] = known })
	}
	out.ImportedIdentity = &known.identity
	return out, nil
}

// certificateWrite is an import or a deletion that ACM's list may not show yet.
type certificateWrite struct {
	ownCertificate
	deleted   bool
	writtenAt time.Time
}

// withRecentWrites applies the imports and deletions of the last settle window to a list of certificates, and drops older
// imports and deletions from the cache. begun is the time at which reading the list began. The caller holds the lock.
func (k *certificateCache) withRecentWrites(own []ownCertificate, begun time.Time) []ownCertificate {
	for arn, w := range k.recentWrites {
		if begun.Sub(w.writtenAt) > durations.SettleWindow {
			delete(k.recentWrites, arn)
			continue
		}
		own = slices.DeleteFunc(own, func(o ownCertificate) bool { return o.ARN == arn })
		if !w.deleted {
			own = append(own, w.ownCertificate)
		}
	}
	slices.SortFunc(own, func(a, b ownCertificate) int { return strings.Compare(a.ARN, b.ARN) })
	return own
}

// ImportCertificate imports a certificate. If a.ARN is empty, the import creates a new certificate. Otherwise it replaces
// the content of the certificate with this ARN, which the cluster has imported.
func (c *Certificates) ImportCertificate(ctx context.Context, a plan.ImportCertificate) (plan.StepResult, error) {
	what := "import the certificate of Secret " + a.Secret
	in := &acm.ImportCertificateInput{
		Certificate: []byte(a.Content.Body), PrivateKey: []byte(a.Content.Key.Reveal()), CertificateArn: convert.NilIfEmpty(a.ARN),
	}
	if a.Content.Chain != "" {
		in.CertificateChain = []byte(a.Content.Chain)
	}
	w := certificateWrite{ownCertificate: ownCertificate{tags: a.Tags, OwnCertificate: observed.OwnCertificate{Status: observed.CertificateIssued, Created: c.Config.Clock.Now()}}}
	if a.ARN == "" {
		for _, t := range convert.TagsToAWS(a.Tags) {
			in.Tags = append(in.Tags, acmtypes.Tag{Key: t.Key, Value: t.Value})
		}
	} else {
		known := false
		c.WithLock(func() {
			i := slices.IndexFunc(c.certs.ownCertificates, func(o ownCertificate) bool { return o.ARN == a.ARN && o.ImportedIdentity != nil })
			if known = i >= 0; known {
				w.ownCertificate = c.certs.ownCertificates[i]
			}
		})
		if !known {
			return plan.StepResult{}, sdk.NewError(failure.Conflict, what, "certificate %s is not one of the certificates that cluster %s imported", a.ARN, c.Config.Cluster)
		}
	}
	// The call has only one attempt. ACM has no idempotency token for imports, so a second attempt could import a second
	// certificate. Without this option, the SDK would also retry if a quota is exceeded. After a failure, the next run reads
	// which certificates exist.
	out, err := c.API.ACM.ImportCertificate(ctx, in, func(o *acm.Options) { o.Retryer = aws.NopRetryer{} })
	if err != nil {
		if class := sdk.ClassOf(err); sdk.MayHaveTakenEffect(err) || class == failure.Gone || class == failure.Conflict {
			c.forgetLists()
		}
		return plan.StepResult{}, fmt.Errorf("%s: %w", what, err)
	}
	w.ARN, w.Domains, w.ImportedIdentity, w.writtenAt = aws.ToString(out.CertificateArn), a.Content.Is.Names, &a.Content.Is, c.Config.Clock.Now()
	c.recordWrite(w)
	return plan.StepResult{ID: w.ARN}, nil
}

// IsNew reports whether this process imported a certificate within the settle window, or ACM has just issued it for the
// cluster. Elastic Load Balancing may not know the certificate yet.
func (c *Certificates) IsNew(arn string) (isNew bool) {
	c.WithLock(func() {
		w := c.certs.recentWrites[arn]
		isNew = !w.deleted && c.IsYounger(w.writtenAt, durations.SettleWindow) || slices.ContainsFunc(c.certs.ownCertificates, func(o ownCertificate) bool {
			return o.ARN == arn && c.IsYounger(o.issuedAt, durations.JustCreatedAge)
		})
	})
	return isNew
}

// CountImportedByOwner returns three counts of imported certificates: all certificates of the account; the certificates of
// the owner of stack id, by the namespace of their Secrets; and the certificates of each other owner in the cluster. The
// owner of a stack is its namespace or its IngressGroup.
func (c *Certificates) CountImportedByOwner(id model.StackID) observed.Imports {
	out, others := observed.Imports{ByNamespace: map[string]int{}}, map[string]int{}
	c.WithLock(func() {
		out.AccountTotal = c.certs.importedByOthers
		for _, o := range c.certs.ownCertificates {
			if o.ImportedIdentity == nil {
				continue
			}
			out.AccountTotal++
			for _, k := range model.Kinds {
				namespace, ok := naming.NamespaceOfImport(o.tags[naming.ResourceTag(k)])
				switch owner := ownerOfStack(o.tags[naming.StackTag(k)]); {
				case !ok:
				case owner == cmp.Or(id.Namespace, id.Name):
					out.ByNamespace[namespace]++
				default:
					others[owner]++
				}
			}
		}
	})
	for _, owner := range slices.Sorted(maps.Keys(others)) {
		out.OtherTenants = append(out.OtherTenants, others[owner])
	}
	return out
}

// ownerOfStack returns the namespace or IngressGroup of a stack. tag is the value of the stack tag.
func ownerOfStack(tag string) string {
	owner, _, _ := strings.Cut(tag, "/")
	return owner
}

// recordWrite records an import or a deletion, and applies it to the cached certificates of the cluster.
func (c *Certificates) recordWrite(w certificateWrite) {
	c.WithLock(func() {
		c.certs.recentWrites[w.ARN] = w
		c.certs.ownCertificates = c.certs.withRecentWrites(slices.Clone(c.certs.ownCertificates), c.Config.Clock.Now())
	})
}

// PrivateKeyForms returns the forms in which an error message might quote a private key: the PEM text, its base64 encoding,
// and each line between the PEM header and footer.
func PrivateKeyForms(key model.Secret) []string {
	text := key.Reveal()
	out := []string{text, base64.StdEncoding.EncodeToString([]byte(text))}
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "-----") {
			out = append(out, line)
		}
	}
	return out
}
