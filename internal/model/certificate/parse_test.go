package certificate_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/model/certificate"
)

// testCertificate is a certificate with its private key.
type testCertificate struct {
	cert *x509.Certificate
	key  crypto.Signer
}

var lastSerial int64

// issueCertificate creates a certificate for the key, which issuer signs. If issuer is nil, the certificate is self-signed.
// edit changes the certificate before it is signed; nil changes nothing.
func issueCertificate(t testing.TB, issuer *testCertificate, key crypto.Signer, edit func(*x509.Certificate)) *testCertificate {
	t.Helper()
	lastSerial++
	c := &x509.Certificate{
		SerialNumber: big.NewInt(lastSerial), Subject: pkix.Name{CommonName: "shop.example.com"}, DNSNames: []string{"shop.example.com", "WWW.example.com"},
		NotBefore: time.Unix(1000, 0), NotAfter: time.Unix(5000000000, 0), KeyUsage: x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	if edit != nil {
		edit(c)
	}
	parent, signer := c, key
	if issuer != nil {
		parent, signer = issuer.cert, issuer.key
	}
	raw, err := x509.CreateCertificate(rand.Reader, c, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	out, err := x509.ParseCertificate(raw)
	if err != nil {
		t.Fatal(err)
	}
	return &testCertificate{out, key}
}

func issueAuthority(t testing.TB, by *testCertificate, name string, key crypto.Signer) *testCertificate {
	return issueCertificate(t, by, key, func(c *x509.Certificate) {
		c.Subject.CommonName, c.DNSNames, c.IsCA, c.BasicConstraintsValid, c.KeyUsage = name, nil, true, true, x509.KeyUsageCertSign
	})
}

func newECKey(t testing.TB, curve elliptic.Curve) crypto.Signer {
	t.Helper()
	k, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newRSAKey(t testing.TB, bits int) *rsa.PrivateKey {
	t.Helper()
	k, err := rsa.GenerateKey(rand.Reader, bits)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func pemBundle(certs ...*testCertificate) []byte {
	var out []byte
	for _, c := range certs {
		out = append(out, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.cert.Raw})...)
	}
	return out
}

func pkcs8PEM(t testing.TB, key crypto.Signer) []byte {
	t.Helper()
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw})
}

func sec1PEM(t testing.TB, key crypto.Signer) []byte {
	t.Helper()
	raw, err := x509.MarshalECPrivateKey(key.(*ecdsa.PrivateKey))
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: raw})
}

func TestCertificatesThatCanBeImported(t *testing.T) {
	root := issueAuthority(t, nil, "root", newECKey(t, elliptic.P256()))
	middle := issueAuthority(t, root, "middle", newECKey(t, elliptic.P256()))
	low := issueAuthority(t, middle, "low", newECKey(t, elliptic.P256()))
	key := newECKey(t, elliptic.P256())
	leaf := issueCertificate(t, low, key, nil)
	big := newRSAKey(t, 2048)
	pkcs1 := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(big)})
	parameters := pem.EncodeToMemory(&pem.Block{Type: "EC PARAMETERS", Bytes: []byte{6, 8, 42, 134, 72, 206, 61, 3, 1, 7}})
	self := issueCertificate(t, nil, big, nil)
	for name, c := range map[string]struct {
		crt, key  []byte
		ca        []byte
		chain     []*testCertificate
		algorithm string
	}{
		"with its issuer apart":  {pemBundle(leaf), pkcs8PEM(t, key), pemBundle(root, low), []*testCertificate{low}, "EC_prime256v1"},
		"with its chain":         {pemBundle(leaf, low, middle, root), pkcs8PEM(t, key), pemBundle(root), []*testCertificate{low, middle, root}, "EC_prime256v1"},
		"in another order":       {pemBundle(middle, leaf, low), pkcs8PEM(t, key), nil, []*testCertificate{low, middle}, "EC_prime256v1"},
		"from the root":          {pemBundle(root, middle, low, leaf), sec1PEM(t, key), nil, []*testCertificate{low, middle, root}, "EC_prime256v1"},
		"one of the chain twice": {pemBundle(leaf, low, low), append(parameters, sec1PEM(t, key)...), nil, []*testCertificate{low}, "EC_prime256v1"},
		"by itself, RSA":         {pemBundle(self), pkcs1, nil, nil, "RSA_2048"},
		"with text around":       {append([]byte("subject=CN = x\n"), pemBundle(self)...), append([]byte("Bag Attributes\n"), pkcs1...), nil, nil, "RSA_2048"},
	} {
		got, f := new(certificate.Reader).Parse(c.crt, c.key, c.ca)
		if f != nil {
			t.Errorf("%s: %s", name, f.Message)
			continue
		}
		if diff := cmp.Diff(string(pemBundle(c.chain...)), got.Chain); diff != "" {
			t.Errorf("%s, chain (-want +got):\n%s", name, diff)
		}
		is := got.Is
		if is.Algorithm != c.algorithm || strings.Join(is.Names, " ") != "shop.example.com www.example.com" || is.NotAfter != 5000000000 || len(is.ExtendedKeyUsages) != 2 {
			t.Errorf("%s: %+v", name, is)
		}
		live, err := certificate.Identify(got.Body, got.Chain)
		if diff := cmp.Diff(is, live); err != nil || diff != "" {
			t.Errorf("%s, read again (-want +got):\n%s %v", name, diff, err)
		}
		if strings.Count(got.Key.Reveal(), "-----BEGIN") != 1 || strings.Contains(got.Key.Reveal(), "Bag Attributes") {
			t.Errorf("%s: more than the key is sent", name)
		}
	}
}

func TestCertificatesThatCannotBeImported(t *testing.T) {
	root := issueAuthority(t, nil, "root", newECKey(t, elliptic.P256()))
	low := issueAuthority(t, root, "low", newECKey(t, elliptic.P256()))
	twin := issueAuthority(t, root, "low", low.key) // has the same name and key as low
	key := newECKey(t, elliptic.P256())
	leaf := issueCertificate(t, low, key, nil)
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	small := newRSAKey(t, 1024)
	odd := newRSAKey(t, 2560)
	named := func(edit func(*x509.Certificate)) []byte { return pemBundle(issueCertificate(t, low, key, edit)) }
	var many []*testCertificate
	for range 11 {
		many = append(many, issueCertificate(t, low, newECKey(t, elliptic.P256()), nil))
	}
	for name, c := range map[string]struct {
		crt, key []byte
		want     string
		ca       []byte
	}{
		"no PEM":             {[]byte("x"), pkcs8PEM(t, key), "tls.crt has no certificate in PEM format", nil},
		"a key in place":     {pkcs8PEM(t, key), pkcs8PEM(t, key), "tls.crt has a PEM block other than a certificate", nil},
		"broken":             {pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: []byte("x")}), pkcs8PEM(t, key), "certificate 1 of tls.crt cannot be read", nil},
		"too much":           {make([]byte, 300<<10), pkcs8PEM(t, key), "tls.crt has 307200 bytes, more than the maximum of 262144", nil},
		"too much of a key":  {pemBundle(leaf), make([]byte, 300<<10), "tls.key has 307200 bytes, more than the maximum of 262144", nil},
		"too many":           {pemBundle(many...), pkcs8PEM(t, key), "tls.crt has more than 10 certificates", nil},
		"no key":             {pemBundle(leaf), []byte("x"), "tls.key has no private key in PEM format", nil},
		"a broken key":       {pemBundle(leaf), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: []byte("x")}), "the private key in tls.key cannot be read", nil},
		"an encrypted key":   {pemBundle(leaf), pem.EncodeToMemory(&pem.Block{Type: "ENCRYPTED PRIVATE KEY", Bytes: []byte("x")}), "the private key in tls.key is encrypted", nil},
		"another key":        {pemBundle(leaf, low), pkcs8PEM(t, newECKey(t, elliptic.P256())), "the private key in tls.key does not belong to the certificate in tls.crt", nil},
		"two for the key":    {append(pemBundle(leaf), named(nil)...), pkcs8PEM(t, key), "two certificates in tls.crt belong to the private key", nil},
		"a gap in the chain": {pemBundle(leaf, root), pkcs8PEM(t, key), "the chain in tls.crt is not complete: 1 of its certificates did not issue the one before them", nil},
		"two chains":         {pemBundle(leaf, low, twin), pkcs8PEM(t, key), "the chain in tls.crt has more than one order, because two of its certificates issued the same certificate", nil},
		"Ed25519":            {pemBundle(issueCertificate(t, low, edwards, nil)), pkcs8PEM(t, edwards), "the key of certificate 1 of tls.crt is Ed25519, which load balancers do not accept", nil},
		"a short key":        {pemBundle(issueCertificate(t, low, small, nil)), pkcs8PEM(t, small), "the key is RSA with 1024 bits, which load balancers do not accept", nil},
		"an odd key":         {pemBundle(issueCertificate(t, low, odd, nil)), pkcs8PEM(t, odd), "the key is RSA with 2560 bits, which load balancers do not accept", nil},
		"no names":           {named(func(c *x509.Certificate) { c.DNSNames, c.Subject.CommonName = nil, "my shop" }), pkcs8PEM(t, key), "the certificate has no DNS name", nil},
		"too many names": {named(func(c *x509.Certificate) {
			for i := range 101 {
				c.DNSNames = append(c.DNSNames, fmt.Sprintf("n%d.example.com", i))
			}
		}), pkcs8PEM(t, key), "the certificate has 103 DNS names, more than the maximum of 100", nil},
		"too large": {named(func(c *x509.Certificate) {
			c.ExtraExtensions = []pkix.Extension{{Id: []int{1, 2, 3, 4}, Value: make([]byte, 30<<10)}}
		}), pkcs8PEM(t, key), "but ACM accepts at most 32768", nil},
		"no issuer":      {pemBundle(leaf), pkcs8PEM(t, key), "has exactly one certificate of its issuer, which ACM requires", nil},
		"another issuer": {pemBundle(leaf), pkcs8PEM(t, key), "has exactly one certificate of its issuer, which ACM requires", pemBundle(root)},
	} {
		got, f := new(certificate.Reader).Parse(c.crt, c.key, c.ca)
		if f == nil {
			t.Errorf("%s: taken", name)
			continue
		}
		if got != nil || !strings.HasSuffix(f.Message, c.want) || f.Fix == "" {
			t.Errorf("%s: %q, fix %q", name, f.Message, f.Fix)
		}
	}
}

func TestCanReplaceNeedsTheSameAlgorithmAndUsages(t *testing.T) {
	is := model.CertificateIdentity{Algorithm: "RSA_2048", KeyUsages: 3, ExtendedKeyUsages: []string{"1.3.6.1.5.5.7.3.1", "1.3.6.1.5.5.7.3.2"}}
	with := func(edit func(*model.CertificateIdentity)) model.CertificateIdentity {
		out := is
		edit(&out)
		return out
	}
	for name, c := range map[string]struct {
		next model.CertificateIdentity
		want bool
	}{
		"the same":            {is, true},
		"other names":         {with(func(c *model.CertificateIdentity) { c.Names = []string{"x"} }), true},
		"another key size":    {with(func(c *model.CertificateIdentity) { c.Algorithm = "RSA_4096" }), false},
		"one more usage":      {with(func(c *model.CertificateIdentity) { c.KeyUsages = 7 }), true},
		"one usage less":      {with(func(c *model.CertificateIdentity) { c.KeyUsages = 1 }), false},
		"without client auth": {with(func(c *model.CertificateIdentity) { c.ExtendedKeyUsages = c.ExtendedKeyUsages[:1] }), true},
		"without server auth": {with(func(c *model.CertificateIdentity) { c.ExtendedKeyUsages = c.ExtendedKeyUsages[1:] }), false},
	} {
		if got := c.next.CanReplace(is); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// FuzzParse checks that no error message quotes the private key of a Secret, and that messages are short.
func FuzzParse(f *testing.F) {
	f.Add([]byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), []byte("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"))
	f.Fuzz(func(t *testing.T, crt, key []byte) {
		_, fault := new(certificate.Reader).Parse(crt, key, crt)
		if fault == nil {
			return
		}
		if len(key) > 8 && strings.Contains(fault.Message+fault.Fix, string(key)) {
			t.Errorf("%q", fault.Message)
		}
		if len(fault.Message) > 300 {
			t.Errorf("%d bytes", len(fault.Message))
		}
	})
}
