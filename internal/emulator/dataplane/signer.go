package dataplane

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
)

// signer signs the claims that targets receive. It generates its key.
type signer struct {
	id  string
	key *ecdsa.PrivateKey
}

func newSigner() *signer {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // only an unknown curve or a failing random source are errors
	}
	n := newNonce()
	return &signer{id: n[:8] + "-" + n[8:12] + "-" + n[12:16] + "-" + n[16:20] + "-" + n[20:], key: key}
}

// sign returns a JWT with base64 padding in its parts. AWS also adds the padding, although the JWT standard forbids it.
func (s *signer) sign(header map[string]any, claims json.RawMessage) (string, error) {
	header["kid"] = s.id
	head, err := json.Marshal(header)
	if err != nil {
		return "", err
	}
	text := base64.URLEncoding.EncodeToString(head) + "." + base64.URLEncoding.EncodeToString(claims)
	hash := sha256.Sum256([]byte(text))
	r, t, err := ecdsa.Sign(rand.Reader, s.key, hash[:])
	if err != nil {
		return "", err
	}
	sig := make([]byte, 64)
	r.FillBytes(sig[:32])
	t.FillBytes(sig[32:])
	return text + "." + base64.URLEncoding.EncodeToString(sig), nil
}

// PublicKey returns the public key with an ID in PEM format, with which targets verify X-Amzn-Oidc-Data. AWS serves it at
// public-keys.auth.elb.<region>.amazonaws.com. It returns false for an unknown ID.
func (p *Plane) PublicKey(id string) ([]byte, bool) {
	if id != p.signer.id {
		return nil, false
	}
	der, err := x509.MarshalPKIXPublicKey(p.signer.key.Public())
	if err != nil {
		return nil, false
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), true
}
