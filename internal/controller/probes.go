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

// Probes answers liveness and readiness probes from the start of the process, before AWS and the API server have answered.
// Without these answers, the kubelet would restart a process that takes a long time to start.
type Probes struct {
	readinessChecks atomic.Pointer[map[string]healthz.Checker]
	// LogLevel, if not nil, serves the path /log-level, at which clients on the same host read and change the log level.
	LogLevel http.Handler
}

// errStarting is the error of the readiness probe until the first check is added.
var errStarting = errors.New("the controller is starting: AWS or the API server has not answered yet")

// AddReadinessCheck adds a readiness check. Once there is a check, the process is ready if all added checks succeed.
func (p *Probes) AddReadinessCheck(name string, check healthz.Checker) {
	next := map[string]healthz.Checker{}
	if old := p.readinessChecks.Load(); old != nil {
		maps.Copy(next, *old)
	}
	next[name] = check
	p.readinessChecks.Store(&next)
}

// Handler returns the handler of the probes. It has the same paths and answers as the probes of the manager of
// controller-runtime.
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
		if checks := p.readinessChecks.Load(); checks != nil {
			return *checks
		}
		return map[string]healthz.Checker{"start": func(*http.Request) error { return errStarting }}
	})
	if p.LogLevel != nil {
		mux.Handle("/log-level", refuseOtherHosts(p.LogLevel))
	}
	return mux
}

// refuseOtherHosts returns a handler that refuses clients on other hosts. Requests of kubectl port-forward come from the
// same host.
func refuseOtherHosts(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at, err := netip.ParseAddrPort(r.RemoteAddr)
		if err != nil || !at.Addr().Unmap().IsLoopback() {
			http.Error(w, "the log level is only available to clients on the same host; use kubectl port-forward", http.StatusForbidden)
			return
		}
		h.ServeHTTP(w, r)
	})
}

// profileHandler serves the profiles of the Go runtime.
func profileHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// serve serves HTTP at an address until stop is called. It does nothing if the address is "" or "0".
func serve(address string, h http.Handler) (stop func(), err error) {
	if address == "" || address == "0" {
		return func() {}, nil
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	server := &http.Server{Handler: h, ReadHeaderTimeout: 30 * time.Second, IdleTimeout: 90 * time.Second, MaxHeaderBytes: 1 << 20}
	go func() { _ = server.Serve(l) }() // returns an error when stop is called
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		if server.Shutdown(ctx) != nil {
			_ = server.Close()
		}
	}, nil
}
