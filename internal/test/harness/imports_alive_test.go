package harness

import (
	"crypto/elliptic"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// issueValidFor returns YAML of a TLS Secret with a new certificate for host. The certificate is valid for the given
// duration from now. name is the name of the Secret.
func (i *issuer) issueValidFor(valid time.Duration, name, host string) string {
	key := newECKey(i.t, elliptic.P256())
	leaf := i.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: host}, DNSNames: []string{host}, NotBefore: time.Now().Add(-time.Minute), NotAfter: time.Now().Add(valid),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, key)
	return i.secret(name, certificatePEM(leaf), i.keyPEM(key))
}

// expiredCertificates returns the resource tags of the imported certificates in ACM that have expired.
func expiredCertificates(r *Harness) (out []string) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	for _, c := range w.Partition(Account, Region).ACM.Certificates {
		for _, tag := range []string{"ingress.k8s.aws/resource", "gateway.k8s.aws.alb/resource"} {
			if id := c.Tags[tag]; id != "" && time.Now().After(c.NotAfter) {
				out = append(out, id)
			}
		}
	}
	return out
}

// TestImportLimitLetsNoCertificateExpire checks certificates that are valid for one hour and renewed every two minutes.
// They are imported rarely, but always before the imported certificate expires.
func TestImportLimitLetsNoCertificateExpire(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		r := shopWith(t, importOptions(Options{StacksOnly: true}))
		names := []string{"a", "b", "c", "d", "e", "f"}
		renew := func() {
			for _, n := range names {
				r.Apply(i.issueValidFor(time.Hour, n, n+".example.com"))
			}
		}
		r.Apply(shop, readyPods("web", podAddresses[:3]...))
		renew()
		r.Apply(withTLS("", names...))
		hours := seeds.Amount(4, 10)
		for m := range hours * 30 {
			r.Settle(2 * time.Minute)
			if out := expiredCertificates(r); len(out) > 0 {
				t.Fatalf("after %d minutes these certificates have expired: %v: %v", 2*m, out, warningsByObject(r)["web"])
			}
			renew()
		}
		// Each certificate has five imports at once, and then at most four in three hours.
		if n := r.Emulator.Calls().Count("ImportCertificate"); n > len(names)*(5+hours*4/3+1) {
			t.Errorf("%d imports in %d hours", n, hours)
		}
	})
}

// TestRejectedImportReportsExpiry checks that, while AWS rejects imports because of a quota, the listener conditions
// report until when the certificate in use is valid. Further attempts create no new Event objects.
func TestRejectedImportReportsExpiry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		opt := importOptions(Options{})
		opt.Ingress = nil
		opt.Gateway = func(o *gateways.Options) { o.ImportCertificates = true }
		r := shopWith(t, opt)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), i.issueValidFor(6*time.Hour, "shop", "shop.example.com"), i.issueValidFor(6*time.Hour, "api", "api.example.com"),
			strings.Replace(secureGateway, "{name: api, namespace: vault}", "{name: api}", 1))
		ends := time.Now().Add(6 * time.Hour).UTC().Format(time.RFC3339)
		r.Settle(time.Hour)
		listener := func(index int) metav1.Condition {
			t.Helper()
			gw, _ := r.Store.Get(cluster.Ref{Kind: cluster.KindGateway, Namespace: "shop", Name: "edge"})
			return conditionNamed(gw.(*gwv1.Gateway).Status.Listeners[index].Conditions, "ResolvedRefs")
		}
		for n := range 3 {
			if c := listener(n); c.Status != metav1.ConditionTrue {
				t.Errorf("listener %d before: %+v", n, c)
			}
		}
		r.Emulator.Faults().Add(fault.Rule{Service: "acm", Operation: "ImportCertificate", Action: fault.Action{
			Error: &store.Error{Code: "LimitExceededException", Status: 400, Message: "You have imported the maximum number of certificates within a year."}}})
		r.Apply(i.issueValidFor(6*time.Hour, "shop", "shop.example.com"), i.issueValidFor(6*time.Hour, "api", "api.example.com"))
		r.Settle(time.Hour)
		for n, secret := range map[int]string{1: "shop/shop", 2: "shop/api"} {
			want := fmt.Sprintf("the certificate that was imported before is still used, and its expiry time is %s", ends)
			c := listener(n)
			if c.Status != metav1.ConditionFalse || c.Reason != "QuotaReached" || !strings.Contains(c.Message, want) || !strings.Contains(c.Message, secret) {
				t.Errorf("listener %d: %+v, want %s", n, c, want)
			}
		}
		events := len(r.Store.All("Event"))
		r.Settle(2 * time.Hour)
		if more := len(r.Store.All("Event")); more > events {
			t.Errorf("%d events, %d after two hours: %v", events, more, warningsByObject(r)["edge"])
		}
		r.Emulator.Faults().Reset()
		r.Settle(time.Hour)
		for n := range 3 {
			if c := listener(n); c.Status != metav1.ConditionTrue {
				t.Errorf("listener %d after AWS accepts imports: %+v", n, c)
			}
		}
	})
}

// TestJustImportedCertificateIsAwaited checks that no event warns about a certificate that was just imported and that
// Elastic Load Balancing does not know yet, and that the certificate serves as soon as it is known.
func TestJustImportedCertificateIsAwaited(t *testing.T) {
	t.Parallel()
	for _, code := range []string{"CertificateNotFound", "UnsupportedCertificate"} {
		t.Run(code, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				i := newIssuer(t)
				r := shopWith(t, importOptions(Options{}))
				r.Emulator.Faults().Add(fault.Rule{Operation: "CreateListener", Count: 2, Action: fault.Action{Error: &store.Error{Code: code, Status: 400, Message: "no"}}})
				r.Apply(shop, readyPods("web", podAddresses[:3]...), i.issue("vault", elliptic.P256(), "vault.test"), vaultIngress("shop", ingressAnnotations("listen-ports", `[{"HTTPS":443}]`), vaultTLS))
				r.Settle(time.Minute)
				if diff := cmp.Diff([]string{"shop/web: vault.test 02"}, namedListenerCertificates(r)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if w := warningsByObject(r)["web"]; len(w) > 0 {
					t.Errorf("warnings: %v", w)
				}
			})
		})
	}
}
