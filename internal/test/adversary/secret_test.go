package adversary

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
	"strings"
	"sync"
	"time"
)

// certificateWithKey is a certificate and its key in PEM.
type certificateWithKey struct {
	body, key string
	serial    int64
}

// authority issues the certificates of a history.
type authority struct {
	key                crypto.Signer
	cert               *x509.Certificate
	root               string
	serial             int64
	issuedCertificates []certificateWithKey // their keys must not appear outside of Secrets
}

func newAuthority() *authority {
	a := &authority{key: newECKey()}
	self := &x509.Certificate{
		Subject: pkix.Name{CommonName: "issuer"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(20, 0, 0),
	}
	der := mustValue(x509.CreateCertificate(rand.Reader, self, self, a.key.Public(), a.key))
	a.cert = mustValue(x509.ParseCertificate(der))
	a.root = encodePEM("CERTIFICATE", der)
	return a
}

// mustValue returns v, and panics on an error.
func mustValue[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

func encodePEM(kind string, der []byte) string {
	return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
}

func newECKey() crypto.Signer { return mustValue(ecdsa.GenerateKey(elliptic.P256(), rand.Reader)) }

// issue returns a certificate for names that is valid between two days, counted from now.
func (a *authority) issue(from, to int, names ...string) certificateWithKey {
	a.serial++
	key := newECKey()
	c := &x509.Certificate{
		Subject: pkix.Name{CommonName: names[0]}, DNSNames: names, SerialNumber: big.NewInt(1000 + a.serial),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		NotBefore: time.Now().AddDate(0, 0, from), NotAfter: time.Now().AddDate(0, 0, to),
	}
	der := mustValue(x509.CreateCertificate(rand.Reader, c, a.cert, key.Public(), a.key))
	out := certificateWithKey{encodePEM("CERTIFICATE", der), encodePEM("PRIVATE KEY", mustValue(x509.MarshalPKCS8PrivateKey(key))), 1000 + a.serial}
	a.issuedCertificates = append(a.issuedCertificates, out)
	return out
}

// secretOf returns a Secret of type kind with a certificate, its key and the root certificate.
func secretOf(namespace, name, kind, body, key, root string) string {
	text := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	return fmt.Sprintf("apiVersion: v1\nkind: Secret\nmetadata: {name: %s, namespace: %s}\ntype: %s\ndata: {ca.crt: %s, tls.crt: %s, tls.key: %s}\n",
		name, namespace, kind, text(root), text(body), text(key))
}

// controllerLog collects the log of a controller.
type controllerLog struct {
	mu   sync.Mutex
	text strings.Builder
}

func (u *controllerLog) addLine(_, line string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.text.WriteString(line + "\n")
}

// isKeyIn reports whether a text contains a part of a private key.
func (a *authority) isKeyIn(text string) bool {
	for _, c := range a.issuedCertificates {
		for line := range strings.SplitSeq(c.key, "\n") {
			if line != "" && !strings.HasPrefix(line, "-----") && strings.Contains(text, line) {
				return true
			}
		}
		if strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(c.key))) {
			return true
		}
	}
	return false
}
