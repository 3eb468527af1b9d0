package serving

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/utils/clock"
)

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// startServer starts a server with one path and waits until it is ready.
func startServer(t *testing.T, o Options) (address string) {
	t.Helper()
	address, _ = startServerWithHandler(t, o, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	return address
}

// startServerWithHandler starts a server with a handler and waits until it is ready.
func startServerWithHandler(t *testing.T, o Options, handle http.HandlerFunc) (address string, s *Server) {
	t.Helper()
	o.Host, o.Port, o.Log = "127.0.0.1", freePort(t), logr.Discard()
	s, err := NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Register("/", handle)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	})
	deadline := time.Now().Add(testTimeout)
	for ready := s.StartedChecker(); ready(nil) != nil; {
		if time.Now().After(deadline) {
			t.Fatal("the server does not become ready")
		}
	}
	return net.JoinHostPort(o.Host, strconv.Itoa(o.Port)), s
}

// callServer sends a request over HTTP/2, like the API server.
func callServer(t *testing.T, address string, c *tls.Config) (*http.Response, error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true, DisableKeepAlives: true}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+address, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := client.Do(req)
	if err == nil {
		res.Body.Close()
	}
	return res, err
}

func certPool(pem []byte) *x509.CertPool {
	p := x509.NewCertPool()
	p.AppendCertsFromPEM(pem)
	return p
}

func TestServerServesCertificateOfKeeper(t *testing.T) {
	a := newFakeAPIServer(t)
	a.createConfigurations(nil)
	address := startServer(t, Options{CertDir: t.TempDir(), Keeper: a.newKeeper(clock.RealClock{})})
	res, err := callServer(t, address, &tls.Config{RootCAs: certPool(a.bundle(mutatingPath, 0)), ServerName: dnsName})
	if err != nil || res.ProtoMajor != 2 || res.TLS.Version < tls.VersionTLS12 {
		t.Errorf("%+v, %v", res, err)
	}
	if _, err := callServer(t, address, &tls.Config{RootCAs: certPool(a.bundle(mutatingPath, 0)), ServerName: dnsName, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("an old version of TLS is accepted")
	}
}

// writeCertificate writes a certificate that is valid now, and its key, to the files of the server.
func writeCertificate(t *testing.T, dir string) servingCertificate {
	t.Helper()
	id, err := newServingCertificate([]string{dnsName}, nil, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"c.pem": id.Cert, "k.pem": id.Key} {
		next := filepath.Join(dir, name+".next")
		if err := os.WriteFile(next, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return id
}

func TestChangedCertificateFilesAreReloaded(t *testing.T) {
	dir := t.TempDir()
	first := writeCertificate(t, dir)
	a := newFakeAPIServer(t)
	address := startServer(t, Options{CertDir: dir, CertFile: "c.pem", KeyFile: "k.pem", Keeper: a.newKeeper(clock.RealClock{})})
	if _, err := callServer(t, address, &tls.Config{RootCAs: certPool(first.CA), ServerName: dnsName}); err != nil {
		t.Error(err)
	}
	if a.get(secretPath) != nil {
		t.Error("a certificate was made though there is one")
	}
	second := writeCertificate(t, dir)
	deadline := time.Now().Add(testTimeout)
	for {
		_, err := callServer(t, address, &tls.Config{RootCAs: certPool(second.CA), ServerName: dnsName})
		if err == nil {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the new certificate is not served: %v", err)
		}
	}
}

func TestCallersNeedACertificateIfAClientCAIsSet(t *testing.T) {
	dir := t.TempDir()
	server := writeCertificate(t, dir)
	caller, err := callerIdentity()
	if err != nil {
		t.Fatal(err)
	}
	ca := filepath.Join(t.TempDir(), "callers.pem")
	if err := os.WriteFile(ca, caller.CA, 0o600); err != nil {
		t.Fatal(err)
	}
	a := newFakeAPIServer(t)
	address := startServer(t, Options{CertDir: dir, CertFile: "c.pem", KeyFile: "k.pem", ClientCA: ca, Keeper: a.newKeeper(clock.RealClock{})})
	cert, err := caller.parse()
	if err != nil {
		t.Fatal(err)
	}
	with := &tls.Config{RootCAs: certPool(server.CA), ServerName: dnsName, Certificates: []tls.Certificate{*cert}}
	if _, err := callServer(t, address, with); err != nil {
		t.Error(err)
	}
	if _, err := callServer(t, address, &tls.Config{RootCAs: certPool(server.CA), ServerName: dnsName}); err == nil {
		t.Error("a caller without a certificate is served")
	}
	for name, path := range map[string]string{"missing": filepath.Join(dir, "nothing"), "not a certificate": filepath.Join(dir, "k.pem")} {
		if _, err := NewServer(Options{CertDir: dir, ClientCA: path, Keeper: a.newKeeper(clock.RealClock{})}); err == nil {
			t.Errorf("a CA file that is %s is accepted", name)
		}
	}
}
