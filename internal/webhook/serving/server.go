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

// Options are the options of a server.
type Options struct {
	// Host is the address to listen on; all addresses if empty.
	Host string
	Port int
	// CertDir, CertFile and KeyFile name the files of the certificate; empty fields have the defaults of controller-runtime.
	CertDir, CertFile, KeyFile string
	// ClientCA is a file with the CA of client certificates; "" requires no client certificate.
	ClientCA string
	// Keeper creates a certificate if there are no files.
	Keeper *CertificateKeeper
	Log    logr.Logger

	limits limits // the zero value means defaultLimits
}

// Server is a TLS server that renews its certificate, and limits the resources that callers can use.
type Server struct {
	// Server registers the paths and their metrics. Its method Start is not used, because that method sets no read
	// deadlines.
	webhook.Server
	certs   *certificateSelector
	log     logr.Logger
	address string
	tls     *tls.Config
	limits  limits

	connectionCapacity, bodyCapacity capacity
	started                          atomic.Bool
}

// NewServer returns a server. Its paths have to be registered before it is started.
func NewServer(o Options) (*Server, error) {
	if o.CertDir == "" {
		o.CertDir = filepath.Join(os.TempDir(), "k8s-webhook-server", "serving-certs")
	}
	certs := &certificateSelector{
		certFile: filepath.Join(o.CertDir, cmp.Or(o.CertFile, "tls.crt")), keyFile: filepath.Join(o.CertDir, cmp.Or(o.KeyFile, "tls.key")),
		keeper: o.Keeper, log: o.Log,
	}
	var clientCAs *x509.CertPool
	if o.ClientCA != "" {
		data, err := os.ReadFile(o.ClientCA)
		if err != nil {
			return nil, fmt.Errorf("CA of webhook callers: %w", err)
		}
		clientCAs = x509.NewCertPool()
		if !clientCAs.AppendCertsFromPEM(data) {
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
		GetCertificate: certs.getCertificate,
	}
	if clientCAs != nil {
		config.ClientCAs, config.ClientAuth = clientCAs, tls.RequireAndVerifyClientCert
	}
	limits := cmp.Or(o.limits, defaultLimits)
	return &Server{
		Server: webhook.NewServer(webhook.Options{}), certs: certs, log: o.Log, address: net.JoinHostPort(o.Host, strconv.Itoa(o.Port)), tls: config,
		limits: limits, connectionCapacity: capacity{total: limits.connections}, bodyCapacity: capacity{total: limits.bodyBytes},
	}, nil
}

// Start serves until the context ends.
func (s *Server) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		s.certs.renew(ctx)
	}()
	err := s.serve(ctx)
	cancel()
	<-ended
	return err
}

// serve answers requests until the context ends, and then waits until all open requests are answered.
func (s *Server) serve(ctx context.Context) error {
	tcpListener, err := net.Listen("tcp", s.address)
	if err != nil {
		return err
	}
	server := &http.Server{
		Handler:     &bodyLimiter{mux: s.WebhookMux(), capacity: &s.bodyCapacity, readTimeout: s.limits.readTimeout},
		BaseContext: func(net.Listener) context.Context { return ctx },
		ReadTimeout: s.limits.readTimeout, WriteTimeout: durations.RequestTimeout, IdleTimeout: durations.ListingTimeout, MaxHeaderBytes: maxHeaderSize,
		HTTP2:    &http.HTTP2Config{MaxReceiveBufferPerConnection: receiveWindow, MaxReceiveBufferPerStream: receiveWindow},
		ErrorLog: log.New(debugLogWriter{s.log}, "", 0),
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		<-ctx.Done()
		shutdownContext, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
		defer cancel()
		if err := server.Shutdown(shutdownContext); err != nil {
			s.log.Error(err, "failed to stop webhook server")
		}
	}()
	s.log.Info("serving webhooks", "address", s.address)
	s.started.Store(true)
	if err := server.Serve(tls.NewListener(&limitedListener{tcpListener, &s.connectionCapacity}, s.tls)); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	<-drained
	return nil
}

// debugLogWriter logs the errors of connections at debug level, because any client can cause them and could fill the log.
type debugLogWriter struct{ logr.Logger }

// Write implements io.Writer.
func (l debugLogWriter) Write(line []byte) (int, error) {
	l.V(1).Info("webhook connection failed", "err", string(bytes.TrimSpace(line)))
	return len(line), nil
}

// StartedChecker returns a check that passes when the server answers.
func (s *Server) StartedChecker() healthz.Checker {
	return func(*http.Request) error {
		if !s.started.Load() {
			return errors.New("the webhook server is not started")
		}
		dialer := &tls.Dialer{NetDialer: &net.Dialer{Timeout: 10 * time.Second}, Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // the server is this process
		conn, err := dialer.Dial("tcp", s.address)
		if err != nil {
			return fmt.Errorf("the webhook server does not answer: %w", err)
		}
		return conn.Close()
	}
}

// certificateSelector selects the certificate to serve: the certificate in the files if they exist, otherwise the
// certificate of the CertificateKeeper.
type certificateSelector struct {
	certFile, keyFile string
	keeper            *CertificateKeeper
	log               logr.Logger
	files             atomic.Pointer[certwatcher.CertWatcher]
}

// getCertificate implements tls.Config.GetCertificate.
func (c *certificateSelector) getCertificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	if w := c.files.Load(); w != nil {
		return w.GetCertificate(hello)
	}
	if own := c.keeper.Certificate(); own != nil {
		return own, nil
	}
	return nil, errors.New("there is no certificate yet")
}

// renew keeps the certificate up to date until the context ends. It uses the certificate files as soon as they exist. Before
// that time it calls Sync of the keeper.
func (c *certificateSelector) renew(ctx context.Context) {
	var nextSync time.Time
	tick := time.NewTicker(durations.ShortInterval)
	defer tick.Stop()
	for {
		w, err := c.newFileWatcher()
		switch now := c.keeper.Clock.Now(); {
		case err == nil:
			c.files.Store(w)
			c.watchFiles(ctx, w)
			return
		case !errors.Is(err, fs.ErrNotExist):
			// The owner of the files also sets the CA bundle, so Sync is not called.
			c.log.Error(err, "failed to load webhook certificate files")
			if err := c.keeper.serveUnsharedCertificate(); err != nil {
				c.log.Error(err, "failed to create webhook certificate")
			}
		case !now.Before(nextSync):
			nextSync = now.Add(durations.LongInterval)
			if err := c.keeper.Sync(ctx); err != nil && ctx.Err() == nil {
				c.log.Error(err, "failed to check webhook certificate")
				nextSync = now
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// watchFiles reloads the files until the context ends. It does not write the CA bundle, which the owner of the files sets,
// but it writes the user of the controller into the match conditions.
func (c *certificateSelector) watchFiles(ctx context.Context, w *certwatcher.CertWatcher) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := w.Start(ctx); err != nil && ctx.Err() == nil {
			c.log.Error(err, "failed to watch webhook certificate files")
		}
	}()
	tick := time.NewTicker(durations.LongInterval)
	defer tick.Stop()
	for ctx.Err() == nil {
		if err := c.keeper.ExemptController(ctx); err != nil && ctx.Err() == nil {
			c.log.Error(err, "failed to update webhook match conditions")
		}
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
	<-ended
}

// newFileWatcher returns a watcher of the files. The error is fs.ErrNotExist if one of the files does not exist.
func (c *certificateSelector) newFileWatcher() (*certwatcher.CertWatcher, error) {
	for _, f := range []string{c.certFile, c.keyFile} {
		if _, err := os.Stat(f); err != nil {
			return nil, err
		}
	}
	return certwatcher.New(c.certFile, c.keyFile)
}
