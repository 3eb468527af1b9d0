package dataplane

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
)

// cookieCipher encrypts session cookies and login states, which clients store for the load balancer. Each data plane has its
// own random key, so another data plane cannot decrypt them.
type cookieCipher struct{ aead cipher.AEAD }

func newCookieCipher() *cookieCipher {
	var key [32]byte
	_, _ = rand.Read(key[:]) // never fails
	block, err := aes.NewCipher(key[:])
	if err != nil {
		panic(err) // the key has a valid length
	}
	box, err := cipher.NewGCMWithRandomNonce(block)
	if err != nil {
		panic(err) // AES has the block size that GCM needs
	}
	return &cookieCipher{aead: box}
}

// seal encrypts a text. Only open with the same purpose can decrypt it.
func (s *cookieCipher) seal(purpose string, text []byte) string {
	return base64.RawURLEncoding.EncodeToString(s.aead.Seal(nil, nil, text, []byte(purpose)))
}

// open decrypts a text. It returns false if this cipher has not sealed the text for this purpose.
func (s *cookieCipher) open(purpose, sealed string) ([]byte, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return nil, false
	}
	text, err := s.aead.Open(nil, nil, raw, []byte(purpose))
	return text, err == nil
}
