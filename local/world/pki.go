package world

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/fulcrum-lb/fulcrum/config/rbac"
)

// credentials are the certificates, keys and tokens of one local world. They are removed with the local world.
type credentials struct {
	dir    string
	caPEM  []byte
	caCert *x509.Certificate
	caKey  crypto.Signer
	tokens map[string]string // bearer token, by user
}

// Users of the API server: a cluster admin, and the service account of the controller, which has the permissions in
// config/rbac.
const (
	userAdmin      = "fulcrum-local"
	userController = rbac.ServiceAccountUser
)

// newCredentials creates directory dir with a CA, the certificates of the API server, the key of service account tokens and
// a bearer token for each user. server is the address of the API server.
func newCredentials(dir string, server net.IP) (*credentials, error) {
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, fmt.Errorf("make credentials: %w", err)
	}
	c := &credentials{dir: dir, tokens: map[string]string{}}
	if err := c.makeCA(); err != nil {
		return nil, fmt.Errorf("make CA: %w", err)
	}
	names := []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	ips := []net.IP{server, net.IPv4(127, 0, 0, 1), net.IPv4(10, servicesSlot, 0, 1)}
	if err := c.issueServerCert("apiserver", names, ips); err != nil {
		return nil, fmt.Errorf("make API server certificate: %w", err)
	}
	if err := c.writeAdmissionConfig(); err != nil {
		return nil, fmt.Errorf("make the API server's certificate for webhooks: %w", err)
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	if err := c.writeKey("service-accounts.key", key); err != nil {
		return nil, err
	}
	return c, c.makeTokens()
}

func (c *credentials) path(name string) string { return filepath.Join(c.dir, name) }

func (c *credentials) makeCA() error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		SerialNumber:          big.NewInt(1),
		Subject:               pkix.Name{CommonName: "fulcrum-local"},
		NotBefore:             time.Now().Add(-time.Hour),
		NotAfter:              time.Now().AddDate(1, 0, 0),
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return err
	}
	if c.caCert, err = x509.ParseCertificate(der); err != nil {
		return err
	}
	c.caKey = key
	c.caPEM = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := c.writeKey("ca.key", key); err != nil {
		return err
	}
	return os.WriteFile(c.path("ca.crt"), c.caPEM, 0o600)
}

// issueServerCert writes name.crt and name.key, with a new server certificate for DNS names and IP addresses.
func (c *credentials) issueServerCert(name string, dns []string, ips []net.IP) error {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	return c.issueServerCertForKey(name, key, dns, ips)
}

func (c *credentials) issueServerCertForKey(name string, key crypto.Signer, dns []string, ips []net.IP) error {
	return c.issueCert(x509.ExtKeyUsageServerAuth, name, key, dns, ips)
}

func (c *credentials) issueCert(usage x509.ExtKeyUsage, name string, key crypto.Signer, dns []string, ips []net.IP) error {
	der, err := c.sign(usage, key.Public(), dns, ips)
	if err != nil {
		return err
	}
	crt := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	if err := os.WriteFile(c.path(name+".crt"), crt, 0o600); err != nil {
		return err
	}
	return c.writeKey(name+".key", key)
}

// sign returns a DER certificate that the CA has signed. The first DNS name is the common name of its subject.
func (c *credentials) sign(usage x509.ExtKeyUsage, key crypto.PublicKey, dns []string, ips []net.IP) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 100))
	if err != nil {
		return nil, err
	}
	template := &x509.Certificate{
		SerialNumber: serial,
		Subject:      pkix.Name{CommonName: dns[0]},
		// Load balancers prefer the certificate with the longest validity period, so all certificates have the same
		// period.
		NotBefore:   c.caCert.NotBefore,
		NotAfter:    c.caCert.NotAfter,
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{usage},
		DNSNames:    dns,
		IPAddresses: ips,
	}
	return x509.CreateCertificate(rand.Reader, template, c.caCert, key, c.caKey)
}

// IssueCertificate returns a new server certificate for DNS names, which clients of this local world trust, and its key, as
// PEM. The certificate of the CA follows the server certificate.
func (w *World) IssueCertificate(names ...string) (certificate, key []byte, err error) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, nil, err
	}
	der, err := w.creds.sign(x509.ExtKeyUsageServerAuth, private.Public(), names, nil)
	if err != nil {
		return nil, nil, err
	}
	key, err = encodeKey(private)
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), w.creds.caPEM...), key, err
}

func (c *credentials) writeKey(name string, key crypto.Signer) error {
	b, err := encodeKey(key)
	if err != nil {
		return err
	}
	return os.WriteFile(c.path(name), b, 0o600)
}

// makeTokens creates a bearer token for each user, and writes the API server's file of static tokens.
func (c *credentials) makeTokens() error {
	var table string
	for _, u := range []struct{ name, groups string }{
		{userAdmin, "system:masters"},
		{userController, "system:serviceaccounts,system:serviceaccounts:kube-system"},
	} {
		var b [24]byte
		if _, err := rand.Read(b[:]); err != nil {
			return err
		}
		c.tokens[u.name] = hex.EncodeToString(b[:])
		table += fmt.Sprintf("%s,%s,%s,%q\n", c.tokens[u.name], u.name, u.name, u.groups)
	}
	return os.WriteFile(c.path("tokens.csv"), []byte(table), 0o600)
}

// writeKubeconfig writes a kubeconfig for one user. The kubeconfig contains the CA instead of its path, because Go clients
// cache transports by path, and the next local world may use the same path. server is the URL of the API server.
func (c *credentials) writeKubeconfig(path, server, user string) error {
	const form = `apiVersion: v1
kind: Config
clusters:
- name: fulcrum-local
  cluster:
    server: %s
    certificate-authority-data: %s
users:
- name: %[3]s
  user:
    token: %[4]s
contexts:
- name: fulcrum-local
  context: {cluster: fulcrum-local, user: %[3]s}
current-context: fulcrum-local
`
	return os.WriteFile(path, fmt.Appendf(nil, form, server, base64.StdEncoding.EncodeToString(c.caPEM), user, c.tokens[user]), 0o600)
}
