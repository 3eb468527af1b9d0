package migrate

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// addPlaceholderSecrets adds to store a Secret for each TLS Secret that Ingresses name, all with the same certificate. The
// real Secrets are not read, because a translation does not depend on their certificates.
func addPlaceholderSecrets(store *cluster.Memory, labels map[string]string, now time.Time) error {
	cert, key, err := newSelfSignedCertificate(now)
	if err != nil {
		return err
	}
	for _, obj := range store.All(cluster.KindIngress) {
		for _, t := range obj.(*networkingv1.Ingress).Spec.TLS {
			if t.SecretName == "" {
				continue
			}
			err := store.Put(&corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: obj.GetNamespace(), Name: t.SecretName, Labels: labels}, Type: corev1.SecretTypeTLS,
				Data: map[string][]byte{corev1.TLSCertKey: cert, corev1.TLSPrivateKeyKey: key},
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// newSelfSignedCertificate returns a certificate and its key in PEM. The certificate does not contain the hosts of
// Ingresses, because some hosts are not valid in a certificate.
func newSelfSignedCertificate(now time.Time) (cert, key []byte, err error) {
	signer, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "translation"}, DNSNames: []string{"translation.invalid"},
		NotBefore: now.AddDate(0, 0, -1), NotAfter: now.AddDate(1, 0, 0),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, c, c, signer.Public(), signer)
	if err != nil {
		return nil, nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(signer)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), nil
}
