package dataplane

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/rsa"
	_ "crypto/sha256" // hash algorithms of the signatures that verify supports
	_ "crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"time"
)

// clockSkew is the tolerated difference between this machine's clock and the clock of a token issuer.
const clockSkew = time.Minute

// validateToken reports whether the request has a valid bearer token. If it returns false, it has sent a response.
func (x *exchange) validateToken(j JWTValidation) (pass bool) {
	scheme, text, _ := strings.Cut(x.r.Header.Get("Authorization"), " ")
	t, err := parseToken(strings.TrimSpace(text))
	if !strings.EqualFold(scheme, "Bearer") || err != nil {
		x.answer(http.StatusUnauthorized)
		return false
	}
	keys, err := x.plane.keys.get(x.r.Context(), j.JWKSEndpoint, t.header.KeyID)
	if err != nil {
		x.plane.opt.Log.Debug("JWKS fetch failed", "endpoint", j.JWKSEndpoint, "error", err)
		x.answer(http.StatusInternalServerError)
		return false
	}
	if t.verify(keys) != nil || t.checkClaims(j, x.startTime) != nil {
		x.answer(http.StatusUnauthorized)
		return false
	}
	return true
}

// token is a parsed JWT whose signature and claims have not been verified.
type token struct {
	header struct {
		Algorithm string `json:"alg"`
		KeyID     string `json:"kid"`
	}
	claims     map[string]any
	signedText string
	signature  []byte
}

func parseToken(text string) (token, error) {
	parts := strings.Split(text, ".")
	if len(parts) != 3 {
		return token{}, errors.New("not a token")
	}
	var raw [3][]byte
	for i, p := range parts {
		b, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(p, "="))
		if err != nil {
			return token{}, err
		}
		raw[i] = b
	}
	t := token{signedText: parts[0] + "." + parts[1], signature: raw[2]}
	if err := json.Unmarshal(raw[0], &t.header); err != nil {
		return token{}, err
	}
	return t, json.Unmarshal(raw[1], &t.claims)
}

// verify returns an error if none of the keys has signed the token.
func (t token) verify(keys []publicKey) error {
	var hash crypto.Hash
	if len(t.header.Algorithm) != 5 {
		return fmt.Errorf("algorithm %q", t.header.Algorithm)
	}
	switch t.header.Algorithm[2:] {
	case "256":
		hash = crypto.SHA256
	case "384":
		hash = crypto.SHA384
	case "512":
		hash = crypto.SHA512
	default:
		return fmt.Errorf("algorithm %q", t.header.Algorithm)
	}
	h := hash.New()
	h.Write([]byte(t.signedText))
	sum := h.Sum(nil)
	for _, k := range keys {
		if t.header.KeyID != "" && k.id != t.header.KeyID || k.algorithm != "" && k.algorithm != t.header.Algorithm {
			continue
		}
		if isSignedBy(k.key, t.header.Algorithm[:2], hash, sum, t.signature) {
			return nil
		}
	}
	return errors.New("no key matches the signature")
}

func isSignedBy(key any, family string, hash crypto.Hash, sum, signature []byte) bool {
	switch key := key.(type) {
	case *rsa.PublicKey:
		switch family {
		case "RS":
			return rsa.VerifyPKCS1v15(key, hash, sum, signature) == nil
		case "PS":
			return rsa.VerifyPSS(key, hash, sum, signature, nil) == nil
		}
	case *ecdsa.PublicKey:
		size := (key.Curve.Params().BitSize + 7) / 8
		if family != "ES" || len(signature) != 2*size {
			return false
		}
		r, s := new(big.Int).SetBytes(signature[:size]), new(big.Int).SetBytes(signature[size:])
		return ecdsa.Verify(key, sum, r, s)
	}
	return false
}

// checkClaims returns an error if the issuer, the times or the claims of the token do not satisfy rule j.
func (t token) checkClaims(j JWTValidation, now time.Time) error {
	if iss, _ := t.claims["iss"].(string); iss != j.Issuer {
		return errors.New("another issuer")
	}
	exp, ok := t.timeClaim("exp")
	if !ok || !now.Before(exp.Add(clockSkew)) {
		return errors.New("expired")
	}
	for _, name := range []string{"nbf", "iat"} {
		if from, ok := t.timeClaim(name); ok && now.Add(clockSkew).Before(from) {
			return fmt.Errorf("%s is in the future", name)
		}
	}
	for _, c := range j.Claims {
		if !c.matches(t.claims[c.Name]) {
			return fmt.Errorf("claim %q does not match", c.Name)
		}
	}
	return nil
}

func (t token) timeClaim(name string) (time.Time, bool) {
	n, ok := t.claims[name].(float64)
	return time.Unix(int64(n), 0), ok
}

// matches reports whether the value in a token satisfies the claim. A single string must be one of the required values; a
// set must contain all required values.
func (c Claim) matches(value any) bool {
	var have []string
	switch c.Format {
	case "string-array":
		list, _ := value.([]any)
		for _, v := range list {
			if s, ok := v.(string); ok {
				have = append(have, s)
			}
		}
	case "space-separated-values":
		s, _ := value.(string)
		have = strings.Fields(s)
	default:
		s, ok := value.(string)
		return ok && slices.Contains(c.Values, s)
	}
	for _, want := range c.Values {
		if !slices.Contains(have, want) {
			return false
		}
	}
	return len(c.Values) > 0
}
