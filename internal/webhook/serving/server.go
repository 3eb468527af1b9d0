package serving

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
)

const (
	// fileInterval is how often the server checks for certificate files while there are none.
	fileInterval = 10 * time.Second
	// syncInterval is how often the self-made certificate is checked; after a failure it is
	// fileInterval.
	syncInterval = 10 * time.Minute
)

// Options of a server.
type Options struct {
	// Host to listen on; all addresses if empty.
	Host string
	Port int
	// CertDir, CertFile and KeyFile name the certificate; empty ones have the usual defaults.
	CertDir, CertFile, KeyFile string
	// ClientCA is a file with the CA that must have signed callers' certificates; empty: callers
	// need none.
	ClientCA string
	// Own makes a certificate while there is none in files.
	Own *Keeper
	Log logr.Logger
}

// Server is a TLS server that keeps its own certificate.
type Server struct {
	webhook.Server
	certs *certificates
}

// NewServer returns a server, which needs its paths and has to be started.
func NewServer(o Options) (*Server, error) {
	if o.CertDir == "" {
		o.CertDir = filepath.Join(os.TempDir(), "k8s-webhook-server", "serving-certs")
	}
	certs := &certificates{
		cert: filepath.Join(o.CertDir, cmp.Or(o.CertFile, "tls.crt")), key: filepath.Join(o.CertDir, cmp.Or(o.KeyFile, "tls.key")),
		own: o.Own, log: o.Log,
	}
	var callers *x509.CertPool
	if o.ClientCA != "" {
		data, err := os.ReadFile(o.ClientCA)
		if err != nil {
			return nil, fmt.Errorf("CA of webhook callers: %w", err)
		}
		callers = x509.NewCertPool()
		if !callers.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("CA of webhook callers: %s holds no certificate", o.ClientCA)
		}
	}
	server := webhook.NewServer(webhook.Options{Host: o.Host, Port: o.Port, TLSOpts: []func(*tls.Config){func(c *tls.Config) {
		c.MinVersion = tls.VersionTLS12
		c.NextProtos = []string{"h2", "http/1.1"}
		c.CipherSuites = []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
			tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384,
		}
		c.GetCertificate = certs.get
		if callers != nil {
			c.ClientCAs, c.ClientAuth = callers, tls.RequireAndVerifyClientCert
		}
	}}})
	return &Server{server, certs}, nil
}

// Start serves until the context ends.
func (s *Server) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.certs.keep(ctx)
	}()
	err := s.Server.Start(ctx)
	cancel()
	<-ended
	return err
}

// certificates chooses the certificate to serve: that of the files once they exist, before that the
// self-made one.
type certificates struct {
	cert, key string
	own       *Keeper
	log       logr.Logger
	files     atomic.Pointer[certwatcher.CertWatcher]
}

func (c *certificates) get(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if w := c.files.Load(); w != nil {
		return w.GetCertificate(hello)
	}
	if own := c.own.Certificate(); own != nil {
		return own, nil
	}
	return nil, errors.New("there is no certificate yet")
}

// keep renews the certificate until the context ends.
func (c *certificates) keep(ctx context.Context) {
	var due time.Time
	tick := time.NewTicker(fileInterval)
	defer tick.Stop()
	for {
		w, err := c.readFiles()
		switch now := c.own.Now(); {
		case err == nil:
			c.files.Store(w)
			c.watch(ctx, w)
			return
		case !errors.Is(err, fs.ErrNotExist):
			// Whoever provides the files also writes the bundle, so it is not changed here.
			c.log.Error(err, "webhook certificate files not usable")
			if err := c.own.alone(); err != nil {
				c.log.Error(err, "creating webhook certificate failed")
			}
		case !now.Before(due):
			due = now.Add(syncInterval)
			if err := c.own.Sync(ctx); err != nil && ctx.Err() == nil {
				c.log.Error(err, "checking webhook certificate failed")
				due = now
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// watch reloads the files until the context ends. Whoever provides them writes the bundle, but not
// the user of the controller.
func (c *certificates) watch(ctx context.Context, w *certwatcher.CertWatcher) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := w.Start(ctx); err != nil && ctx.Err() == nil {
			c.log.Error(err, "watching webhook certificate files failed")
		}
	}()
	tick := time.NewTicker(syncInterval)
	defer tick.Stop()
	for ctx.Err() == nil {
		if err := c.own.Exempt(ctx); err != nil && ctx.Err() == nil {
			c.log.Error(err, "updating webhook match conditions failed")
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	<-ended
}

func (c *certificates) readFiles() (*certwatcher.CertWatcher, error) {
	for _, f := range []string{c.cert, c.key} {
		if _, err := os.Stat(f); err != nil {
			return nil, err
		}
	}
	return certwatcher.New(c.cert, c.key)
}
