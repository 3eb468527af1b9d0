package e2e

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/fulcrum-lb/fulcrum/config/rbac"
	"github.com/fulcrum-lb/fulcrum/internal/test/testclock"
	"github.com/fulcrum-lb/fulcrum/internal/webhook/serving"
	"github.com/fulcrum-lb/fulcrum/local/manifest"
	"github.com/fulcrum-lb/fulcrum/local/world"
)

// TestWebhookCertificate checks that the permissions in config/rbac are sufficient to share and replace the generated
// certificate, to make the API server trust it, and to correct the user in the match conditions.
func TestWebhookCertificate(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("starts a world")
	}
	w := worldPool.AcquireForTest(t, world.Options{})
	applier, err := manifest.NewApplier(w.RESTConfig())
	if err != nil {
		t.Fatal(err)
	}
	objects, err := manifest.Load("../../config/rbac", "../../config/webhook/manifests.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if err := applier.Apply(t.Context(), objects); err != nil {
		t.Fatal(err)
	}
	// The match conditions name another service account, as if the manifests were generated for that account.
	hooks := w.KubeClient().AdmissionregistrationV1().ValidatingWebhookConfigurations()
	other, err := hooks.Get(t.Context(), "aws-load-balancer-webhook", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range other.Webhooks {
		for i, c := range h.MatchConditions {
			h.MatchConditions[i].Expression = strings.ReplaceAll(c.Expression, rbac.ServiceAccountUser, "system:serviceaccount:elsewhere:lbc")
		}
	}
	if _, err := hooks.Update(t.Context(), other, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	cfg := w.RESTConfig()
	cfg.Impersonate = rest.ImpersonationConfig{
		UserName: rbac.ServiceAccountUser, Groups: []string{"system:serviceaccounts", "system:authenticated"},
	}
	own, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Now()
	keeper := func() *serving.CertificateKeeper {
		return &serving.CertificateKeeper{
			Secrets: own.CoreV1().Secrets("kube-system"), Hooks: own.AdmissionregistrationV1(), Namespace: "kube-system",
			Secret: "aws-load-balancer-tls", Service: "aws-load-balancer-webhook-service", Configuration: "aws-load-balancer-webhook",
			SelfSubjectReviews: own.AuthenticationV1().SelfSubjectReviews(), Clock: testclock.FromVariable(&now), Log: logr.Discard(),
		}
	}
	one, two := keeper(), keeper()
	for round := range 3 {
		for _, k := range []*serving.CertificateKeeper{one, two, one} {
			if err := k.Sync(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if !bytes.Equal(one.Certificate().Certificate[0], two.Certificate().Certificate[0]) {
			t.Errorf("round %d: the two replicas serve different certificates", round)
		}
		var bundles [][]byte
		v, err := w.KubeClient().AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "aws-load-balancer-webhook", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		named := 0
		for _, h := range v.Webhooks {
			for _, c := range h.MatchConditions {
				if strings.Contains(c.Expression, rbac.ServiceAccountUser) {
					named++
				}
			}
			bundles = append(bundles, h.ClientConfig.CABundle)
		}
		m, err := w.KubeClient().AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), "aws-load-balancer-webhook", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range m.Webhooks {
			bundles = append(bundles, h.ClientConfig.CABundle)
		}
		for _, b := range bundles {
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(b)
			_, err := one.Certificate().Leaf.Verify(x509.VerifyOptions{Roots: roots, DNSName: "aws-load-balancer-webhook-service.kube-system.svc", CurrentTime: now})
			if err != nil {
				t.Errorf("round %d: the certificate is not trusted: %v", round, err)
			}
			// In round 2, the first CA has expired.
			if n, want := countPEMBlocks(b), min(round+1, 2); n != want {
				t.Errorf("round %d: the bundle has %d CAs, want %d", round, n, want)
			}
		}
		if named != 3 {
			t.Errorf("%d match conditions name the service account of the controller, want 3", named)
		}
		if len(bundles) != 8 {
			t.Errorf("%d webhooks, want 8", len(bundles))
		}
		now = now.Add(250 * 24 * time.Hour)
	}
}

func countPEMBlocks(b []byte) (n int) {
	for block, rest := pem.Decode(b); block != nil; block, rest = pem.Decode(rest) {
		n++
	}
	return n
}
