package serving

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/pkg/certwatcher"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	"github.com/fulcrum-lb/fulcrum/internal/kube/durations"
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

	limits limits // usualLimits if zero
}

// Server is a TLS server that keeps its own certificate, and bounds what callers take up.
type Server struct {
	// The paths and their metrics are those of controller-runtime, whose server has no read deadlines.
	webhook.Server
	certs   *certificates
	log     logr.Logger
	address string
	tls     *tls.Config
	limits  limits

	connections, bytes shares
	started            atomic.Bool
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
	config := &tls.Config{
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		CipherSuites: []uint16{
			tls.TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256, tls.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,
			tls.TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384, tls.TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384,
			tls.TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256, tls.TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256,
			tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384,
		},
		GetCertificate: certs.get,
	}
	if callers != nil {
		config.ClientCAs, config.ClientAuth = callers, tls.RequireAndVerifyClientCert
	}
	most := cmp.Or(o.limits, usualLimits)
	return &Server{
		Server: webhook.NewServer(webhook.Options{}), certs: certs, log: o.Log, address: net.JoinHostPort(o.Host, strconv.Itoa(o.Port)), tls: config,
		limits: most, connections: shares{most: most.connections}, bytes: shares{most: most.bytes},
	}, nil
}

// Start serves until the context ends.
func (s *Server) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.certs.keep(ctx)
	}()
	err := s.serve(ctx)
	cancel()
	<-ended
	return err
}

// serve answers requests until the context ends, and then those that are open.
func (s *Server) serve(ctx context.Context) error {
	plain, err := net.Listen("tcp", s.address)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:     &bodies{mux: s.WebhookMux(), shares: &s.bytes, read: s.limits.read},
		BaseContext: func(net.Listener) context.Context { return ctx },
		ReadTimeout: s.limits.read, WriteTimeout: durations.Request, IdleTimeout: durations.Listing, MaxHeaderBytes: maxHeader,
		HTTP2:    &http.HTTP2Config{MaxReceiveBufferPerConnection: window, MaxReceiveBufferPerStream: window},
		ErrorLog: log.New(debugLog{s.log}, "", 0),
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		<-ctx.Done()
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if err := server.Shutdown(limit); err != nil {
			s.log.Error(err, "stopping webhook server failed")
		}
	}()
	s.log.Info("serving webhooks", "address", s.address)
	s.started.Store(true)
	if err := server.Serve(tls.NewListener(&listener{plain, &s.connections}, s.tls)); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-drained
	return nil
}

// debugLog takes what the server says about connections. Whoever connects could fill the log.
type debugLog struct{ logr.Logger }

// Write implements io.Writer.
func (l debugLog) Write(line []byte) (int, error) {
	l.V(1).Info("webhook connection failed", "err", string(bytes.TrimSpace(line)))
	return len(line), nil
}

// StartedChecker returns a check that passes when the server answers.
func (s *Server) StartedChecker() healthz.Checker {
	return func(*http.Request) error {
		if !s.started.Load() {
			return errors.New("the webhook server is not started")
		}
		dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: 10 * time.Second}, Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // it asks itself
		conn, err := dialer.Dial("tcp", s.address)
		if err != nil {
			return fmt.Errorf("the webhook server does not answer: %w", err)
		}
		return conn.Close()
	}
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
	tick := time.NewTicker(durations.ShortInterval)
	defer tick.Stop()
	for {
		w, err := c.readFiles()
		switch now := c.own.Clock.Now(); {
		case err == nil:
			c.files.Store(w)
			c.watch(ctx, w)
			return
		case !errors.Is(err, fs.ErrNotExist):
			// Whoever provides the files also writes the bundle, so it is not changed here.
			c.log.Error(err, "webhook certificate files not usable")
			if err := c.own.serveUnshared(); err != nil {
				c.log.Error(err, "creating webhook certificate failed")
			}
		case !now.Before(due):
			due = now.Add(durations.LongInterval)
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
	tick := time.NewTicker(durations.LongInterval)
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
