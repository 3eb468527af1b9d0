package serving

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
)

const dnsName = "svc.ns.svc"

func (a *fakeAPIServer) newKeeper(clock clock.PassiveClock) *CertificateKeeper {
	return &CertificateKeeper{
		Secrets: a.coreClient().Secrets("ns"), Hooks: a.hooksClient(), Namespace: "ns", Secret: "tls", Service: "svc", Configuration: "hooks",
		Clock: clock, Log: logr.Discard(),
	}
}

// createConfigurations creates a mutating and a validating webhook configuration. Each has a webhook of the controller and a
// webhook of another Service.
func (a *fakeAPIServer) createConfigurations(annotations map[string]any) {
	client := func(service string) map[string]any {
		return map[string]any{"name": service + ".test", "clientConfig": map[string]any{"service": map[string]any{"name": service, "namespace": "ns"}}}
	}
	for _, path := range []string{mutatingPath, validatingPath} {
		a.put(path, map[string]any{
			"metadata": map[string]any{"name": "hooks", "annotations": annotations},
			"webhooks": []any{client("svc"), client("other")},
		})
	}
}

// bundle returns the CA bundle of a webhook, or nil if it has none.
func (a *fakeAPIServer) bundle(path string, i int) []byte {
	client := a.get(path)["webhooks"].([]any)[i].(map[string]any)["clientConfig"].(map[string]any)
	text, _ := client["caBundle"].(string)
	out, err := base64.StdEncoding.DecodeString(text)
	if err != nil {
		a.t.Fatal(err)
	}
	return out
}

// isTrusted reports whether a client with the bundle accepts the certificate.
func isTrusted(bundle []byte, c *tls.Certificate, now time.Time) bool {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(bundle)
	_, err := c.Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: dnsName, CurrentTime: now})
	return err == nil
}

func (a *fakeAPIServer) mustSync(k *CertificateKeeper) {
	a.t.Helper()
	if err := k.Sync(a.t.Context()); err != nil {
		a.t.Fatal(err)
	}
}

var startTime = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func newTestClock() (*time.Time, clock.PassiveClock) {
	now := startTime
	return &now, testclock.FromVariable(&now)
}

func TestReplicasShareATrustedCertificate(t *testing.T) {
	a := newFakeAPIServer(t)
	a.createConfigurations(nil)
	_, now := newTestClock()
	one, two := a.newKeeper(now), a.newKeeper(now)
	a.mustSync(one)
	a.mustSync(two)
	if !bytes.Equal(one.Certificate().Certificate[0], two.Certificate().Certificate[0]) {
		t.Error("two replicas serve two certificates")
	}
	for _, path := range []string{mutatingPath, validatingPath} {
		if !isTrusted(a.bundle(path, 0), one.Certificate(), startTime) {
			t.Errorf("%s does not trust the certificate", path)
		}
		if len(a.bundle(path, 1)) > 0 {
			t.Errorf("%s: the webhook of another service was touched", path)
		}
	}
	if got := a.get(secretPath)["type"]; got != "kubernetes.io/tls" {
		t.Errorf("the Secret is of type %v", got)
	}
	version := a.version
	a.mustSync(one)
	if a.version != version {
		t.Error("something is written though nothing has changed")
	}
}

// TestRotationLeavesNoGap checks that certificates are replaced before they expire, and the API server always trusts the
// certificate of each replica.
func TestRotationLeavesNoGap(t *testing.T) {
	a := newFakeAPIServer(t)
	a.createConfigurations(nil)
	at, now := newTestClock()
	replicas := []*CertificateKeeper{a.newKeeper(now), a.newKeeper(now)}
	for _, k := range replicas {
		a.mustSync(k)
	}
	first := replicas[0].Certificate()
	for day := range 3 * 365 {
		*at = startTime.Add(time.Duration(day) * 24 * time.Hour)
		a.mustSync(replicas[day%2])
		for i, k := range replicas {
			if !isTrusted(a.bundle(mutatingPath, 0), k.Certificate(), *at) {
				t.Fatalf("day %d: replica %d is not trusted", day, i)
			}
		}
	}
	if replicas[0].Certificate() == first {
		t.Error("the certificate was never replaced")
	}
	if n := len(parseCACertificates(a.bundle(mutatingPath, 0))); n > maxAuthorities {
		t.Errorf("the bundle has grown to %d CAs", n)
	}
}

// TestADeletedSecretLeavesNoGap checks that a deleted Secret is created again, for example after a Helm release was deleted.
// Replicas that still serve the previous certificate remain trusted, and Helm does not delete the new Secret.
func TestADeletedSecretLeavesNoGap(t *testing.T) {
	a := newFakeAPIServer(t)
	a.createConfigurations(nil)
	_, now := newTestClock()
	one, two := a.newKeeper(now), a.newKeeper(now)
	a.mustSync(one)
	a.mustSync(two)
	a.remove(secretPath)
	a.mustSync(one)
	if bytes.Equal(one.Certificate().Certificate[0], two.Certificate().Certificate[0]) {
		t.Fatal("the certificate is the same without its Secret")
	}
	for _, k := range []*CertificateKeeper{one, two} {
		if !isTrusted(a.bundle(mutatingPath, 0), k.Certificate(), startTime) {
			t.Error("a replica is not trusted")
		}
	}
	a.mustSync(two)
	if !bytes.Equal(one.Certificate().Certificate[0], two.Certificate().Certificate[0]) {
		t.Error("two replicas serve two certificates")
	}
	meta := a.get(secretPath)["metadata"].(map[string]any)
	if notes, _ := meta["annotations"].(map[string]any); notes["helm.sh/resource-policy"] != "keep" {
		t.Errorf("Helm may delete the Secret: %v", meta)
	}
}

// TestBothReplicasUseTheStoredCertificate checks that only one certificate is stored if two replicas create one at the
// same time, and that both replicas use the stored one.
func TestBothReplicasUseTheStoredCertificate(t *testing.T) {
	a := newFakeAPIServer(t)
	a.createConfigurations(nil)
	_, now := newTestClock()
	slow, fast := a.newKeeper(now), a.newKeeper(now)
	a.beforeWrite = func() { a.mustSync(fast) }
	err := slow.Sync(t.Context())
	if err == nil {
		t.Log("no conflict was met")
	} else {
		// The slow replica read the configuration before the fast one wrote the bundle. It returns an error, and serves
		// a certificate that is not trusted until the next Sync.
		a.mustSync(slow)
	}
	if !bytes.Equal(slow.Certificate().Certificate[0], fast.Certificate().Certificate[0]) || !isTrusted(a.bundle(validatingPath, 0), slow.Certificate(), startTime) {
		t.Error("the slower replica serves something else")
	}
}

func TestACertificateIsServedWithoutRights(t *testing.T) {
	for name, forbidden := range map[string]string{"no right to the Secret": "/secrets", "no rights": "/"} {
		a := newFakeAPIServer(t)
		a.createConfigurations(nil)
		a.forbiddenPath = forbidden
		at, now := newTestClock()
		k := a.newKeeper(now)
		a.mustSync(k)
		if k.Certificate() == nil || a.get(secretPath) != nil || len(a.bundle(mutatingPath, 0)) > 0 {
			t.Errorf("%s: there is no certificate, or something was written", name)
		}
		was := k.Certificate()
		*at = at.Add(durations.CertificateLifetime*2/3 + time.Hour)
		a.mustSync(k)
		if k.Certificate() == was {
			t.Errorf("%s: the certificate is never replaced", name)
		}
	}
	a := newFakeAPIServer(t)
	a.createConfigurations(nil)
	a.forbiddenPath = "webhookconfigurations"
	_, now := newTestClock()
	k := a.newKeeper(now)
	a.mustSync(k)
	if !isTrusted([]byte(secretData(t, a, "ca.crt")), k.Certificate(), startTime) {
		t.Error("no right to the configurations: what is served is not what the Secret holds")
	}
}

func TestACertificateIsServedWithoutTheAPIServer(t *testing.T) {
	_, now := newTestClock()
	a := newFakeAPIServer(t)
	k := a.newKeeper(now)
	a.url = "http://127.0.0.1:1" // no server listens there
	k.Secrets, k.Hooks = a.coreClient().Secrets("ns"), a.hooksClient()
	if err := k.Sync(t.Context()); err == nil || k.Certificate() == nil {
		t.Errorf("error %v, certificate %v", err, k.Certificate())
	}
}

func TestResourcesOfOtherOwnersAreNotChanged(t *testing.T) {
	a := newFakeAPIServer(t)
	a.createConfigurations(map[string]any{certManagerAnnotation: "ns/cert"})
	id, err := newServingCertificate([]string{"another.name"}, nil, startTime)
	if err != nil {
		t.Fatal(err)
	}
	enc := base64.StdEncoding.EncodeToString
	a.put(secretPath, map[string]any{
		"metadata": map[string]any{"name": "tls", "namespace": "ns"}, "type": "kubernetes.io/tls",
		"data": map[string]any{"ca.crt": enc(id.CA), "tls.crt": enc(id.Cert), "tls.key": enc(id.Key)},
	})
	version := a.version
	_, now := newTestClock()
	k := a.newKeeper(now)
	a.mustSync(k)
	want, err := id.parse()
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(k.Certificate().Certificate[0], want.Certificate[0]) {
		t.Error("the certificate of the Secret is not served")
	}
	if a.version != version {
		t.Error("something was written")
	}
}

func secretData(t *testing.T, a *fakeAPIServer, key string) string {
	t.Helper()
	data, err := base64.StdEncoding.DecodeString(a.get(secretPath)["data"].(map[string]any)[key].(string))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
