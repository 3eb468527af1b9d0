package cli

import (
	"bytes"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/controller/config"
)

func TestLogLevelIsChangedAtRunTime(t *testing.T) {
	var b bytes.Buffer
	log, level := newLogger(&b, config.InfoLevel, config.TextFormat)
	h := levelHandler(level, log)
	for _, x := range []struct {
		method, body string
		code         int
		answer       string
		debug        bool
	}{
		{"GET", "", 200, "info", false},
		{"PUT", "debug\n", 200, "debug", true},
		{"PUT", "loud", 400, "allowed: info, debug", true},
		{"POST", "info", 405, "use GET or PUT", true},
		{"PUT", "info", 200, "info", false},
	} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(x.method, "/log-level", strings.NewReader(x.body)))
		if w.Code != x.code || !strings.Contains(w.Body.String(), x.answer) {
			t.Errorf("%s %q: %d %s", x.method, x.body, w.Code, w.Body)
		}
		if log.V(1).Enabled() != x.debug {
			t.Errorf("%s %q: debug is %t", x.method, x.body, !x.debug)
		}
	}
	if strings.Contains(b.String(), `"msg"`) || !strings.Contains(b.String(), "changed log level") {
		t.Errorf("log as text: %s", b.String())
	}
}
