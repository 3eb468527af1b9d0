package doctor

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"slices"
	"testing"
	"time"
)

// TestBundleExpiresWithItsLastCA checks that a CA bundle expires when the last of its CAs expires. During a rotation, a
// bundle has the previous CA, which may have expired, and the new CA.
func TestBundleExpiresWithItsLastCA(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	authority := func(until time.Time) []byte {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: now.AddDate(-1, 0, 0), NotAfter: until, IsCA: true}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			t.Fatal(err)
		}
		return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	}
	expired, valid := authority(now.AddDate(0, 0, -1)), authority(now.AddDate(1, 0, 0))
	for _, bundle := range [][]byte{slices.Concat(expired, valid), slices.Concat(valid, expired)} {
		if until, err := lastExpiry(bundle); err != nil || !until.Equal(now.AddDate(1, 0, 0)) {
			t.Errorf("%v, %v", until, err)
		}
	}
	if _, err := lastExpiry([]byte("no certificate")); err == nil {
		t.Error("text without a certificate is a bundle")
	}
}
