package explain

import (
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

// TestExplainShowsSecretOfImportedCertificate checks that the command explain shows the Secret of an imported certificate.
func TestExplainShowsSecretOfImportedCertificate(t *testing.T) {
	source := resolved.CertificateSource{Member: finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "web"}, Field: "spec.tls[0]", Search: resolved.CertificateManaged, ARNs: []string{"arn:c"}}
	for id, want := range map[string]bool{naming.ImportedCertificateID("shop", "web-tls"): true, "amazon_issued/x": false} {
		facts := observed.Facts{OwnCertificates: []observed.OwnCertificate{{ARN: "arn:c", ResourceID: id}}}
		got := certificateText(explainCertificate(source, "arn:c", facts)[0])
		if strings.Contains(got, ", imported from Secret shop/web-tls") != want || !strings.Contains(got, "arn:c (default)") {
			t.Errorf("%s: %s", id, got)
		}
	}
}
