package cloud_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// importCertificate imports a self-signed certificate into ACM and returns its ARN.
func (r *harness) importCertificate(names ...string) string {
	r.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		r.t.Fatal(err)
	}
	now := r.clock.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names,
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(100 * 24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		r.t.Fatal(err)
	}
	raw, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		r.t.Fatal(err)
	}
	c := acm.New(acm.Options{Region: region, HTTPClient: r.em.Client(), Credentials: r.cfg.Credentials})
	out := must(c.ImportCertificate(r.ctx, &acm.ImportCertificateInput{
		Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		PrivateKey:  pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: raw}),
	}))(r.t)
	return *out.CertificateArn
}

// withHTTPS returns a function that adds an HTTPS listener with the given certificates and mutual TLS setting.
func withHTTPS(choice model.CertChoice, auth *model.MutualAuth) func(*model.Stack) {
	return func(s *model.Stack) {
		l := s.LoadBalancer.Listeners[0]
		l.Port = 443
		l.TLS = &model.TLS{Policy: "ELBSecurityPolicy-2016-08", Certificates: []model.CertChoice{choice}, MutualAuth: auth}
		s.LoadBalancer.Listeners = append(s.LoadBalancer.Listeners, l)
	}
}

func TestCertificateChangesConverge(t *testing.T) {
	r := newHarness(t)
	member := finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "web"}
	a, b, c := r.importCertificate("a.example.com"), r.importCertificate("b.example.com", "*.example.com"), r.importCertificate("c.test")
	given := func(arns ...string) model.Stack {
		return desiredStack(webStack, withHTTPS(model.CertARNs{Member: member, ARNs: arns}, nil))
	}
	r.checkConverges(given(a, b))
	r.checkConverges(given(b, c)) // another default certificate; c is added, a is removed
	r.checkConverges(desiredStack(webStack, withHTTPS(model.CertHosts{Member: member, Hosts: []string{"a.example.com"}}, nil)))
	r.checkConverges(given(c))
	r.checkConverges(desiredStack(webStack, withHTTPS(model.CertARNs{Member: member, ARNs: []string{c}}, &model.MutualAuth{Mode: "passthrough"})))
	r.checkConverges(desiredStack(webStack))
}

func TestCertificatesOfRegionAreRead(t *testing.T) {
	r := newHarness(t)
	a, b := r.importCertificate("a.example.com", "*.a.example.com"), r.importCertificate("b.test")
	r.takeCallCounts()
	got := map[string]string{}
	for _, x := range r.readFacts(model.AskCertificates{}).Certificates {
		got[x.ARN] = strings.Join(x.Domains, " ")
	}
	if diff := cmp.Diff(map[string]string{a: "a.example.com *.a.example.com", b: "b.test"}, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if n := r.em.Calls().Count("ListCertificates") + r.em.Calls().Count("DescribeCertificate"); n != 1 {
		t.Errorf("%d calls to ACM, want 1", n)
	}
	r.clock.Advance(2 * time.Minute)
	gone := acm.New(acm.Options{Region: region, HTTPClient: r.em.Client(), Credentials: r.cfg.Credentials})
	must(gone.DeleteCertificate(r.ctx, &acm.DeleteCertificateInput{CertificateArn: aws.String(b)}))(t)
	if got := r.readFacts(model.AskCertificates{}).Certificates; len(got) != 1 {
		t.Errorf("got %v", got)
	}
}
