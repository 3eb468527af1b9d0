package assemble

import (
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

func TestEarlierClaimsOfCertificateHosts(t *testing.T) {
	victim, attacker := finding.Ref{Kind: "Ingress", Namespace: "a", Name: "x"}, finding.Ref{Kind: "Ingress", Namespace: "b", Name: "y"}
	c := &HostClaims{}
	for _, h := range []string{"shop.example.com", "*.apps.example.com", "Big.example.org"} {
		c.Add(h, victim, 1)
	}
	c.Add("late.example.com", victim, 3)
	c.Add("shop.example.com", attacker, 2)
	c.Add("mine.example.com", attacker, 2)
	for name, want := range map[string]string{
		"shop.example.com":     "shop.example.com",
		"*.example.com":        "shop.example.com",
		"x.apps.example.com":   "*.apps.example.com",
		"*.apps.example.com":   "*.apps.example.com",
		"big.example.org":      "big.example.org",
		"*.example.org":        "big.example.org",
		"mine.example.com":     "",
		"late.example.com":     "",
		"example.com":          "",
		"a.shop.example.com":   "",
		"apps.example.com":     "",
		"*.shop.example.com":   "",
		"x.y.apps.example.com": "",
	} {
		if got, by := c.earlierClaim(name, "b", 2); got != want || want != "" && by != victim {
			t.Errorf("%s: %q of %s, want %q", name, got, by, want)
		}
		if got, _ := c.earlierClaim(name, "a", 1); got != "" {
			t.Errorf("%s of the victim: %q", name, got)
		}
	}
	alone := &HostClaims{}
	alone.Add("shop.example.com", victim, 1)
	if got, _ := alone.earlierClaim("*.example.com", "b", 2); got != "shop.example.com" {
		t.Errorf("a namespace without hosts gets %q", got)
	}
	var none *HostClaims
	if got, _ := none.earlierClaim("x", "a", 1); got != "" {
		t.Error("a claim is found although there are none")
	}
}
