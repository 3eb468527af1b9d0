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

// importedCertificate is the content of an imported certificate. It is read again when ACM lists another content under the
// same ARN.
type importedCertificate struct {
	identity model.CertificateIdentity
	summary  importedSummary // as of the reading
	until    time.Time       // when the certificate is to be read again
}

// importedSummary is what ACM's list shows of an imported certificate. It changes with each import.
type importedSummary struct{ imported, notBefore, notAfter time.Time }

func summaryOf(s acmtypes.CertificateSummary) importedSummary {
	return importedSummary{aws.ToTime(s.ImportedAt), aws.ToTime(s.NotBefore), aws.ToTime(s.NotAfter)}
}

// readImported completes an entry of ACM's list that is about an imported certificate of the cluster. It reads the
// certificate if the entry has changed, and after durations.Unchanging.
func (c *Certificates) readImported(ctx context.Context, s acmtypes.CertificateSummary) (ownCertificate, error) {
	out := ownCertificate{OwnCertificate: observed.OwnCertificate{
		ARN: aws.ToString(s.CertificateArn), Status: string(s.Status), Domains: s.SubjectAlternativeNameSummaries, Created: aws.ToTime(s.CreatedAt),
	}}
	var known importedCertificate
	c.With(func() { known = c.certs.imported[out.ARN] })
	now := c.Config.Clock.Now()
	if summary := summaryOf(s); known.summary != summary || !now.Before(known.until) {
		res, err := c.API.ACM.GetCertificate(sdk.WithOptional(ctx), &acm.GetCertificateInput{CertificateArn: s.CertificateArn})
		if err != nil {
			return out, fmt.Errorf("read certificate %s: %w", out.ARN, err)
		}
		known = importedCertificate{summary: summary, until: now.Add(durations.Unchanging)}
		// The zero identity of a certificate that cannot be parsed differs from any desired identity.
		known.identity, _ = certificate.Identify(aws.ToString(res.Certificate), aws.ToString(res.CertificateChain))
		c.With(func() { c.certs.imported[out.ARN] = known })
	}
	out.Imported = &known.identity
	return out, nil
}

// writtenCertificate is an import or a deletion that ACM's list may not show yet.
type writtenCertificate struct {
	ownCertificate
	deleted bool
	at      time.Time
}

// withWritten applies the imports and deletions of the settle window to the certificates of a list whose reading began
// at the given time.
func (c *Certificates) withWritten(own []ownCertificate, begun time.Time) []ownCertificate {
	c.With(func() {
		for arn, w := range c.certs.written {
			if begun.Sub(w.at) > durations.Settle {
				delete(c.certs.written, arn)
				continue
			}
			own = slices.DeleteFunc(own, func(o ownCertificate) bool { return o.ARN == arn })
			if !w.deleted {
				own = append(own, w.ownCertificate)
			}
		}
	})
	slices.SortFunc(own, func(a, b ownCertificate) int { return strings.Compare(a.ARN, b.ARN) })
	return own
}

// ImportCertificate imports a certificate, as a new one or in place of an imported certificate of the cluster.
func (c *Certificates) ImportCertificate(ctx context.Context, a plan.ImportCertificate) (plan.Result, error) {
	what := "import the certificate of Secret " + a.Secret
	in := &acm.ImportCertificateInput{
		Certificate: []byte(a.Content.Body), PrivateKey: []byte(a.Content.Key.Reveal()), CertificateArn: convert.Optional(a.ARN),
	}
	if a.Content.Chain != "" {
		in.CertificateChain = []byte(a.Content.Chain)
	}
	w := writtenCertificate{ownCertificate: ownCertificate{tags: a.Tags, OwnCertificate: observed.OwnCertificate{Status: observed.Issued, Created: c.Config.Clock.Now()}}}
	if a.ARN == "" {
		for _, t := range convert.TagsToAWS(a.Tags) {
			in.Tags = append(in.Tags, acmtypes.Tag{Key: t.Key, Value: t.Value})
		}
	} else {
		known := false
		c.With(func() {
			i := slices.IndexFunc(c.certs.own, func(o ownCertificate) bool { return o.ARN == a.ARN && o.Imported != nil })
			if known = i >= 0; known {
				w.ownCertificate = c.certs.own[i]
			}
		})
		if !known {
			return plan.Result{}, sdk.Failed(failure.Conflict, what, "certificate %s is not known as a certificate that cluster %s imported", a.ARN, c.Config.Cluster)
		}
	}
	// The call has one attempt only. ACM has no idempotency token for imports, so a second attempt could import a second
	// certificate, and the SDK would also retry when a quota is full. The next run reads which certificates exist.
	out, err := c.API.ACM.ImportCertificate(ctx, in, func(o *acm.Options) { o.Retryer = aws.NopRetryer{} })
	if err != nil {
		if class := sdk.ClassOf(err); sdk.MayHaveTakenEffect(err) || class == failure.Gone || class == failure.Conflict {
			c.forgetOwnCertificates()
		}
		return plan.Result{}, fmt.Errorf("%s: %w", what, err)
	}
	w.ARN, w.Domains, w.Imported, w.at = aws.ToString(out.CertificateArn), a.Content.Is.Names, &a.Content.Is, c.Config.Clock.Now()
	c.noteWrite(w)
	return plan.Result{ID: w.ARN}, nil
}

// Imports counts the imported certificates: all of the account, those of stacks with the same owner as the given stack by
// namespace of their Secrets, and those of each other owner. The owner of a stack is its namespace or IngressGroup.
func (c *Certificates) Imports(id model.StackID) observed.Imports {
	out, others := observed.Imports{Of: map[string]int{}}, map[string]int{}
	c.With(func() {
		out.All = c.certs.foreign
		for _, o := range c.certs.own {
			if o.Imported == nil {
				continue
			}
			out.All++
			for _, k := range model.Kinds {
				namespace, ok := naming.NamespaceOfImport(o.tags[naming.ResourceTag(k)])
				switch owner := ownerOfStack(o.tags[naming.StackTag(k)]); {
				case !ok:
				case owner == cmp.Or(id.Namespace, id.Name):
					out.Of[namespace]++
				default:
					others[owner]++
				}
			}
		}
	})
	for _, owner := range slices.Sorted(maps.Keys(others)) {
		out.Others = append(out.Others, others[owner])
	}
	return out
}

// ownerOfStack returns the namespace of a stack, or its IngressGroup, from its tag.
func ownerOfStack(tag string) string {
	owner, _, _ := strings.Cut(tag, "/")
	return owner
}

// noteWrite records an import or a deletion.
func (c *Certificates) noteWrite(w writtenCertificate) {
	var own []ownCertificate
	c.With(func() {
		c.certs.written[w.ARN] = w
		own = slices.Clone(c.certs.own)
	})
	own = c.withWritten(own, c.Config.Clock.Now())
	c.With(func() { c.certs.own = own })
}

// PrivateKeyForms returns the forms in which an error might quote a private key.
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
