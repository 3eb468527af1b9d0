package cli

import (
	"strings"
	"testing"

	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
)

// TestDoctorReportsCertificatesWithoutRenewal checks that doctor reports how many imported certificates are not renewed,
// and that --import-tls-secrets would renew them.
func TestDoctorReportsCertificatesWithoutRenewal(t *testing.T) {
	em, flags := startEmulator(t)
	server, config := serveCluster(t, classYAML)
	server.addHealthyCluster(t)
	w := em.Store()
	w.Lock()
	all := w.Partition(harness.Account, harness.Region).ACM.Certificates
	for arn, tags := range map[string]map[string]string{
		"1": {"ingress.k8s.aws/stack": "shop/web", "ingress.k8s.aws/resource": "imported/shop/a"},
		"2": {"ingress.k8s.aws/stack": "shop/web", "ingress.k8s.aws/resource": "imported/shop/b"},
		"3": {"gateway.k8s.aws.nlb/stack": "shop/edge", "gateway.k8s.aws.nlb/resource": "imported/shop/a"},
		"4": {}, // of another owner
	} {
		if len(tags) > 0 {
			tags["elbv2.k8s.aws/cluster"] = harness.ClusterName
		}
		arn = "arn:aws:acm:us-west-2:123456789012:certificate/00000000-0000-0000-0000-00000000000" + arn
		all[arn] = &store.Certificate{ARN: arn, Domain: "vault.test", Names: []string{"vault.test"}, Type: acmtypes.CertificateTypeImported, Status: acmtypes.CertificateStatusIssued, Algorithm: acmtypes.KeyAlgorithmEcPrime256v1, Tags: tags}
	}
	w.Unlock()
	for _, c := range []struct {
		flag string
		want []string
	}{
		{"", []string{
			"warning certificates 2 imported certificates of TLS Secrets of Ingresses are not renewed, because --import-tls-secrets does not name \"ingress\"; start the controller with --import-tls-secrets=ingress",
			"warning certificates 1 imported certificate of TLS Secrets of Gateways ",
		}},
		{"--import-tls-secrets=gateway", []string{"warning certificates 2 imported", "ok      certificates 1 imported certificate of TLS Secrets of Gateways\n"}},
	} {
		more := []string{}
		if c.flag != "" {
			more = append(more, c.flag)
		}
		_, out := runDoctor(t, config, flags, more...)
		for _, want := range c.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: %q is missing in\n%s", c.flag, want, out)
			}
		}
	}
}
