package controller

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
)

// TestRuleAndAuthorityFlagsReachOptions checks that --disable-restricted-sg-rules applies to Ingresses, Services and Gateways,
// and that --allowed-certificate-authority-arns applies to plans.
func TestRuleAndAuthorityFlagsReachOptions(t *testing.T) {
	c := config.Default()
	for _, on := range []bool{false, true} {
		c.Security.UnrestrictedRules = on
		for kind, got := range map[string]bool{
			"Ingress": ingressOptions(c).UnrestrictedRules, "Service": serviceOptions(c).UnrestrictedRules, "Gateway": gatewayOptions(c).UnrestrictedRules,
		} {
			if got != on {
				t.Errorf("%s: unrestricted %v, want %v", kind, got, on)
			}
		}
	}
	c.Ingress.CertificateAuthorities = []string{"arn:aws:acm-pca:us-west-2:123456789012:certificate-authority/x"}
	if d := cmp.Diff(c.Ingress.CertificateAuthorities, PlanOptions(c, "vpc-1").AllowedCAs); d != "" {
		t.Error(d)
	}
}
