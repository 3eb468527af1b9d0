package serve_test

import (
	"bufio"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net/http"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/acm"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2/types"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/serve"
)

// importCertificate imports a new certificate with a serial number. If arn is not nil, it replaces the content of that
// certificate.
func (r *harness) importCertificate(arn *string, serial int64, name string) *string {
	r.t.Helper()
	key := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(r.t)
	c := &x509.Certificate{
		SerialNumber: big.NewInt(serial), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), KeyUsage: x509.KeyUsageDigitalSignature,
	}
	der := must(x509.CreateCertificate(rand.Reader, c, c, key.Public(), key))(r.t)
	return must(r.acm.ImportCertificate(r.ctx, &acm.ImportCertificateInput{
		CertificateArn: arn, Certificate: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		PrivateKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: must(x509.MarshalPKCS8PrivateKey(key))(r.t)}),
	}))(r.t).CertificateArn
}

// handshake connects to a load balancer. It returns the connection, its reader, and the serial number of the certificate
// that the load balancer presents.
func (r *harness) handshake(lb types.LoadBalancer, name string) (*tls.Conn, *bufio.Reader, string, error) {
	raw, _, err := r.dial("tcp", lb, "", conditionTimeout)
	if err != nil {
		return nil, nil, "", err
	}
	conn := tls.Client(raw, &tls.Config{ServerName: name, InsecureSkipVerify: true, NextProtos: []string{"http/1.1"}})
	if err := conn.HandshakeContext(r.ctx); err != nil {
		return nil, nil, "", err
	}
	return conn, bufio.NewReader(conn), conn.ConnectionState().PeerCertificates[0].SerialNumber.String(), nil
}

// awaitCertificate waits until a load balancer serves the certificate with this serial number for a server name.
func (r *harness) awaitCertificate(lb types.LoadBalancer, name, serial string) (*tls.Conn, *bufio.Reader) {
	r.t.Helper()
	var conn *tls.Conn
	var in *bufio.Reader
	r.eventually(name+" has certificate "+serial, func() (err error) {
		var got string
		if conn, in, got, err = r.handshake(lb, name); err == nil && got != serial {
			err = fmt.Errorf("it has %s", got)
		}
		return err
	})
	return conn, in
}

// TestListenersServeReimportedCertificate checks that listeners serve the new content of a certificate that is imported
// again, both as the default certificate and for its server name. It also checks that connections stay open, and that a
// certificate in use cannot be deleted.
func TestListenersServeReimportedCertificate(t *testing.T) {
	r := newHarness(t, serve.Options{})
	byDefault, byName := r.importCertificate(nil, 1, "a.example.com"), r.importCertificate(nil, 2, "b.example.com")
	secure := func(p types.ProtocolEnum) func(*elb.CreateListenerInput) {
		return func(in *elb.CreateListenerInput) {
			in.Protocol, in.Certificates = p, []types.Certificate{{CertificateArn: byDefault}}
		}
	}
	nlb := r.createNLB()
	g := r.createNLBTargetGroup("tcp", "TCP")
	r.setAttribute(g, "load_balancing.cross_zone.enabled", "true")
	greeter := r.startGreeter("0.70")
	r.registerTargets(g, greeter)
	listeners := []types.Listener{r.createListener(fixedResponseActions("204"), secure("HTTPS"))}
	alb := r.lb
	r.lb = nlb
	listeners = append(listeners, r.createListener(forwardActions(g.TargetGroupArn), secure("TLS")))
	for _, l := range listeners {
		must(r.elb.AddListenerCertificates(r.ctx, &elb.AddListenerCertificatesInput{ListenerArn: l.ListenerArn, Certificates: []types.Certificate{{CertificateArn: byName}}}))(t)
	}
	r.awaitState(g, greeter, "healthy")
	web, webIn := r.awaitCertificate(alb, "b.example.com", "2")
	stream, streamIn := r.awaitCertificate(nlb, "b.example.com", "2")
	r.awaitCertificate(alb, "other.example.com", "1")
	r.awaitCertificate(nlb, "other.example.com", "1")
	ask := func() {
		t.Helper()
		for conn, send := range map[*tls.Conn]string{web: "GET / HTTP/1.1\r\nHost: b.example.com\r\n\r\n", stream: "hello\n"} {
			conn.SetDeadline(time.Now().Add(conditionTimeout))
			if _, err := conn.Write([]byte(send)); err != nil {
				t.Fatal(err)
			}
		}
		if resp, err := http.ReadResponse(webIn, nil); err != nil || resp.StatusCode != 204 {
			t.Fatalf("%v %v", resp, err)
		}
		if text, err := streamIn.ReadString('\n'); err != nil || text == "" {
			t.Fatalf("%q %v", text, err)
		}
	}
	ask()
	r.importCertificate(byName, 3, "b.example.com")
	r.importCertificate(byDefault, 4, "a.example.com")
	for _, lb := range []types.LoadBalancer{alb, nlb} {
		r.awaitCertificate(lb, "b.example.com", "3")
		r.awaitCertificate(lb, "other.example.com", "4")
	}
	ask()
	_, err := r.acm.DeleteCertificate(r.ctx, &acm.DeleteCertificateInput{CertificateArn: byName})
	if err == nil {
		t.Error("a certificate that listeners use can be deleted")
	}
}
