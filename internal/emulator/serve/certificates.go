package serve

import (
	"crypto/tls"
	"fmt"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/acm"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/dataplane"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// keyPairCache caches key pairs that were parsed from PEM, because parsing is slow. Only the goroutine that applies the
// state uses it.
type keyPairCache struct {
	pairs map[string]tls.Certificate // by PEM
}

func newKeyPairCache() *keyPairCache { return &keyPairCache{pairs: map[string]tls.Certificate{}} }

// convertCertificate returns a certificate of ACM with its key. If the certificate has no key yet, it returns an error and
// adds the ARN to certificatesWithoutKey. createKeys creates the key later, because the state lock is held now.
func (b *builder) convertCertificate(arn string) (dataplane.Certificate, error) {
	if !strings.Contains(arn, ":acm:") {
		return dataplane.Certificate{}, fmt.Errorf("certificate %s cannot be served: the emulator does not support IAM server certificates", arn)
	}
	c := b.p.ACM.Certificates[arn]
	if c == nil {
		return dataplane.Certificate{}, fmt.Errorf("certificate %s does not exist", arn)
	}
	if c.CertificatePEM == "" {
		b.certificatesWithoutKey = append(b.certificatesWithoutKey, arn)
		return dataplane.Certificate{}, fmt.Errorf("certificate %s has no key yet", arn)
	}
	pair, err := b.s.keyPairs.keyPair(c)
	if err != nil {
		return dataplane.Certificate{}, fmt.Errorf("certificate %s: %w", arn, err)
	}
	return dataplane.Certificate{ARN: arn, TLS: pair, Domains: append([]string{}, c.Names...)}, nil
}

func (k *keyPairCache) keyPair(c *store.Certificate) (tls.Certificate, error) {
	chain := strings.TrimRight(c.CertificatePEM, "\n") + "\n" + c.ChainPEM
	if pair, ok := k.pairs[chain]; ok {
		return pair, nil
	}
	pair, err := tls.X509KeyPair([]byte(chain), []byte(c.KeyPEM))
	if err != nil {
		return tls.Certificate{}, err
	}
	k.pairs[chain] = pair
	return pair, nil
}

// createKeys creates the keys of requested certificates. It does not hold the state lock while it creates keys, because
// the creation of RSA keys is slow.
func createKeys(w *store.Store, arns []string) {
	for _, arn := range arns {
		var copied store.Certificate
		w.Lock()
		found := findCertificate(w, arn)
		if found != nil {
			copied = *found
		}
		w.Unlock()
		if found == nil || acm.GenerateContent(&copied) != nil {
			continue // the next build adds an error for the listener
		}
		w.Lock()
		if found := findCertificate(w, arn); found != nil && found.CertificatePEM == "" {
			found.CertificatePEM, found.KeyPEM = copied.CertificatePEM, copied.KeyPEM
		}
		w.Unlock()
	}
}

func findCertificate(w *store.Store, arn string) *store.Certificate {
	for _, p := range w.Partitions() {
		if c := p.ACM.Certificates[arn]; c != nil {
			return c
		}
	}
	return nil
}
