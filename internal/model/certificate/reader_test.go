package certificate_test

import (
	"crypto"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/asn1"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model/certificate"
)

// publicKeyOnly is a crypto.Signer with a public key but no private key.
type publicKeyOnly struct{ key crypto.PublicKey }

func (o publicKeyOnly) Public() crypto.PublicKey { return o.key }

func (publicKeyOnly) Sign(io.Reader, []byte, crypto.SignerOpts) ([]byte, error) {
	return nil, fmt.Errorf("the test key has no private part")
}

func newRSAPublicKey(bits uint, exponent int) *rsa.PublicKey {
	n := new(big.Int).Lsh(big.NewInt(1), bits)
	return &rsa.PublicKey{N: n.Sub(n, big.NewInt(1)), E: exponent}
}

// costlyChain returns a certificate for key, and the given number of certificates of authorities with the public key public.
// The signature of the first certificate has the size of public, so that a verifier needs all computations to find that it
// is not valid.
func costlyChain(t testing.TB, public *rsa.PublicKey, key crypto.Signer, certificates int) (chain []*testCertificate) {
	t.Helper()
	const name = "costly"
	root := issueAuthority(t, nil, "root", newECKey(t, elliptic.P256()))
	leaf := issueCertificate(t, &testCertificate{&x509.Certificate{Subject: pkix.Name{CommonName: name}}, newRSAKey(t, 2048)}, key, nil)
	var parts struct {
		Signed    asn1.RawValue
		Algorithm asn1.RawValue
		Signature asn1.BitString
	}
	if _, err := asn1.Unmarshal(leaf.cert.Raw, &parts); err != nil {
		t.Fatal(err)
	}
	size := (public.N.BitLen() + 7) / 8
	parts.Signature = asn1.BitString{Bytes: append(make([]byte, 1), []byte(strings.Repeat("\x55", size-1))...), BitLength: 8 * size}
	raw, err := asn1.Marshal(parts)
	if err != nil {
		t.Fatal(err)
	}
	if leaf.cert, err = x509.ParseCertificate(raw); err != nil {
		t.Fatal(err)
	}
	chain = append(chain, leaf)
	for range certificates {
		chain = append(chain, issueAuthority(t, root, name, publicKeyOnly{public}))
	}
	return chain
}

// TestUnsupportedKeysAreRejectedBeforeSignaturesAreVerified checks that a key that ACM does not accept is rejected before a
// signature is verified, so that the fault names the key and not the chain. Verifying takes longer with a larger key of the
// issuer, and the author of a Secret chooses this key.
func TestUnsupportedKeysAreRejectedBeforeSignaturesAreVerified(t *testing.T) {
	key := newECKey(t, elliptic.P256())
	for name, c := range map[string]struct {
		public *rsa.PublicKey
		want   string
	}{
		"a modulus of 12 KiB":  {newRSAPublicKey(12<<13, 65537), "RSA with 98304 bits"},
		"one bit too much":     {newRSAPublicKey(4097, 65537), "RSA with 4097 bits"},
		"a large exponent":     {newRSAPublicKey(2048, 1<<31+1), "RSA with the exponent 2147483649"},
		"twice the RSA limits": {newRSAPublicKey(8192, 65537), "RSA with 8192 bits"},
	} {
		chain := costlyChain(t, c.public, key, 2)
		for where, parse := range map[string]func(*certificate.Reader) (any, *certificate.Fault){
			"certificate 2 of tls.crt": func(r *certificate.Reader) (any, *certificate.Fault) {
				return r.Parse(pemBundle(chain...), pkcs8PEM(t, key), nil)
			},
			"the issuer in ca.crt": func(r *certificate.Reader) (any, *certificate.Fault) {
				return r.Parse(pemBundle(chain[0]), pkcs8PEM(t, key), pemBundle(chain[1:]...))
			},
		} {
			want := fmt.Sprintf("the key of %s is %s, which load balancers do not accept", where, c.want)
			if _, f := parse(&certificate.Reader{}); f == nil || f.Message != want {
				t.Errorf("%s: %+v, want %s", name, f, want)
			}
		}
	}
}

// TestPrivateKeysLargerThanACMAcceptsAreNotParsed checks that private keys above the 5 KiB that ACM accepts are not parsed,
// because parsing a large RSA key is expensive.
func TestPrivateKeysLargerThanACMAcceptsAreNotParsed(t *testing.T) {
	leaf := issueCertificate(t, nil, newECKey(t, elliptic.P256()), nil)
	for _, kind := range []string{"PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY"} {
		text := pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: make([]byte, 5<<10)}) // no key
		_, f := new(certificate.Reader).Parse(pemBundle(leaf), text, nil)
		if f == nil || !strings.HasSuffix(f.Message, "but ACM accepts at most 5120") {
			t.Errorf("%s: %+v", kind, f)
		}
	}
}

// TestIssuersMayHaveSmallerKeys checks that an issuer may have a key that is too small for load balancers. ACM itself checks
// the keys of issuers.
func TestIssuersMayHaveSmallerKeys(t *testing.T) {
	key := newECKey(t, elliptic.P256())
	for _, bits := range []int{1024, 2560, 4096} {
		root := issueAuthority(t, nil, "root", newRSAKey(t, bits))
		if _, f := new(certificate.Reader).Parse(pemBundle(issueCertificate(t, root, key, nil), root), pkcs8PEM(t, key), nil); f != nil {
			t.Errorf("RSA with %d bits: %s", bits, f.Message)
		}
	}
}

func TestEachVersionOfASecretIsParsedOnce(t *testing.T) {
	root := issueAuthority(t, nil, "root", newECKey(t, elliptic.P256()))
	key, other := newECKey(t, elliptic.P256()), newECKey(t, elliptic.P256())
	leaf := issueCertificate(t, root, key, nil)
	r := &certificate.Reader{}
	for _, c := range []struct {
		name         string
		crt, key, ca []byte
		parsed       int
		fault        string
	}{
		{"the first version", pemBundle(leaf, root), pkcs8PEM(t, key), nil, 1, ""},
		{"the same", pemBundle(leaf, root), pkcs8PEM(t, key), nil, 1, ""},
		{"with another key", pemBundle(leaf, root), pkcs8PEM(t, other), nil, 2, "the private key in tls.key does not belong to the certificate in tls.crt"},
		{"a fault once more", pemBundle(leaf, root), pkcs8PEM(t, other), nil, 2, "the private key in tls.key does not belong to the certificate in tls.crt"},
		{"the issuer apart", pemBundle(leaf), pkcs8PEM(t, key), pemBundle(root), 3, ""},
		{"and once more", pemBundle(leaf), pkcs8PEM(t, key), pemBundle(root), 3, ""},
		{"without the issuer", pemBundle(leaf), pkcs8PEM(t, key), nil, 4, "the certificate is not self-signed, and neither tls.crt nor ca.crt has exactly one certificate of its issuer, which ACM requires"},
		{"the first again", pemBundle(leaf, root), pkcs8PEM(t, key), nil, 4, ""},
	} {
		got, f := r.Parse(c.crt, c.key, c.ca)
		if n := r.ParseCount(); n != c.parsed {
			t.Errorf("%s: parsed %d times, want %d", c.name, n, c.parsed)
		}
		if c.fault != "" {
			if f == nil || f.Message != c.fault {
				t.Errorf("%s: %+v", c.name, f)
			}
			continue
		}
		want, _ := new(certificate.Reader).Parse(c.crt, c.key, c.ca)
		if diff := cmp.Diff(want, got); f != nil || diff != "" || got.Key.Reveal() != string(c.key) {
			t.Errorf("%s: %+v (-want +got):\n%s", c.name, f, diff)
		}
	}
	if _, keys := r.CacheContents(); len(keys) > 0 {
		t.Errorf("%d private keys are in the cache", len(keys))
	}
}

// TestCacheOfParsedSecretsIsBounded checks that the cache has a maximum size, also for a Secret that changes constantly, and
// that a result that is used constantly stays in the cache.
func TestCacheOfParsedSecretsIsBounded(t *testing.T) {
	key := newECKey(t, elliptic.P256())
	root := issueAuthority(t, nil, "root", newECKey(t, elliptic.P256()))
	large := issueCertificate(t, root, key, func(c *x509.Certificate) {
		c.ExtraExtensions = []pkix.Extension{{Id: []int{1, 2, 3, 4}, Value: make([]byte, 20<<10)}}
	})
	used := pemBundle(issueCertificate(t, root, key, nil), root)
	r := &certificate.Reader{}
	for i := range 700 {
		if _, f := r.Parse(pemBundle(large, root), pkcs8PEM(t, key), fmt.Append(nil, i)); f != nil { // different content each time
			t.Fatal(f.Message)
		}
		if _, f := r.Parse(used, pkcs8PEM(t, key), nil); f != nil {
			t.Fatal(f.Message)
		}
	}
	if n := r.ParseCount(); n != 701 {
		t.Errorf("parsed %d times, want 701", n)
	}
	if n, _ := r.CacheContents(); n > 16<<20 {
		t.Errorf("the cache has %d bytes", n)
	}
}

// BenchmarkParse measures the most expensive Secret, a rejected Secret and an ordinary Secret, each without and with the
// cache.
func BenchmarkParse(b *testing.B) {
	key := newRSAKey(b, 4096)
	private := pkcs8PEM(b, key)
	for name, chain := range map[string][]*testCertificate{
		"largest keys":     costlyChain(b, newRSAPublicKey(4096, 1<<31-1), key, 9),
		"19 KiB modulus":   costlyChain(b, newRSAPublicKey(19<<13, 65537), key, 9),
		"ordinary, itself": {issueCertificate(b, nil, key, nil)},
	} {
		text := pemBundle(chain...)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				_, _ = new(certificate.Reader).Parse(text, private, nil)
			}
		})
		b.Run(name+", known", func(b *testing.B) {
			r := &certificate.Reader{}
			for b.Loop() {
				_, _ = r.Parse(text, private, nil)
			}
		})
	}
}
