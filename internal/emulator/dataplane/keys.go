package dataplane

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	// keysMaxAge is the age at which cached keys are fetched again.
	keysMaxAge = 10 * time.Minute
	// keysMinFetchInterval is the minimum age of cached keys before they are fetched again because of an unknown key ID.
	keysMinFetchInterval = time.Second
)

// publicKey is a key of a JWKS document.
type publicKey struct {
	id, algorithm string
	key           any // *rsa.PublicKey or *ecdsa.PublicKey
}

// keyCache caches the keys of JWKS documents by URL.
type keyCache struct {
	client *http.Client
	mu     sync.Mutex
	sets   map[string]keySet
}

type keySet struct {
	keys      []publicKey
	fetchedAt time.Time
}

func newKeyCache(client *http.Client) *keyCache {
	return &keyCache{client: client, sets: map[string]keySet{}}
}

// get returns the keys at an endpoint. It fetches them again if the cached keys are too old or do not contain the key ID id.
// An empty id means any key.
func (c *keyCache) get(ctx context.Context, endpoint, id string) ([]publicKey, error) {
	c.mu.Lock()
	set, ok := c.sets[endpoint]
	c.mu.Unlock()
	age := time.Since(set.fetchedAt)
	hasKey := id == "" || slices.ContainsFunc(set.keys, func(k publicKey) bool { return k.id == id })
	if ok && age < keysMaxAge && (hasKey || age < keysMinFetchInterval) {
		return set.keys, nil
	}
	keys, err := c.fetch(ctx, endpoint)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sets[endpoint] = keySet{keys: keys, fetchedAt: time.Now()}
	return keys, nil
}

func (c *keyCache) fetch(ctx context.Context, endpoint string) ([]publicKey, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", endpoint, resp.Status)
	}
	var doc struct {
		Keys []jwk `json:"keys"`
	}
	if err := json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&doc); err != nil {
		return nil, fmt.Errorf("%s: %w", endpoint, err)
	}
	var keys []publicKey
	for _, k := range doc.Keys {
		if key, ok := k.publicKey(); ok {
			keys = append(keys, publicKey{id: k.KeyID, algorithm: k.Algorithm, key: key})
		}
	}
	return keys, nil
}

// jwk is a JSON Web Key.
type jwk struct {
	Type      string `json:"kty"`
	KeyID     string `json:"kid"`
	Algorithm string `json:"alg"`
	Curve     string `json:"crv"`
	N         string `json:"n"`
	E         string `json:"e"`
	X         string `json:"x"`
	Y         string `json:"y"`
}

// publicKey returns the public key. It returns false if the key is invalid or load balancers do not support its type.
func (k jwk) publicKey() (any, bool) {
	switch k.Type {
	case "RSA":
		n, okN := decodeBigInt(k.N)
		e, okE := decodeBigInt(k.E)
		if !okN || !okE || !e.IsInt64() || e.Int64() > 1<<31-1 {
			return nil, false
		}
		return &rsa.PublicKey{N: n, E: int(e.Int64())}, true
	case "EC":
		curves := map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()}
		x, okX := decodeBigInt(k.X)
		y, okY := decodeBigInt(k.Y)
		curve, okC := curves[k.Curve]
		if !okX || !okY || !okC {
			return nil, false
		}
		size := (curve.Params().BitSize + 7) / 8
		if x.BitLen() > size*8 || y.BitLen() > size*8 {
			return nil, false
		}
		point := make([]byte, 1+2*size)
		point[0] = 4 // uncompressed
		x.FillBytes(point[1 : 1+size])
		y.FillBytes(point[1+size:])
		key, err := ecdsa.ParseUncompressedPublicKey(curve, point)
		return key, err == nil // an error means that the point is not on the curve
	}
	return nil, false
}

func decodeBigInt(text string) (*big.Int, bool) {
	raw, err := base64.RawURLEncoding.DecodeString(text)
	return new(big.Int).SetBytes(raw), err == nil && len(raw) > 0
}
