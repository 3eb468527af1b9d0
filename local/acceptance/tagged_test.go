package acceptance

import (
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/acm"
	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator"
)

// TestCertificatesOfAllKeyTypesAreFound checks that a certificate that the controller has left is found and removed. The
// certificate has an ECDSA key, and ACM lists such certificates only if the request names the key type.
func TestCertificatesOfAllKeyTypesAreFound(t *testing.T) {
	p, _ := startTestProxy(t, emulator.New(emulator.Options{}).Handler())
	p.setPart("tls-secret")
	c, err := newCertificate()
	if err != nil {
		t.Fatal(err)
	}
	certificates := acm.NewFromConfig(p.config())
	imported, err := certificates.ImportCertificate(t.Context(), &acm.ImportCertificateInput{
		Certificate: c.cert, PrivateKey: c.key,
		Tags: []acmtypes.Tag{{Key: aws.String(runTag), Value: aws.String("r1")}},
	})
	if err != nil {
		t.Fatal(err)
	}
	of := taggedResources{config: p.config(), run: "r1"}
	left, err := of.listRemaining(t.Context())
	if err != nil || len(left) != 1 || left[0].name != aws.ToString(imported.CertificateArn) {
		t.Fatalf("remaining are %v, %v", left, err)
	}
	if other, err := (taggedResources{config: p.config(), run: "r2"}).listRemaining(t.Context()); err != nil || len(other) > 0 {
		t.Errorf("another run has left %v, %v", other, err)
	}
	if err := left[0].delete(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := of.deleteAll(t.Context()); err != nil {
		t.Errorf("after it is deleted: %v", err)
	}
}
