package certificates

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// certificateTagsKey is the key under which failed reads of certificate tags are recorded. All certificates share the key,
// because a missing permission affects all of them.
const certificateTagsKey = "tags of certificates"

// certificateOwner returns the stack for which a controller requested or imported a certificate with these tags. The result
// is zero if the tags name no stack.
func certificateOwner(tags map[string]string) (out observed.CertificateOwner) {
	cluster, hasCluster := tags[naming.ClusterTag]
	for _, k := range model.Kinds {
		if stack, ok := tags[naming.StackTag(k)]; hasCluster && ok {
			return observed.CertificateOwner{Managed: true, Cluster: cluster, Kind: k, Stack: stack, ResourceID: tags[naming.ResourceTag(k)]}
		}
	}
	return out
}

// LookUpCertificateOwner returns the stack for which a controller requested or imported a certificate. The result is zero if
// there is no such stack, or if the certificate does not exist. If AWS denies reading the tags, the result is zero only for
// a certificate that is known not to be imported; otherwise AskCertificateOwner returns the error.
func (c *Certificates) LookUpCertificateOwner(ctx context.Context, q model.AskCertificateOwner) (observed.CertificateOwner, error) {
	err := c.ReadShared(ctx, q.Key(), func() error {
		return c.ReadOptionalPart(ctx, certificateTagsKey, func() error {
			_, err := c.readCertificateTags(ctx, q.ARN)
			return err
		})
	})
	switch {
	case sdk.IsGone(err):
		return observed.CertificateOwner{}, nil
	case sdk.FaultOf(err) != nil && sdk.ClassOf(err) == failure.Denied:
		if d, e := c.readCertificateDetail(ctx, q.ARN, ""); e == nil && d.kind != "" && d.kind != acmtypes.CertificateTypeImported {
			return observed.CertificateOwner{}, nil
		}
		return observed.CertificateOwner{}, err
	case err != nil:
		return observed.CertificateOwner{}, err
	}
	tags, err := c.readCertificateTags(ctx, q.ARN)
	if err != nil {
		return observed.CertificateOwner{}, err
	}
	out := certificateOwner(tags)
	if _, imported := naming.NamespaceOfImport(out.ResourceID); imported {
		if d, err := c.readCertificateDetail(ctx, q.ARN, acmtypes.CertificateTypeImported); err == nil {
			out.Names, out.NotAfter = d.domains, d.notAfter
		}
	}
	return out, nil
}

// CountImportedByKind counts the certificates that the cluster has imported from TLS Secrets, by the kind of their stack. It
// reads the tags of at most limit imported certificates of the account. notRead is the number of imported certificates whose
// tags were not read.
func (c *Certificates) CountImportedByKind(ctx context.Context, limit int) (of map[model.Kind]int, notRead int, err error) {
	of = map[model.Kind]int{}
	read := 0
	err = forEachListedCertificate(ctx, c.API.ACM, nil, func(s acmtypes.CertificateSummary) error {
		if s.Type != acmtypes.CertificateTypeImported {
			return nil
		}
		if read++; read > limit {
			notRead++
			return nil
		}
		tags, err := c.readCertificateTags(ctx, aws.ToString(s.CertificateArn))
		if err != nil {
			return err
		}
		o := certificateOwner(tags)
		if _, imported := naming.NamespaceOfImport(o.ResourceID); imported && o.Cluster == c.Config.Cluster {
			of[o.Kind]++
		}
		return nil
	})
	if err != nil {
		return nil, 0, err
	}
	return of, notRead, nil
}
