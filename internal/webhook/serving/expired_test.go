package serving

import (
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// If no process ran until the certificate of the webhooks had expired, the first Sync replaces it, and each replica
// serves the new certificate after its next Sync. The API server trusts each served certificate.
func TestAnExpiredCertificateIsReplacedByTheFirstSync(t *testing.T) {
	a := newAPI(t)
	a.configure(nil)
	at, now := newTestClock()
	a.mustSync(a.keeper(now))
	*at = start.Add(2 * durations.Lifetime)
	one, two := a.keeper(now), a.keeper(now)
	a.mustSync(one)
	a.mustSync(two)
	for _, path := range []string{mutating, validating} {
		for _, k := range []*Keeper{one, two} {
			if !isTrusted(a.bundle(path, 0), k.Certificate(), *at) {
				t.Errorf("the certificate is not trusted by the bundle of %s", path)
			}
		}
	}
	if left := one.Certificate().Leaf.NotAfter.Sub(*at); left < durations.Lifetime-time.Hour {
		t.Errorf("it lives for %s", left)
	}
	t.Logf("BENCH webhook certificate expired: replaced and trusted at the first look, which is at the start, and every %s while the process runs", durations.LongInterval)
}
