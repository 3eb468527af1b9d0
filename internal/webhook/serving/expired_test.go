package serving

import (
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// TestAnExpiredCertificateIsReplacedByTheFirstSync checks that the first Sync replaces a certificate that expired while no
// process ran, and that each replica serves the new certificate after its next Sync. The API server trusts each served
// certificate.
func TestAnExpiredCertificateIsReplacedByTheFirstSync(t *testing.T) {
	a := newFakeAPIServer(t)
	a.createConfigurations(nil)
	at, now := newTestClock()
	a.mustSync(a.newKeeper(now))
	*at = startTime.Add(2 * durations.CertificateLifetime)
	one, two := a.newKeeper(now), a.newKeeper(now)
	a.mustSync(one)
	a.mustSync(two)
	for _, path := range []string{mutatingPath, validatingPath} {
		for _, k := range []*CertificateKeeper{one, two} {
			if !isTrusted(a.bundle(path, 0), k.Certificate(), *at) {
				t.Errorf("the certificate is not trusted by the bundle of %s", path)
			}
		}
	}
	if left := one.Certificate().Leaf.NotAfter.Sub(*at); left < durations.CertificateLifetime-time.Hour {
		t.Errorf("the new certificate is valid for only %s", left)
	}
	t.Logf("BENCH webhook certificate expired: replaced and trusted at the first look, which is at the start, and every %s while the process runs", durations.LongInterval)
}
