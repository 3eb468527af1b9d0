package harness

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// importOptions returns opt with the settings for a controller that imports TLS Secrets of Ingresses. It replaces
// opt.Ingress, opt.Plan and opt.Cloud.
func importOptions(opt Options) Options {
	opt.Ingress = func(o *ingress.Options) { o.ImportCertificates = true }
	opt.Plan = func(o *plan.Options) { o.ImportCertificates = true }
	opt.Cloud = func(c *cloud.Config) { c.ImportedCertificates = true }
	return opt
}

// issuer is a certificate authority that issues TLS Secrets like those of cert-manager.
type issuer struct {
	t      *testing.T
	key    crypto.Signer
	cert   *x509.Certificate
	serial int64
	keys   []string // PEM of all private keys in issued Secrets
}

func newIssuer(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{t: t, key: newECKey(t, elliptic.P256())}
	i.cert = i.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: "issuer"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}, i.key)
	return i
}

func newECKey(t *testing.T, curve elliptic.Curve) crypto.Signer {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// sign returns certificate c with the next serial number, signed by the issuer. It is valid for one year if c has no
// validity.
func (i *issuer) sign(c *x509.Certificate, key crypto.Signer) *x509.Certificate {
	i.t.Helper()
	i.serial++
	c.SerialNumber = big.NewInt(i.serial)
	if c.NotBefore.IsZero() {
		c.NotBefore, c.NotAfter = time.Now().Add(-time.Hour), time.Now().AddDate(1, 0, 0)
	}
	parent := i.cert
	if parent == nil {
		parent = c
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), i.key)
	if err != nil {
		i.t.Fatal(err)
	}
	out, err := x509.ParseCertificate(der)
	if err != nil {
		i.t.Fatal(err)
	}
	return out
}

func certificatePEM(certs ...*x509.Certificate) []byte {
	var out []byte
	for _, c := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})...)
	}
	return out
}

// keyPEM returns a private key in PEM form, and adds it to i.keys.
func (i *issuer) keyPEM(key crypto.Signer) []byte {
	i.t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		i.t.Fatal(err)
	}
	out := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	i.keys = append(i.keys, string(out))
	return out
}

// issue returns YAML of a TLS Secret with a new certificate. name is the name of the Secret, and names are the DNS
// names of the certificate.
func (i *issuer) issue(name string, curve elliptic.Curve, names ...string) string {
	key := newECKey(i.t, curve)
	leaf := i.sign(&x509.Certificate{
		Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}, key)
	return i.secret(name, certificatePEM(leaf), i.keyPEM(key))
}

// secret returns YAML of a TLS Secret with the labels and annotations that cert-manager sets. certificate and key are
// in PEM form.
func (i *issuer) secret(name string, certificate, key []byte) string {
	text := base64.StdEncoding.EncodeToString
	return fmt.Sprintf(`
apiVersion: v1
kind: Secret
metadata:
  name: %s
  namespace: shop
  annotations: {cert-manager.io/certificate-name: %[1]s, cert-manager.io/issuer-name: issuer}
  labels: {controller.cert-manager.io/fao: "true"}
type: kubernetes.io/tls
data: {ca.crt: %[2]s, tls.crt: %[3]s, tls.key: %[4]s}
`, name, text(certificatePEM(i.cert)), text(certificate), text(key))
}

// withTLS returns YAML of Ingress "shop/web" with TLS Secrets. Secret "x" is for host "x.example.com".
func withTLS(annotations string, secrets ...string) string {
	out := webIngress(annotations, "/=web") + "  tls:\n"
	for _, s := range secrets {
		out += fmt.Sprintf("  - {hosts: [%s.example.com], secretName: %[1]s}\n", s)
	}
	return out
}

// importedCertificates returns the certificates that were imported for Ingresses, with the last two digits of their
// serial numbers, and the default certificate of each listener.
func importedCertificates(r *Harness) []string {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, Region)
	out := []string{}
	for _, c := range p.ACM.Certificates {
		if c.Tags["ingress.k8s.aws/resource"] != "" {
			out = append(out, fmt.Sprintf("%s %s %s", c.Tags["ingress.k8s.aws/resource"], strings.Join(c.Names, ","), c.Serial[len(c.Serial)-2:]))
		}
	}
	for _, l := range p.ELB.Listeners {
		if c := p.ACM.Certificates[l.Certificate]; c != nil {
			out = append(out, fmt.Sprintf("listener %d: %s", l.Port, strings.Join(c.Names, ",")))
		}
	}
	slices.Sort(out)
	return out
}

// importLifecycle adds, renews and removes TLS Secrets of an Ingress, and deletes the Ingress. It returns
// importedCertificates after each step. It restarts the controller after each kill.
func importLifecycle(t *testing.T, r *Harness, i *issuer) (states [][]string) {
	t.Helper()
	act := func(objects ...string) {
		t.Helper()
		r.Apply(objects...)
		for range 8 {
			failed := r.Settle(2 * time.Hour)
			if !r.WasKilled() {
				if len(failed) > 0 {
					t.Fatalf("still failing: %v", failed)
				}
				break
			}
			r.Start()
		}
		states = append(states, importedCertificates(r))
	}
	act(shop, readyPods("web", podAddresses[:3]...), i.issue("shop", elliptic.P256(), "shop.example.com"), withTLS("", "shop"))
	act(i.issue("shop", elliptic.P256(), "shop.example.com", "www.example.com"))               // renewed
	act(i.issue("www", elliptic.P256(), "www.example.com"), withTLS("", "shop", "www"))        // a second Secret
	act(i.issue("shop", elliptic.P384(), "shop.example.com"))                                  // another key size, which needs a new certificate in ACM
	act(withTLS("", "shop"))                                                                   // one Secret again
	act(withTLS(ingressAnnotations("certificate-arn", r.Seeded.Certs["example.com"]), "shop")) // an ARN instead of the Secret
	act(withTLS("", "shop"))                                                                   // the Secret is used again
	r.deleteObject(cluster.KindIngress, "shop", "web")
	act()
	return states
}

// importStates are the expected results of importLifecycle.
var importStates = [][]string{
	{"imported/shop/shop shop.example.com 02", "listener 443: shop.example.com"},
	{"imported/shop/shop shop.example.com,www.example.com 03", "listener 443: shop.example.com,www.example.com"},
	{"imported/shop/shop shop.example.com,www.example.com 03", "imported/shop/www www.example.com 04", "listener 443: shop.example.com,www.example.com"},
	{"imported/shop/shop shop.example.com 05", "imported/shop/www www.example.com 04", "listener 443: shop.example.com"},
	{"imported/shop/shop shop.example.com 05", "listener 443: shop.example.com"},
	{"listener 443: example.com,*.example.com"},
	{"imported/shop/shop shop.example.com 05", "listener 443: shop.example.com"},
	{},
}

// TestTLSSecretsAreImportedRenewedAndDeleted checks the steps of importLifecycle without interruption, and with a
// process that is killed after a call or loses the response to a mutating call.
func TestTLSSecretsAreImportedRenewedAndDeleted(t *testing.T) {
	t.Parallel()
	var calls, mutations int
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, importOptions(Options{}))
		before := r.State()
		if diff := cmp.Diff(importStates, importLifecycle(t, r, newIssuer(t))); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		if diff := cmp.Diff(before, r.State()); diff != "" {
			t.Errorf("deletion leaves resources in AWS (-before +after):\n%s", diff)
		}
		if n := r.Emulator.Calls().Count("ImportCertificate"); n != 5 {
			t.Errorf("%d imports: %v", n, r.Emulator.Calls().Counts())
		}
		calls, mutations = r.Emulator.Calls().Total(), r.Emulator.Calls().CountMutating()
	})
	t.Logf("%d calls, %d of them mutating", calls, mutations)
	try := func(n int, what string, hook func(r *Harness) fault.Hook) {
		synctest.Test(t, func(t *testing.T) {
			r := shopWith(t, importOptions(Options{}))
			before := r.State()
			r.Emulator.Faults().SetHook(hook(r))
			if diff := cmp.Diff(importStates, importLifecycle(t, r, newIssuer(t))); diff != "" {
				t.Errorf("%s %d (-want +got):\n%s", what, n, diff)
			}
			if diff := cmp.Diff(before, r.State()); diff != "" {
				t.Errorf("%s %d: deletion leaves resources in AWS (-before +after):\n%s", what, n, diff)
			}
		})
	}
	tryInterruptions(t, calls, mutations, try)
}

// TestRenewalIsOneCall checks that a renewal makes one mutating call, a restart none, and an unrelated Secret no call
// at all. If a user replaces the certificate in ACM, one import restores it.
func TestRenewalIsOneCall(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		r := shopWith(t, importOptions(Options{}))
		r.Apply(shop, readyPods("web", podAddresses[:3]...), i.issue("shop", elliptic.P256(), "shop.example.com"), withTLS("", "shop"))
		settleWithoutErrors(t, r)
		counts := r.Emulator.Calls()
		counts.Reset()
		r.Apply(i.issue("shop", elliptic.P256(), "shop.example.com"))
		settleWithoutErrors(t, r)
		if counts.CountMutating() != 1 || counts.Count("ImportCertificate") != 1 {
			t.Errorf("a renewal made %v", counts.Counts())
		}
		counts.Reset()
		r.Start()
		settleWithoutErrors(t, r)
		if n := counts.Count("GetCertificate"); counts.CountMutating() > 0 || n != 1 {
			t.Errorf("a restart made %v", counts.Counts())
		}
		counts.Reset()
		r.Apply(strings.Replace(i.secret("other", nil, nil), "type: kubernetes.io/tls", "type: Opaque", 1))
		settleWithoutErrors(t, r)
		if counts.Total() > 0 {
			t.Errorf("another Secret made %v", counts.Counts())
		}
		// A user imports another certificate under the same ARN.
		time.Sleep(time.Hour)
		w := r.Emulator.Store()
		w.Lock()
		for _, c := range w.Partition(Account, Region).ACM.Certificates {
			if c.Tags["ingress.k8s.aws/resource"] != "" {
				other := i.sign(&x509.Certificate{Subject: pkix.Name{CommonName: "x.example.com"}}, newECKey(t, elliptic.P256()))
				c.CertificatePEM, c.Imported = string(certificatePEM(other)), time.Now()
			}
		}
		w.Unlock()
		r.Settle(12 * time.Hour)
		if counts.Count("ImportCertificate") != 1 || counts.CountMutating() != 1 {
			t.Errorf("drift made %v", counts.Counts())
		}
	})
}

// TestInvalidSecretKeepsTheImportedCertificate checks that the imported certificate stays in use if its Secret becomes
// invalid or is deleted. Other changes of the Ingress are applied, and a warning names the Secret and its fault. A
// certificate that is not valid yet is imported when it becomes valid.
func TestInvalidSecretKeepsTheImportedCertificate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		r := shopWith(t, importOptions(Options{}))
		r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3]), i.issue("shop", elliptic.P256(), "shop.example.com"), withTLS("", "shop"))
		settleWithoutErrors(t, r)
		live := importedCertificates(r)
		key := newECKey(t, elliptic.P256())
		leaf := func(edit func(*x509.Certificate)) []byte {
			c := &x509.Certificate{Subject: pkix.Name{CommonName: "shop.example.com"}, DNSNames: []string{"shop.example.com"}}
			edit(c)
			return certificatePEM(i.sign(c, key))
		}
		good := leaf(func(*x509.Certificate) {})
		day := 24 * time.Hour
		for name, c := range map[string]struct{ secret, want string }{
			"another key": {i.secret("shop", good, i.keyPEM(newECKey(t, elliptic.P256()))), "does not belong to the certificate"},
			"expired": {i.secret("shop", leaf(func(c *x509.Certificate) { c.NotBefore, c.NotAfter = time.Now().Add(-2*day), time.Now().Add(-day) }), i.keyPEM(key)),
				"its expiry time is"},
			"not valid yet": {i.secret("shop", leaf(func(c *x509.Certificate) { c.NotBefore, c.NotAfter = time.Now().Add(20*day), time.Now().Add(30*day) }), i.keyPEM(key)),
				"is not valid before"},
			"no key":       {strings.Replace(i.secret("shop", good, nil), ", tls.key: ", "", 1), "needs the keys"},
			"another type": {strings.Replace(i.secret("shop", good, i.keyPEM(key)), "type: kubernetes.io/tls", "type: Opaque", 1), `has type "Opaque"`},
			"a gap":        {i.secret("shop", append(slices.Clone(good), certificatePEM(newIssuer(t).cert)...), i.keyPEM(key)), "the chain in tls.crt is not complete"},
		} {
			before := warningsByObject(r)["web"]
			r.Emulator.Calls().Reset()
			r.Apply(c.secret, strings.Replace(withTLS("", "shop"), "path: /,", "path: /"+strings.ReplaceAll(name, " ", "-")+",", 1))
			settleWithoutErrors(t, r)
			if diff := cmp.Diff(live, importedCertificates(r)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", name, diff)
			}
			if !hasRule(r.State(), "/"+strings.ReplaceAll(name, " ", "-")+"/*") {
				t.Errorf("%s: the new rule does not exist", name)
			}
			w := slices.DeleteFunc(warningsByObject(r)["web"], func(s string) bool { return slices.Contains(before, s) })
			if len(w) != 1 || !strings.Contains(w[0], "shop/shop") || !strings.Contains(w[0], c.want) {
				t.Errorf("%s: warnings: %q", name, w)
			}
			if n := r.Emulator.Calls().Count("ImportCertificate"); n > 0 {
				t.Errorf("%s: %d imports", name, n)
			}
		}
		r.deleteObject(cluster.KindSecret, "shop", "shop")
		settleWithoutErrors(t, r)
		if diff := cmp.Diff(live, importedCertificates(r)); diff != "" {
			t.Errorf("without the Secret (-want +got):\n%s", diff)
		}
		// A certificate that is valid in three hours is imported after that time.
		r.Apply(i.secret("shop", leaf(func(c *x509.Certificate) {
			c.NotBefore, c.NotAfter = time.Now().Add(3*time.Hour), time.Now().Add(30*day)
		}), i.keyPEM(key)))
		r.Settle(4 * time.Hour)
		if got := importedCertificates(r); slices.Equal(got, live) {
			t.Errorf("the certificate is valid now but not imported: %v", got)
		}
	})
}

// TestRejectedImportHoldsNothingElse checks that HTTP is served, and that few calls are made, while imports fail
// because of a missing permission, a quota or an invalid certificate. The certificate is imported after the cause is
// fixed.
func TestRejectedImportHoldsNothingElse(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		operation string
		answer    *store.Error
		want      string
	}{
		"no permission to import": {"ImportCertificate", &store.Error{Code: "AccessDeniedException", Status: 400, Message: "User is not authorized to perform: acm:ImportCertificate"}, "acm:ImportCertificate"},
		"no permission to list":   {"ListTagsForCertificate", &store.Error{Code: "AccessDeniedException", Status: 400, Message: "User is not authorized to perform: acm:ListTagsForCertificate"}, "acm:ListTagsForCertificate"},
		"a quota":                 {"ImportCertificate", &store.Error{Code: "LimitExceededException", Status: 400, Message: "You have reached the maximum number of certificates."}, "QuotaReached"},
		"a refusal":               {"ImportCertificate", &store.Error{Code: "ValidationException", Status: 400, Message: "Could not validate the certificate with the certificate chain."}, "Could not validate"},
	} {
		synctest.Test(t, func(t *testing.T) {
			i := newIssuer(t)
			runs := 0
			r := shopWith(t, importOptions(Options{AfterRun: func(string, error) { runs++ }}))
			faults := r.Emulator.Faults()
			faults.Add(fault.Rule{Service: "acm", Operation: c.operation, Action: fault.Action{Error: c.answer}})
			r.Apply(shop, readyPods("web", podAddresses[:3]...), i.issue("shop", elliptic.P256(), "shop.example.com"), withTLS("", "shop"))
			r.Settle(2 * time.Hour)
			state := strings.Join(r.State(), "\n")
			if !strings.Contains(state, "listener ") || !hasRule(r.State(), "/*") {
				t.Errorf("%s: HTTP is not served:\n%s", name, state)
			}
			if w := strings.Join(warningsByObject(r)["web"], "\n"); !strings.Contains(w, c.want) {
				t.Errorf("%s: warnings: %s", name, w)
			}
			if n := r.Emulator.Calls().Count(c.operation); n > 40 {
				t.Errorf("%s: %d calls within two hours", name, n)
			}
			if runs > 100 {
				t.Errorf("%s: %d runs within two hours", name, runs)
			}
			faults.Reset()
			r.Settle(time.Hour)
			if diff := cmp.Diff(importStates[0], importedCertificates(r)); diff != "" {
				t.Errorf("%s, after AWS accepts the call (-want +got):\n%s", name, diff)
			}
		})
	}
}

// TestFrequentlyChangedSecretIsRarelyImported checks that a Secret that changes every second is imported five times in
// ten minutes, and once more at the end of the limit. One warning reports the limit.
func TestFrequentlyChangedSecretIsRarelyImported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		r := shopWith(t, importOptions(Options{StacksOnly: true}))
		r.Apply(shop, readyPods("web", podAddresses[:3]...), i.issue("shop", elliptic.P256(), "shop.example.com"), withTLS("", "shop"))
		r.Settle(time.Minute)
		two := []string{i.issue("shop", elliptic.P256(), "shop.example.com"), i.issue("shop", elliptic.P256(), "shop.example.com")}
		for n := range 600 {
			r.Apply(two[n%2])
			r.Settle(time.Second)
		}
		if n := r.Emulator.Calls().Count("ImportCertificate"); n != 5 {
			t.Errorf("%d imports in ten minutes", n)
		}
		if w := strings.Join(warningsByObject(r)["web"], "\n"); strings.Count(w, "ImportsLimited") != 1 || !strings.Contains(w, "shop/shop") {
			t.Errorf("warnings: %s", w)
		}
		r.Apply(two[0])
		r.Settle(24 * time.Hour)
		if n := r.Emulator.Calls().Count("ImportCertificate"); n > 6 {
			t.Errorf("%d imports in a day", n)
		}
		last := i.serial
		if diff := cmp.Diff([]string{fmt.Sprintf("imported/shop/shop shop.example.com %02d", last-1), "listener 443: shop.example.com"}, importedCertificates(r)); diff != "" {
			t.Errorf("after a day (-want +got):\n%s", diff)
		}
	})
}
