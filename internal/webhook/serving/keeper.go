package serving

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	admissionclient "k8s.io/client-go/kubernetes/typed/admissionregistration/v1"
	authenticationclient "k8s.io/client-go/kubernetes/typed/authentication/v1"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
)

// The label of Secrets that the controller has created, its value, and the key of the CA bundle.
const (
	managedByLabel = "app.kubernetes.io/managed-by"
	managedByValue = "fulcrum"
	caBundleKey    = "ca.crt"
)

// CertificateKeeper creates and renews the certificate of the webhook server. Replicas share the certificate through a
// Secret of type kubernetes.io/tls, whose key ca.crt has the bundle of CAs. If the controller did not create the Secret, its
// certificate is served, but the Secret is never changed.
//
// The CA bundle is written into the webhook configurations before the certificate is served. Configurations are read before
// the Secret, and are written only if they have not changed since that read. Therefore an older bundle never replaces a
// newer bundle.
type CertificateKeeper struct {
	// Secrets and Hooks are clients of the API server. If Secrets is nil, the certificate is only in memory, and the API
	// server does not trust this certificate.
	Secrets corev1client.SecretInterface
	Hooks   admissionclient.AdmissionregistrationV1Interface
	// Secret and Service are names in Namespace. Configuration is the name of both webhook configurations; the bundle is
	// written only into webhooks that use the Service.
	Namespace, Secret, Service, Configuration string
	// SelfSubjectReviews is the client that reads the name of the user of this process; nil leaves match conditions
	// unchanged.
	SelfSubjectReviews authenticationclient.SelfSubjectReviewInterface
	Clock              clock.PassiveClock
	Log                logr.Logger

	servedCertificate atomic.Pointer[tls.Certificate]
	// currentAuthorities is the CA bundle of servedCertificate.
	currentAuthorities []byte
	loggedTopics       map[string]bool
}

// Certificate returns the certificate to serve; nil before the first Sync.
func (k *CertificateKeeper) Certificate() *tls.Certificate { return k.servedCertificate.Load() }

// Sync updates the Secret, the CA bundle, the served certificate and the match conditions. After an error it still serves
// the previous certificate, or a new certificate that is not shared. Sync must not be called concurrently.
func (k *CertificateKeeper) Sync(ctx context.Context) error {
	err := errors.Join(k.ExemptController(ctx), k.syncSharedCertificate(ctx))
	if k.Certificate() == nil {
		err = errors.Join(err, k.serveUnsharedCertificate())
	}
	return err
}

// syncSharedCertificate serves the certificate that the replicas share.
func (k *CertificateKeeper) syncSharedCertificate(ctx context.Context) error {
	if k.Secrets == nil {
		return k.serveUnsharedCertificate()
	}
	configurations, err := k.readConfigurations(ctx)
	if err != nil {
		return err
	}
	id, err := k.sharedIdentity(ctx)
	if apierrors.IsForbidden(err) {
		k.logOnce("secret", "the webhooks' certificate cannot be shared or trusted: no permission to access the Secret; grant the permission, or set --webhook-cert-dir to a directory with a certificate", "secret", k.Secret)
		return k.serveUnsharedCertificate()
	}
	if err != nil {
		return err
	}
	cert, err := id.parse()
	if err != nil {
		return fmt.Errorf("secret %s holds no usable certificate: %w", k.Secret, err)
	}
	for _, configuration := range configurations {
		err := k.writeBundle(ctx, configuration, id.CA)
		if apierrors.IsForbidden(err) {
			k.logMissingRightOnce()
			continue
		}
		if err != nil {
			return fmt.Errorf("write the CA bundle into the webhook configuration: %w", err)
		}
	}
	k.serveIdentity(id, cert)
	return nil
}

// hostNames returns the host names under which the API server may call the webhooks.
func (k *CertificateKeeper) hostNames() []string {
	n := k.Service + "." + k.Namespace
	return []string{n, n + ".svc", n + ".svc.cluster.local"}
}

// sharedIdentity returns the certificate that the replicas share. It creates or replaces the certificate if needed.
func (k *CertificateKeeper) sharedIdentity(ctx context.Context) (servingCertificate, error) {
	for range 3 {
		have, err := k.Secrets.Get(ctx, k.Secret, metav1.GetOptions{})
		missing := apierrors.IsNotFound(err)
		if err != nil && !missing {
			return servingCertificate{}, fmt.Errorf("read secret %s: %w", k.Secret, err)
		}
		if missing {
			have = &corev1.Secret{Type: corev1.SecretTypeTLS, ObjectMeta: metav1.ObjectMeta{
				Name: k.Secret, Labels: map[string]string{managedByLabel: managedByValue},
				// Without this annotation, a Helm release that once had a Secret of this name would delete this Secret.
				Annotations: map[string]string{"helm.sh/resource-policy": "keep"},
			}}
		}
		id := servingCertificate{CA: have.Data[caBundleKey], Cert: have.Data[corev1.TLSCertKey], Key: have.Data[corev1.TLSPrivateKeyKey]}
		cert, err := id.parse()
		if err == nil && id.isUsable(cert, k.hostNames(), k.Clock.Now()) {
			return id, nil
		}
		if have.Labels[managedByLabel] != managedByValue {
			k.logOnce("not-owned", "the webhooks' certificate expires soon, does not cover the webhooks' names, or is not signed by its ca.crt; the controller did not create it and does not replace it", "secret", k.Secret)
			return id, nil
		}
		previous := id.CA
		if missing {
			// If the Secret was deleted, other replicas serve the old certificate until they read the new certificate.
			previous = k.currentAuthorities
		}
		if id, err = newServingCertificate(k.hostNames(), previous, k.Clock.Now()); err != nil {
			return servingCertificate{}, err
		}
		next := have.DeepCopy()
		next.Data = map[string][]byte{caBundleKey: id.CA, corev1.TLSCertKey: id.Cert, corev1.TLSPrivateKeyKey: id.Key}
		if missing {
			_, err = k.Secrets.Create(ctx, next, metav1.CreateOptions{})
		} else {
			_, err = k.Secrets.Update(ctx, next, metav1.UpdateOptions{})
		}
		switch {
		case err == nil:
			k.Log.Info("created webhook certificate", "secret", k.Secret, "until", k.Clock.Now().Add(durations.CertificateLifetime))
			return id, nil
		case !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err):
			return servingCertificate{}, fmt.Errorf("write secret %s: %w", k.Secret, err)
		}
		// Another replica has written a certificate. The next attempt uses that certificate.
	}
	return servingCertificate{}, fmt.Errorf("secret %s was changed by another client during each attempt", k.Secret)
}

// serveUnsharedCertificate serves a certificate that only this process has. It creates a certificate if the process has no
// certificate, or if its certificate expires soon.
func (k *CertificateKeeper) serveUnsharedCertificate() error {
	if c := k.Certificate(); c != nil && c.Leaf.NotAfter.Sub(k.Clock.Now()) > durations.CertificateLifetime/3 {
		return nil
	}
	id, err := newServingCertificate(k.hostNames(), nil, k.Clock.Now())
	if err != nil {
		return err
	}
	cert, err := id.parse()
	if err != nil {
		return err
	}
	k.serveIdentity(id, cert)
	return nil
}

// serveIdentity sets the certificate that is served, and records its CAs.
func (k *CertificateKeeper) serveIdentity(id servingCertificate, cert *tls.Certificate) {
	k.currentAuthorities = id.CA
	k.servedCertificate.Store(cert)
}

// logOnce logs a message, unless it has already logged a message with this topic.
func (k *CertificateKeeper) logOnce(topic, message string, values ...any) {
	if k.loggedTopics == nil {
		k.loggedTopics = map[string]bool{}
	}
	if !k.loggedTopics[topic] {
		k.loggedTopics[topic] = true
		k.Log.Info("warning: "+message, values...)
	}
}

// ignoreMissingOrForbidden returns nil if a webhook configuration was read or does not exist, or if the permission to read
// it is missing. It returns other errors with a description.
func (k *CertificateKeeper) ignoreMissingOrForbidden(err error) error {
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		k.logMissingRightOnce()
		return nil
	}
	return fmt.Errorf("read the webhook configuration: %w", err)
}

// logMissingRightOnce logs that the permission to change webhook configurations is missing.
func (k *CertificateKeeper) logMissingRightOnce() {
	k.logOnce("bundle", "no permission to change the webhook configuration; write ca.crt of the Secret and the controller's user into it", "configuration", k.Configuration)
}
