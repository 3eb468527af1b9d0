package certificate

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/asn1"
	"encoding/hex"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// The limits of ACM, and limits for the size of the input. Sizes are in bytes, sizes of RSA keys in bits.
const (
	maxCertificateBytes = 32 << 10  // one certificate in PEM
	maxKeyBytes         = 5 << 10   // the private key in PEM
	maxInputBytes       = 256 << 10 // the value of one key of a Secret
	maxCertificates     = 10        // certificates including the chain; a file with more is a CA bundle
	maxDNSNames         = 100       // DNS names of a certificate that load balancers use
	minRSABits          = 2048
	maxRSABits          = 4096
	maxRSAExponent      = 1<<31 - 1 // of RSA; ACM documents no maximum, and Go verifies no signature with a larger exponent
)

// Fault is the reason why a certificate cannot be imported, and what users can do.
type Fault struct{ Message, Fix string }

func newFault(fix, format string, args ...any) *Fault {
	return &Fault{Message: fmt.Sprintf(format, args...), Fix: fix}
}

// parse parses a certificate with its chain, and the private key, all in PEM. If the chain is missing, the certificate of
// the issuer is taken from authorities. A chain in a wrong order is sorted if only one order is possible.
func parse(certificates, key, authorities []byte) (*model.CertificateContent, *Fault) {
	all, f := parseCertificates("tls.crt", certificates)
	if f != nil {
		return nil, f
	}
	for i, c := range all {
		if f := checkKeySize(fmt.Sprintf("certificate %d of tls.crt", i+1), c); f != nil {
			return nil, f
		}
	}
	block, f := privateKeyBlock(key)
	if f != nil {
		return nil, f
	}
	signer, f := parsePrivateKey(block)
	if f != nil {
		return nil, f
	}
	leaf, f := leafOf(all, signer.Public())
	if f != nil {
		return nil, f
	}
	if f := checkUsable(leaf); f != nil {
		return nil, f
	}
	chain, f := chainOf(leaf, all)
	if f == nil && len(chain) == 0 && !isSelfSigned(leaf) {
		chain, f = issuerOf(leaf, authorities)
	}
	if f != nil {
		return nil, f
	}
	return &model.CertificateContent{
		Body: certificatesPEM([]*x509.Certificate{leaf}), Chain: certificatesPEM(chain), Key: model.Secret(pem.EncodeToMemory(block)), Is: identityOf(leaf, chain),
	}, nil
}

// Identify returns the public properties of an imported certificate. body and chain are the certificate and its chain as ACM
// returns them.
func Identify(body, chain string) (model.CertificateIdentity, error) {
	leaf, f := parseCertificates("certificate", []byte(body))
	if f != nil {
		return model.CertificateIdentity{}, errors.New(f.Message)
	}
	var rest []*x509.Certificate
	if strings.TrimSpace(chain) != "" {
		if rest, f = parseCertificates("certificate", []byte(chain)); f != nil {
			return model.CertificateIdentity{}, errors.New(f.Message)
		}
	}
	return identityOf(leaf[0], append(leaf[1:len(leaf):len(leaf)], rest...)), nil
}

const certificateBlock = "CERTIFICATE"

func certificatesPEM(chain []*x509.Certificate) string {
	var out strings.Builder
	for _, c := range chain {
		_ = pem.Encode(&out, &pem.Block{Type: certificateBlock, Bytes: c.Raw}) // a strings.Builder returns no error
	}
	return out.String()
}

const fixPEM = "store the certificate and its chain in PEM format in tls.crt, and the unencrypted private key in tls.key"

// parseCertificates parses certificates in PEM, and skips duplicates. where is the name of the input for messages.
func parseCertificates(where string, text []byte) ([]*x509.Certificate, *Fault) {
	fix := "store only the certificate and its chain in tls.crt"
	if len(text) > maxInputBytes {
		return nil, newFault(fix, "%s has %d bytes, more than the maximum of %d", where, len(text), maxInputBytes)
	}
	var out []*x509.Certificate
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != certificateBlock {
			return nil, newFault(fixPEM, "%s has a PEM block other than a certificate", where)
		}
		if slices.ContainsFunc(out, func(c *x509.Certificate) bool { return bytes.Equal(c.Raw, block.Bytes) }) {
			continue
		}
		if len(out) == maxCertificates {
			return nil, newFault(fix, "%s has more than %d certificates", where, maxCertificates)
		}
		if n := len(pem.EncodeToMemory(&pem.Block{Type: certificateBlock, Bytes: block.Bytes})); n > maxCertificateBytes {
			return nil, newFault("issue a certificate with fewer names or extensions", "certificate %d of %s has %d bytes, but ACM accepts at most %d", len(out)+1, where, n, maxCertificateBytes)
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, newFault(fixPEM, "certificate %d of %s cannot be read", len(out)+1, where)
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, newFault(fixPEM, "%s has no certificate in PEM format", where)
	}
	return out, nil
}

// checkKeySize returns a fault if ACM does not accept the type or size of the public key of a certificate. It is called
// before any signature is verified: verifying takes longer with a larger key of the issuer, and the author of the Secret
// chooses that key. Issuers may have smaller keys than load balancers accept for the certificate itself.
func checkKeySize(which string, c *x509.Certificate) *Fault {
	k, isRSA := c.PublicKey.(*rsa.PublicKey)
	if isRSA && k.N.BitLen() <= maxRSABits && k.E <= maxRSAExponent || !isRSA && algorithmOf(c.PublicKey) != "" {
		return nil
	}
	return newFault(fixKey, "the key of %s is %s, which load balancers do not accept", which, keyText(c.PublicKey))
}

// privateKeyBlock returns the first PEM block with a private key, without the headers of the block.
func privateKeyBlock(text []byte) (*pem.Block, *Fault) {
	if len(text) > maxInputBytes {
		return nil, newFault("store one private key in tls.key", "tls.key has %d bytes, more than the maximum of %d", len(text), maxInputBytes)
	}
	for rest := text; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			return nil, newFault(fixPEM, "tls.key has no private key in PEM format")
		}
		switch {
		case block.Type == "ENCRYPTED PRIVATE KEY", block.Headers["DEK-Info"] != "":
			return nil, newFault("store the key without a passphrase", "the private key in tls.key is encrypted")
		case !slices.Contains([]string{keyPKCS8, keyPKCS1, keySEC1}, block.Type):
			continue // such as the parameters of an elliptic curve
		}
		block.Headers = nil
		if n := len(pem.EncodeToMemory(block)); n > maxKeyBytes {
			return nil, newFault(fixKey, "the private key has %d bytes, but ACM accepts at most %d", n, maxKeyBytes)
		}
		return block, nil
	}
}

// The types of PEM blocks with private keys.
const (
	keyPKCS8 = "PRIVATE KEY"
	keyPKCS1 = "RSA PRIVATE KEY"
	keySEC1  = "EC PRIVATE KEY"
)

func parsePrivateKey(block *pem.Block) (crypto.Signer, *Fault) {
	var key any
	var err error
	switch block.Type {
	case keyPKCS8:
		key, err = x509.ParsePKCS8PrivateKey(block.Bytes)
	case keyPKCS1:
		key, err = x509.ParsePKCS1PrivateKey(block.Bytes)
	case keySEC1:
		key, err = x509.ParseECPrivateKey(block.Bytes)
	}
	signer, ok := key.(crypto.Signer)
	if err != nil || !ok {
		return nil, newFault(fixPEM, "the private key in tls.key cannot be read")
	}
	return signer, nil
}

const fixKey = "issue the certificate for an RSA key of 2048, 3072 or 4096 bits, or an ECDSA key on P-256, P-384 or P-521"

// algorithmOf returns the algorithm of a public key as the ACM API names it; "" if load balancers do not accept the key.
func algorithmOf(key any) string {
	switch k := key.(type) {
	case *rsa.PublicKey:
		switch bits := k.N.BitLen(); bits {
		case minRSABits, 3072, maxRSABits:
			return fmt.Sprintf("RSA_%d", bits)
		}
	case *ecdsa.PublicKey:
		switch k.Curve {
		case elliptic.P256():
			return "EC_prime256v1"
		case elliptic.P384():
			return "EC_secp384r1"
		case elliptic.P521():
			return "EC_secp521r1"
		}
	}
	return ""
}

// keyText returns the type and size of a key that load balancers do not accept, for messages.
func keyText(key any) string {
	switch k := key.(type) {
	case *rsa.PublicKey:
		if k.E > maxRSAExponent {
			return fmt.Sprintf("RSA with the exponent %d", k.E)
		}
		return fmt.Sprintf("RSA with %d bits", k.N.BitLen())
	case *ecdsa.PublicKey:
		return "ECDSA on " + k.Curve.Params().Name
	case ed25519.PublicKey:
		return "Ed25519"
	}
	return "of an unknown type"
}

// leafOf returns the only certificate in all with the public key key; a fault if there is none or more than one.
func leafOf(all []*x509.Certificate, key crypto.PublicKey) (*x509.Certificate, *Fault) {
	var out *x509.Certificate
	comparable, ok := key.(interface{ Equal(crypto.PublicKey) bool })
	for _, c := range all {
		if !ok || !comparable.Equal(c.PublicKey) {
			continue
		}
		if out != nil {
			return nil, newFault("keep one certificate and its chain", "two certificates in tls.crt belong to the private key")
		}
		out = c
	}
	if out == nil {
		return nil, newFault("store the private key that the certificate was issued for in tls.key", "the private key in tls.key does not belong to the certificate in tls.crt")
	}
	return out, nil
}

// checkUsable returns the reason why load balancers do not accept a certificate; nil if they accept it.
func checkUsable(leaf *x509.Certificate) *Fault {
	if algorithmOf(leaf.PublicKey) == "" {
		return newFault(fixKey, "the key is %s, which load balancers do not accept", keyText(leaf.PublicKey))
	}
	switch leaf.SignatureAlgorithm {
	case x509.UnknownSignatureAlgorithm:
		return newFault("issue the certificate with a signature that uses SHA-256 or a longer hash", "the signature algorithm of the certificate is unknown")
	case x509.MD2WithRSA, x509.MD5WithRSA, x509.SHA1WithRSA, x509.DSAWithSHA1, x509.ECDSAWithSHA1:
		return newFault("issue the certificate with a signature that uses SHA-256 or a longer hash", "the certificate has a signature with %s, which load balancers do not accept", leaf.SignatureAlgorithm)
	}
	switch names := dnsNamesOf(leaf); {
	case len(names) == 0:
		return newFault("issue the certificate for the DNS names of the hosts", "the certificate has no DNS name")
	case len(names) > maxDNSNames:
		return newFault("split the names over several certificates", "the certificate has %d DNS names, more than the maximum of %d", len(names), maxDNSNames)
	}
	if len(leaf.Issuer.String()) == 0 {
		return newFault("issue the certificate with an authority that has a name", "the certificate has no name of its issuer, which ACM requires")
	}
	return nil
}

// dnsNamesOf returns the DNS names of a certificate in lower case. If there are none, it returns the common name, provided
// that this is a DNS name.
func dnsNamesOf(leaf *x509.Certificate) []string {
	var out []string
	for _, n := range leaf.DNSNames {
		if n = strings.ToLower(n); !slices.Contains(out, n) {
			out = append(out, n)
		}
	}
	if name := strings.ToLower(leaf.Subject.CommonName); len(out) == 0 && strings.Contains(name, ".") && !strings.ContainsAny(name, " @/") {
		out = append(out, name)
	}
	return out
}

// chainOf returns all certificates except leaf, in an order in which the first one issued leaf and each further one issued
// the one before it. It returns a fault if more than one order is possible, or if a certificate does not belong to the
// chain.
func chainOf(leaf *x509.Certificate, all []*x509.Certificate) ([]*x509.Certificate, *Fault) {
	var rest, chain []*x509.Certificate
	for _, c := range all {
		if c != leaf {
			rest = append(rest, c)
		}
	}
	for last := leaf; len(rest) > 0; {
		var next []int
		for i, c := range rest {
			if bytes.Equal(last.RawIssuer, c.RawSubject) && last.CheckSignatureFrom(c) == nil {
				next = append(next, i)
			}
		}
		switch {
		case len(next) == 0:
			return nil, newFault("store the certificate first, and after each certificate the one that issued it",
				"the chain in tls.crt is not complete: %d of its certificates did not issue the one before them", len(rest))
		case len(next) > 1:
			return nil, newFault("keep one chain in tls.crt", "the chain in tls.crt has more than one order, because two of its certificates issued the same certificate")
		}
		last = rest[next[0]]
		chain = append(chain, last)
		rest = slices.Delete(rest, next[0], next[0]+1)
	}
	return chain, nil
}

// isSelfSigned reports whether a certificate is signed with its own key.
func isSelfSigned(c *x509.Certificate) bool {
	return bytes.Equal(c.RawIssuer, c.RawSubject) && c.CheckSignature(c.SignatureAlgorithm, c.RawTBSCertificate, c.Signature) == nil
}

// issuerOf returns the certificate of the issuer of leaf from authorities, as a chain. ACM requires a chain for a
// certificate that is not self-signed.
func issuerOf(leaf *x509.Certificate, authorities []byte) ([]*x509.Certificate, *Fault) {
	all, f := parseCertificates("ca.crt", authorities)
	if f == nil {
		// A CA bundle may have certificates other than that of the issuer.
		all = slices.DeleteFunc(all, func(c *x509.Certificate) bool { return !bytes.Equal(leaf.RawIssuer, c.RawSubject) })
		for _, c := range all {
			if f := checkKeySize("the issuer in ca.crt", c); f != nil {
				return nil, f
			}
		}
		all = slices.DeleteFunc(all, func(c *x509.Certificate) bool {
			return leaf.CheckSignatureFrom(c) != nil
		})
	}
	if len(all) != 1 {
		return nil, newFault("add the certificate of the issuer to tls.crt after the certificate, or to ca.crt",
			"the certificate is not self-signed, and neither tls.crt nor ca.crt has exactly one certificate of its issuer, which ACM requires")
	}
	return all, nil
}

func identityOf(leaf *x509.Certificate, chain []*x509.Certificate) model.CertificateIdentity {
	sum := sha256.New()
	for _, c := range append([]*x509.Certificate{leaf}, chain...) {
		one := sha256.Sum256(c.Raw)
		sum.Write(one[:])
	}
	out := model.CertificateIdentity{
		Fingerprint: hex.EncodeToString(sum.Sum(nil)), Names: dnsNamesOf(leaf), Algorithm: algorithmOf(leaf.PublicKey), KeyUsages: int(leaf.KeyUsage),
		NotBefore: leaf.NotBefore.Unix(), NotAfter: leaf.NotAfter.Unix(),
	}
	for _, e := range leaf.Extensions {
		var usages []asn1.ObjectIdentifier
		if !e.Id.Equal(extendedKeyUsage) {
			continue
		}
		if _, err := asn1.Unmarshal(e.Value, &usages); err != nil {
			continue
		}
		for _, u := range usages {
			out.ExtendedKeyUsages = append(out.ExtendedKeyUsages, u.String())
		}
	}
	slices.Sort(out.ExtendedKeyUsages)
	return out
}

var extendedKeyUsage = asn1.ObjectIdentifier{2, 5, 29, 37}
