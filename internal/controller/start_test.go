package controller

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// TestProbesAnswerDuringStartup checks that the liveness probe succeeds from the start. The readiness probe succeeds only
// after a readiness check was added and succeeds.
func TestProbesAnswerDuringStartup(t *testing.T) {
	p := &Probes{}
	h := p.Handler()
	get := func(path string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Code, w.Body.String()
	}
	for _, path := range []string{"/healthz", "/healthz/", "/healthz/health-ping", "/healthz?verbose=1"} {
		if code, body := get(path); code != 200 {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
	if code, _ := get("/readyz"); code != 500 {
		t.Errorf("ready while starting: %d", code)
	}
	synced := false
	p.AddReadinessCheck("ready-cache", func(*http.Request) error {
		if !synced {
			return errors.New("not yet")
		}
		return nil
	})
	if code, _ := get("/readyz"); code != 500 {
		t.Errorf("ready without a cache: %d", code)
	}
	synced = true
	if code, body := get("/readyz?verbose=1"); code != 200 || !strings.Contains(body, "ready-cache") {
		t.Errorf("not ready: %d %s", code, body)
	}
}

// TestLogLevelIsChangedOnlyFromTheSameHost checks that the log level can be changed only by clients on the same host.
func TestLogLevelIsChangedOnlyFromTheSameHost(t *testing.T) {
	p := &Probes{LogLevel: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "info") })}
	for from, want := range map[string]int{"127.0.0.1:4711": 200, "[::1]:4711": 200, "[::ffff:127.0.0.1]:4711": 200, "10.0.0.7:4711": 403, "somewhere": 403} {
		w, r := httptest.NewRecorder(), httptest.NewRequest("PUT", "/log-level", strings.NewReader("debug"))
		r.RemoteAddr = from
		p.Handler().ServeHTTP(w, r)
		if w.Code != want {
			t.Errorf("from %s: %d, want %d", from, w.Code, want)
		}
	}
}

func TestServeStops(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	stop, err := serve(address, profileHandler())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := serve(address, profileHandler()); err == nil {
		t.Error("an address is used twice")
	}
	res, err := http.Get("http://" + address + "/debug/pprof/cmdline")
	if err != nil || res.StatusCode != 200 {
		t.Errorf("%v %v", res, err)
	}
	stop()
	if _, err := http.Get("http://" + address + "/debug/pprof/cmdline"); err == nil {
		t.Error("it answers after its end")
	}
	for _, none := range []string{"", "0"} {
		stop, err := serve(none, profileHandler())
		if err != nil {
			t.Fatal(err)
		}
		stop()
	}
}

// TestEqualAddressesAreAnError checks that the controller does not start if probes and profiling have the same address,
// instead of serving only one of them.
func TestEqualAddressesAreAnError(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	l.Close()
	var s Setup
	s.REST = &rest.Config{}
	s.Config.Serving.Probes, s.Config.Serving.Profiling = address, address
	if err := Run(t.Context(), s); err == nil || !strings.Contains(err.Error(), address) {
		t.Errorf("%v, want an error with the address", err)
	}
}

// TestRetryUntilReached checks that a call is repeated with back-off until it succeeds, and that it is not repeated after an
// error that is not transient or after ctx has ended.
func TestRetryUntilReached(t *testing.T) {
	passes := errors.New("no answer")
	synctest.Test(t, func(t *testing.T) {
		start, tries := time.Now(), 0
		out, err := retryUntilReached(t.Context(), logr.Discard(), "AWS", func(context.Context) (int, error) {
			if tries++; tries == 10 {
				return 7, nil
			}
			return 0, passes
		}, func(err error) bool { return err == passes })
		if out != 7 || err != nil || time.Since(start) != (1+2+4+8+16+4*30)*time.Second {
			t.Errorf("%d %v after %s", out, err, time.Since(start))
		}
		fatal := errors.New("denied")
		if _, err := retryUntilReached(t.Context(), logr.Discard(), "AWS", func(context.Context) (int, error) { return 0, fatal }, func(err error) bool { return err == passes }); err != fatal {
			t.Errorf("%v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := retryUntilReached(ctx, logr.Discard(), "AWS", func(context.Context) (int, error) { return 0, passes }, func(error) bool { return true }); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// TestAwaitAPI checks that awaitAPI repeats its request to an API server that is starting. It also checks which errors
// isTransient accepts.
func TestAwaitAPI(t *testing.T) {
	if !isTransient(&net.OpError{Err: errors.New("connection refused")}) || !isTransient(apierrors.NewServiceUnavailable("starting")) ||
		!isTransient(apierrors.NewTooManyRequests("busy", 1)) || isTransient(apierrors.NewUnauthorized("who?")) {
		t.Error("errors are taken for others")
	}
	answers := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if answers++; answers == 1 {
			w.WriteHeader(503)
			return
		}
		fmt.Fprint(w, `{"major":"1","minor":"36"}`)
	}))
	defer server.Close()
	if err := awaitAPI(t.Context(), &rest.Config{Host: server.URL}, logr.Discard()); err != nil || answers != 2 {
		t.Errorf("%v after %d answers", err, answers)
	}
}
