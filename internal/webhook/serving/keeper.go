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

const (
	managedBy = "app.kubernetes.io/managed-by"
	manager   = "fulcrum"
	caKey     = "ca.crt"
)

// Keeper keeps a self-made certificate. Replicas share it through a Secret of type
// kubernetes.io/tls with the bundle of CAs under ca.crt. A Secret that the controller did not
// create is served but never changed.
//
// A certificate is not served before the webhook configurations carry its CA: the bundle is written
// first. To keep an older bundle from overwriting a newer one, configurations are read before the
// Secret and written only if they have not changed since.
type Keeper struct {
	// Secrets and Hooks are the API server; nil Secrets keep the certificate in memory, so that
	// the API server does not trust it.
	Secrets corev1client.SecretInterface
	Hooks   admissionclient.AdmissionregistrationV1Interface
	// Secret, Service and Configuration are names, the first two in Namespace. Both webhook
	// configurations have the same name; in them, only webhooks that are reached through the Service
	// are given the bundle.
	Namespace, Secret, Service, Configuration string
	// Users returns the API server's name of this process's user; nil leaves match conditions as
	// they are.
	Users authenticationclient.SelfSubjectReviewInterface
	Clock clock.PassiveClock
	Log   logr.Logger

	served   atomic.Pointer[tls.Certificate]
	kept     identity
	reported map[string]bool
}

// Certificate returns the one to serve; nil before the first Sync.
func (k *Keeper) Certificate() *tls.Certificate { return k.served.Load() }

// Sync brings Secret, bundle, certificate and match conditions up to date. After an error the former
// certificate stays in use, and there is always one to serve. It must not be called concurrently.
func (k *Keeper) Sync(ctx context.Context) error {
	err := errors.Join(k.Exempt(ctx), k.sync(ctx))
	if k.Certificate() == nil {
		err = errors.Join(err, k.serveUnshared())
	}
	return err
}

func (k *Keeper) sync(ctx context.Context) error {
	if k.Secrets == nil {
		return k.serveUnshared()
	}
	hooks, err := k.readHooks(ctx)
	if err != nil {
		return err
	}
	id, err := k.sharedIdentity(ctx)
	if apierrors.IsForbidden(err) {
		k.logOnce("secret", "the webhooks' certificate cannot be shared or trusted: no right to the Secret; give a certificate in --webhook-cert-dir, or the right", "secret", k.Secret)
		return k.serveUnshared()
	}
	if err != nil {
		return err
	}
	cert, err := id.load()
	if err != nil {
		return fmt.Errorf("secret %s holds no usable certificate: %w", k.Secret, err)
	}
	for _, h := range hooks {
		err := k.writeBundle(ctx, h, id.CA)
		if apierrors.IsForbidden(err) {
			k.logBundleOnce()
			continue
		}
		if err != nil {
			return fmt.Errorf("write the CA bundle into the webhook configuration: %w", err)
		}
	}
	k.serve(id, cert)
	return nil
}

// names returns the host names that the API server may call.
func (k *Keeper) names() []string {
	n := k.Service + "." + k.Namespace
	return []string{n, n + ".svc", n + ".svc.cluster.local"}
}

// sharedIdentity returns the certificate that the replicas share, after creating or replacing it where that
// is needed.
func (k *Keeper) sharedIdentity(ctx context.Context) (identity, error) {
	for range 3 {
		have, err := k.Secrets.Get(ctx, k.Secret, metav1.GetOptions{})
		missing := apierrors.IsNotFound(err)
		if err != nil && !missing {
			return identity{}, fmt.Errorf("read secret %s: %w", k.Secret, err)
		}
		if missing {
			have = &corev1.Secret{Type: corev1.SecretTypeTLS, ObjectMeta: metav1.ObjectMeta{
				Name: k.Secret, Labels: map[string]string{managedBy: manager},
				// A release of a chart may have had a Secret of this name, and would delete this one.
				Annotations: map[string]string{"helm.sh/resource-policy": "keep"},
			}}
		}
		id := identity{CA: have.Data[caKey], Cert: have.Data[corev1.TLSCertKey], Key: have.Data[corev1.TLSPrivateKeyKey]}
		cert, err := id.load()
		if err == nil && id.isUsable(cert, k.names(), k.Clock.Now()) {
			return id, nil
		}
		if have.Labels[managedBy] != manager {
			k.logOnce("foreign", "the webhooks' certificate expires soon, does not cover the webhooks' names, or is not signed by its ca.crt; the controller did not create it and does not replace it", "secret", k.Secret)
			return id, nil
		}
		previous := id.CA
		if missing {
			// Where the Secret was deleted, other replicas serve its certificate until they see the new one.
			previous = k.kept.CA
		}
		if id, err = newIdentity(k.names(), previous, k.Clock.Now()); err != nil {
			return identity{}, err
		}
		next := have.DeepCopy()
		next.Data = map[string][]byte{caKey: id.CA, corev1.TLSCertKey: id.Cert, corev1.TLSPrivateKeyKey: id.Key}
		if missing {
			_, err = k.Secrets.Create(ctx, next, metav1.CreateOptions{})
		} else {
			_, err = k.Secrets.Update(ctx, next, metav1.UpdateOptions{})
		}
		switch {
		case err == nil:
			k.Log.Info("created webhook certificate", "secret", k.Secret, "until", k.Clock.Now().Add(durations.Lifetime))
			return id, nil
		case !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err):
			return identity{}, fmt.Errorf("write secret %s: %w", k.Secret, err)
		}
		// Another replica was faster; its certificate is as good.
	}
	return identity{}, fmt.Errorf("secret %s is changed by another client at every attempt", k.Secret)
}

// serveUnshared serves a certificate that is not shared.
func (k *Keeper) serveUnshared() error {
	if c := k.Certificate(); c != nil && c.Leaf.NotAfter.Sub(k.Clock.Now()) > durations.Lifetime/3 {
		return nil
	}
	id, err := newIdentity(k.names(), nil, k.Clock.Now())
	if err != nil {
		return err
	}
	cert, err := id.load()
	if err != nil {
		return err
	}
	k.serve(id, cert)
	return nil
}

func (k *Keeper) serve(id identity, cert *tls.Certificate) {
	if !k.kept.equal(id) || k.Certificate() == nil {
		k.kept = id
		k.served.Store(cert)
	}
}

// logOnce logs a message the first time it would be logged.
func (k *Keeper) logOnce(what, message string, values ...any) {
	if k.reported == nil {
		k.reported = map[string]bool{}
	}
	if !k.reported[what] {
		k.reported[what] = true
		k.Log.Info("warning: "+message, values...)
	}
}

// ignoreUnavailable ignores configurations that do not exist or may not be read.
func (k *Keeper) ignoreUnavailable(err error) error {
	switch {
	case err == nil, apierrors.IsNotFound(err):
		return nil
	case apierrors.IsForbidden(err):
		k.logBundleOnce()
		return nil
	}
	return fmt.Errorf("read the webhook configuration: %w", err)
}

func (k *Keeper) logBundleOnce() {
	k.logOnce("bundle", "no right to change the webhook configuration; write ca.crt of the Secret and the controller's user into it", "configuration", k.Configuration)
}
