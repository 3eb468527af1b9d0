package dataplane

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"encoding/base64"
)

// secrets seals what clients keep for the load balancer. Each data plane has a new key,
// so nothing outlives it.
type secrets struct{ box cipher.AEAD }

func newSecrets() *secrets {
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
	return &secrets{box: box}
}

// seal encrypts a text. It can be opened for the same purpose only.
func (s *secrets) seal(purpose string, text []byte) string {
	return base64.RawURLEncoding.EncodeToString(s.box.Seal(nil, nil, text, []byte(purpose)))
}

// open returns the text, or false if it was not sealed here for the purpose.
func (s *secrets) open(purpose, sealed string) ([]byte, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(sealed)
	if err != nil {
		return nil, false
	}
	text, err := s.box.Open(nil, nil, raw, []byte(purpose))
	return text, err == nil
}
