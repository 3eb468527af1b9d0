package images

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"testing"
	"time"

	"golang.org/x/net/dns/dnsmessage"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"sigs.k8s.io/gateway-api-conformance-images/echo-basic/grpcechoserver"
	"sigs.k8s.io/gateway-api/conformance/utils/config"
	"sigs.k8s.io/gateway-api/conformance/utils/roundtripper"
	"sigs.k8s.io/gateway-api/conformance/utils/tcp"
	"sigs.k8s.io/gateway-api/conformance/utils/websocket"

	"github.com/fulcrum-lb/fulcrum/local/loopback"
)

// testAddress is an address that no local world uses, because the second byte of their addresses is at least 16.
var testAddress = netip.AddrFrom4([4]byte{10, 3, 0, 11})

const echoImage = "registry.k8s.io/gateway-api/echo-basic:v1.5.1"

// brief is the timeout of Shutdown at the end of a test. No test depends on its value.
const brief = time.Second

// startProgram runs the program of an image until the test ends. It sets each environment variable in ports to a free port,
// and returns the host:port by name of the variable.
func startProgram(t *testing.T, image string, env map[string]string, ports ...string) map[string]string {
	t.Helper()
	at := map[string]string{}
	env["POD_NAME"], env["NAMESPACE"] = "web-0", "shop"
	var open []net.Listener // open until all ports are chosen, so that the ports differ
	for _, name := range ports {
		l, err := net.Listen("tcp4", loopback.Addr(testAddress).String()+":0")
		if err != nil {
			t.Fatal(err)
		}
		open = append(open, l)
		port := l.Addr().(*net.TCPAddr).Port
		env[name], at[name] = fmt.Sprint(port), l.Addr().String()
	}
	for _, l := range open {
		l.Close()
	}
	p, err := Start(image, Config{Address: testAddress, Env: env, ReadFile: os.ReadFile})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), brief)
		defer cancel()
		p.Shutdown(ctx)
	})
	return at
}

// TestHTTP checks the responses of echo-basic over HTTP, h2c and HTTPS with the client of the conformance suite.
func TestHTTP(t *testing.T) {
	cert, key := writeCertificate(t)
	at := startProgram(t, echoImage, map[string]string{"TLS_SERVER_CERT": cert, "TLS_SERVER_PRIVKEY": key}, "HTTP_PORT", "H2C_PORT", "HTTPS_PORT")
	ca, err := os.ReadFile(cert)
	if err != nil {
		t.Fatal(err)
	}
	client := roundtripper.DefaultRoundTripper{TimeoutConfig: config.DefaultTimeoutConfig()}
	for name, c := range map[string]struct {
		request roundtripper.Request
		proto   string
	}{
		"HTTP":  {roundtripper.Request{URL: url.URL{Scheme: "http", Host: at["HTTP_PORT"], Path: "/a//b"}}, "HTTP/1.1"},
		"h2c":   {roundtripper.Request{URL: url.URL{Scheme: "http", Host: at["H2C_PORT"], Path: "/a//b"}, Protocol: roundtripper.H2CPriorKnowledgeProtocol}, "HTTP/2.0"},
		"HTTPS": {roundtripper.Request{URL: url.URL{Scheme: "https", Host: at["HTTPS_PORT"], Path: "/a//b"}, Protocol: roundtripper.HTTPSProtocol, ServerCertificate: ca, ServerName: "echo.test"}, "HTTP/1.1"},
	} {
		t.Run(name, func(t *testing.T) {
			c.request.T, c.request.Host = t, "a.test"
			c.request.Headers = map[string][]string{"X-Echo-Set-Header": {"answer:yes"}}
			asked, answered, err := client.CaptureRoundTrip(c.request)
			if err != nil {
				t.Fatal(err)
			}
			if answered.StatusCode != http.StatusOK || asked.Path != "/a//b" || asked.Host != "a.test" || asked.Protocol != c.proto || asked.Pod != "web-0" || asked.Namespace != "shop" {
				t.Errorf("status %d, request %+v", answered.StatusCode, asked)
			}
			if name == "HTTPS" && (asked.TLS.ServerName != "echo.test" || asked.TLS.Version != "TLSv1.3") {
				t.Errorf("TLS %+v", asked.TLS)
			}
			if got := http.Header(answered.Headers).Get("answer"); got != "yes" {
				t.Errorf("header is %q", got)
			}
		})
	}
	t.Run("/status", func(t *testing.T) {
		res, err := http.Get("http://" + at["HTTP_PORT"] + "/status/418")
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != 418 {
			t.Error(res.Status)
		}
	})
	t.Run("/retry", func(t *testing.T) {
		for _, want := range []int{503, 503, 200} {
			res, err := http.Get("http://" + at["HTTP_PORT"] + "/retry/x?uuid=1&succeedAfter=2&responseCode=503")
			if err != nil {
				t.Fatal(err)
			}
			res.Body.Close()
			if res.StatusCode != want {
				t.Errorf("%s instead of %d", res.Status, want)
			}
		}
	})
	t.Run("/ws", func(t *testing.T) {
		c, err := (&websocket.DefaultDialer{}).Dial("ws://"+at["HTTP_PORT"]+"/ws", "", "ws://a.test")
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		fmt.Fprint(c, "hello")
		got := make([]byte, 5)
		if _, err := io.ReadFull(c, got); err != nil || string(got) != "hello" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

func TestTCP(t *testing.T) {
	at := startProgram(t, echoImage, map[string]string{"TCP_ECHO_SERVER": "1"}, "TCP_PORT")
	pod, err := tcp.EchoSendOnce(t.Context(), at["TCP_PORT"], 10*time.Second)
	if err != nil || pod != "web-0" {
		t.Errorf("pod %q, %v", pod, err)
	}
}

func TestUDP(t *testing.T) {
	at := startProgram(t, echoImage, map[string]string{"UDP_ECHO_SERVER": "1", "SERVICE_NAME": "web"}, "UDP_PORT")
	var got map[string]string
	if err := json.Unmarshal(exchangeDatagram(t, at["UDP_PORT"], []byte("hello")), &got); err != nil {
		t.Fatal(err)
	}
	if got["request"] != "hello" || got["service"] != "web" || got["namespace"] != "shop" || got["pod"] != "web-0" {
		t.Error(got)
	}
}

func TestGRPC(t *testing.T) {
	at := startProgram(t, echoImage, map[string]string{"GRPC_ECHO_SERVER": "1"}, "HTTP_PORT")
	conn, err := grpc.NewClient(at["HTTP_PORT"], grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithAuthority("a.test"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	got, err := grpcechoserver.NewGrpcEchoClient(conn).EchoTwo(t.Context(), &grpcechoserver.EchoRequest{})
	if err != nil {
		t.Fatal(err)
	}
	a := got.GetAssertions()
	if a.GetFullyQualifiedMethod() != "/gateway_api_conformance.echo_basic.grpcecho.GrpcEcho/EchoTwo" || a.GetAuthority() != "a.test" || a.GetContext().GetPod() != "web-0" {
		t.Error(a)
	}
}

func TestDNS(t *testing.T) {
	name := dnsmessage.MustNewName("foo.bar.com.")
	question := dnsmessage.Message{Header: dnsmessage.Header{ID: 7}, Questions: []dnsmessage.Question{{Name: name, Type: dnsmessage.TypeA, Class: dnsmessage.ClassINET}}}
	b, err := question.Pack()
	if err != nil {
		t.Fatal(err)
	}
	startProgram(t, "registry.k8s.io/coredns/coredns:v1.12.2", map[string]string{})
	var reply dnsmessage.Message
	if err := reply.Unpack(exchangeDatagram(t, loopback.HostPort(testAddress, dnsPort), b)); err != nil {
		t.Fatal(err)
	}
	if reply.ID != 7 || !reply.Response || reply.RCode != dnsmessage.RCodeSuccess {
		t.Errorf("%+v", reply)
	}
}

func TestHasProgramOfKnownImages(t *testing.T) {
	for name, want := range map[string]bool{
		echoImage: true, "echo-basic": true, "r.test/coredns@sha256:00": true, "echo": false, "nginx:1": false, "": false,
	} {
		if HasProgram(name) != want {
			t.Errorf("%q: %t", name, !want)
		}
	}
}

// exchangeDatagram sends datagram b to a host:port and returns the reply.
func exchangeDatagram(t *testing.T, to string, b []byte) []byte {
	t.Helper()
	c, err := net.Dial("udp4", to)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(2 * time.Minute))
	if _, err := c.Write(b); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 64<<10)
	n, err := c.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	return buf[:n]
}

// writeCertificate creates a certificate for echo.test and returns the paths of the certificate and of the key.
func writeCertificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{"echo.test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, block := range map[string]*pem.Block{
		dir + "/crt": {Type: "CERTIFICATE", Bytes: der},
		dir + "/key": {Type: "EC PRIVATE KEY", Bytes: keyDER},
	} {
		if err := os.WriteFile(name, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := tls.LoadX509KeyPair(dir+"/crt", dir+"/key"); err != nil {
		t.Fatal(err)
	}
	return dir + "/crt", dir + "/key"
}
