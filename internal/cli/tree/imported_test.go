package tree

import (
	"bytes"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// TestImportedCertificatesAreShownWithTheirSecret checks that an imported certificate is shown with its Secret, whichever of
// the facts from AWS has its tags. Other certificates are shown without a Secret.
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
			var text bytes.Buffer
			TextWriter{W: &text}.writeCertificate(NewComparer(engine.Draft{}, tc.facts, ClusterTargets{}).certificate("arn:c", stateLive, true))
			if got := text.String(); strings.Contains(got, ", imported from Secret shop/web-tls") != (tc.want != "") || !strings.Contains(got, "arn:c (default)") {
				t.Error(got)
			}
		})
	}
}
