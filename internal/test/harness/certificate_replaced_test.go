package harness

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestCertificateIsReplacedAtCertificateQuota checks a load balancer whose quota is used up because a member with a
// higher priority names too many certificates. If another member replaces a certificate, the new one takes the place
// of the old one. No other call comes between removal and addition, and an event reports the replacement.
func TestCertificateIsReplacedAtCertificateQuota(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		host string
		more int // number of further certificates of the victim's namespace
	}{
		"same host": {host: "victim.example.org"}, "other host": {host: "other.example.org"}, "other host, it has more": {host: "other.example.org", more: 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				setQuota(r, "certificates-per-application-load-balancer", 4+c.more)
				stay := []string{importCertificate(r, "first.example.org")}
				for i := range c.more {
					stay = append(stay, importCertificate(r, fmt.Sprintf("s%d.example.org", i)))
				}
				old, successor := importCertificate(r, "victim.example.org"), importCertificate(r, c.host)
				var theirs []string
				for i := range 6 {
					theirs = append(theirs, importCertificate(r, fmt.Sprintf("t%d.example.org", i)))
				}
				r.Apply(shop, readyPods("web", podAddresses[:3]...), neighbourNamespace, memberWithCertificates("shop", "other", "1", "first.example.org", stay...))
				settleWithoutErrors(t, r)
				r.Apply(memberWithCertificates("shop", "victim", "10", "victim.example.org", old))
				settleWithoutErrors(t, r)
				r.Apply(memberWithCertificates("team", "front", "-1000", "team.example.org", theirs...))
				r.Settle(time.Hour)
				want := attachedCertificates(r)
				r.Emulator.Calls().Reset()
				r.Apply(memberWithCertificates("shop", "victim", "10", c.host, successor))
				r.Settle(time.Minute)
				want[slices.Index(want, old)] = successor
				for range 2 {
					if got := attachedCertificates(r); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(want))) {
						t.Fatalf("attached are %s, not %s", got, want)
					}
					r.Settle(time.Hour)
				}
				var calls []string
				for _, e := range r.Emulator.Calls().Entries() {
					if e.Mutating {
						calls = append(calls, e.Operation+" "+e.Code)
					}
				}
				if i := slices.Index(calls, "RemoveListenerCertificates "); i < 0 || calls[i+1] != "AddListenerCertificates " {
					t.Errorf("calls: %q", calls)
				}
				if got := strings.Join(warningsByObject(r)["victim"], "\n"); !strings.Contains(got, `the quota of certificates is reached; certificate "`+successor+`" replaces certificate "`+old+`"`) {
					t.Errorf("events:\n%s", got)
				}
			})
		})
	}
}
