package elbv2

import (
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// TestCertificateNeedsFullyQualifiedDomainName checks which certificates have a fully qualified domain name. The name may
// begin with an asterisk.
func TestCertificateNeedsFullyQualifiedDomainName(t *testing.T) {
	for _, c := range []struct {
		domain string
		names  []string
		want   bool
	}{
		{"www.example.com", nil, true},
		{"example.com", nil, true},
		{"*.example.com", nil, true},
		{"default", []string{"www.example.com"}, true},
		{"", []string{"www.example.com"}, true},
		{"default", nil, false},
		{"default", []string{"*"}, false},
		{"localhost", []string{"web"}, false},
		{"", nil, false},
		{"web.", nil, false},
		{".com", nil, false},
		{"www.*.com", nil, false},
	} {
		if got := hasQualifiedName(&store.Certificate{Domain: c.domain, Names: c.names}); got != c.want {
			t.Errorf("%q with names %q: %t, want %t", c.domain, c.names, got, c.want)
		}
	}
}
