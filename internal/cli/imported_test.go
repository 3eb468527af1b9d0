package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// A certificate that was imported is shown with its Secret, whichever answer of AWS says so, and no other one.
func TestImportedCertificatesAreShownWithTheirSecret(t *testing.T) {
	id := naming.ImportedCertificateID("shop", "web-tls")
	for name, tc := range map[string]struct {
		facts observed.Facts
		want  string
	}{
		"own":       {observed.Facts{OwnCertificates: []observed.OwnCertificate{{ARN: "arn:other", ResourceID: "imported/a/b"}, {ARN: "arn:c", ResourceID: id}}}, "shop/web-tls"},
		"owner":     {observed.Facts{CertificateOwners: map[string]observed.CertificateOwner{"arn:c": {ResourceID: id}}}, "shop/web-tls"},
		"listed":    {observed.Facts{Certificates: []observed.Certificate{{ARN: "arn:c", Owner: &observed.CertificateOwner{ResourceID: id}}}}, "shop/web-tls"},
		"requested": {observed.Facts{OwnCertificates: []observed.OwnCertificate{{ARN: "arn:c", ResourceID: "amazon_issued/x"}}}, ""},
		"unknown":   {observed.Facts{}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			var tree bytes.Buffer
			treeText{w: &tree}.certificate(newComparer(engine.Draft{}, tc.facts, behind{}).certificate("arn:c", live, true))
			source := resolved.CertificateSource{Member: finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "web"}, Field: "spec.tls[0]", How: resolved.CertificateOwn, ARNs: []string{"arn:c"}}
			explained := certificateText(explainCertificate(source, "arn:c", tc.facts)[0])
			for _, got := range []string{tree.String(), explained} {
				if strings.Contains(got, ", imported from Secret shop/web-tls") != (tc.want != "") || !strings.Contains(got, "arn:c (default)") {
					t.Error(got)
				}
			}
		})
	}
}
