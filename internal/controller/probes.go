package controller

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/http/pprof"
	"net/netip"
	"sync/atomic"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/healthz"
)

// Probes serves liveness and readiness from the first moment on, before AWS and the API server are
// reached, so that a start that takes long is not taken for a process that hangs.
type Probes struct {
	ready atomic.Pointer[map[string]healthz.Checker]
	// LogLevel, if not nil, shows and changes the log level. It answers callers of the own host alone.
	LogLevel http.Handler
}

// errStarting is why a process is not ready that has not come to its other checks.
var errStarting = errors.New("the controller is starting: AWS or the API server has not answered yet")

// Ready adds a check, by which alone, with the others that were added, readiness is judged from then on.
func (p *Probes) Ready(name string, check healthz.Checker) {
	next := map[string]healthz.Checker{}
	if old := p.ready.Load(); old != nil {
		maps.Copy(next, *old)
	}
	next[name] = check
	p.ready.Store(&next)
}

// Handler answers probes, as the manager's own server does.
func (p *Probes) Handler() http.Handler {
	mux := http.NewServeMux()
	serve := func(path string, checks func() map[string]healthz.Checker) {
		h := http.StripPrefix(path, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			(&healthz.Handler{Checks: checks()}).ServeHTTP(w, r)
		}))
		mux.Handle(path, h)
		mux.Handle(path+"/", h)
	}
	serve("/healthz", func() map[string]healthz.Checker { return map[string]healthz.Checker{"health-ping": healthz.Ping} })
	serve("/readyz", func() map[string]healthz.Checker {
		if checks := p.ready.Load(); checks != nil {
			return *checks
		}
		return map[string]healthz.Checker{"start": func(*http.Request) error { return errStarting }}
	})
	if p.LogLevel != nil {
		mux.Handle("/log-level", ownHostOnly(p.LogLevel))
	}
	return mux
}

// ownHostOnly refuses callers from elsewhere. A port that kubectl forwards comes from the own host.
func ownHostOnly(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil || !at.Addr().Unmap().IsLoopback() {
			http.Error(w, "only the own host may do this; use kubectl port-forward", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// profiles serves the profiles of the Go runtime.
func profiles() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// serve answers requests at an address until stop is called. "" and "0" are no address.
func serve(address string, h http.Handler) (stop func(), err error) {
	if address == "" || address == "0" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 90 * time.Second, MaxHeaderBytes: 1 << 20}
	go func() { _ = server.Serve(l) }() // it ends when it is stopped
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
	}, nil
}
