package images

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// podContext identifies the pod that responds.
type podContext struct {
	Namespace string `json:"namespace"`
	Ingress   string `json:"ingress"`
	Service   string `json:"service"`
	Pod       string `json:"pod"`
}

func (c Config) podContext() podContext {
	return podContext{
		Namespace: c.Env["NAMESPACE"], Ingress: c.Env["INGRESS_NAME"],
		Service: c.Env["SERVICE_NAME"], Pod: c.Env["POD_NAME"],
	}
}

// httpResponse is the JSON body of an HTTP response of echo-basic.
type httpResponse struct {
	Path     string      `json:"path"`
	Host     string      `json:"host"`
	Method   string      `json:"method"`
	Proto    string      `json:"proto"`
	Headers  http.Header `json:"headers"`
	HTTPPort string      `json:"httpPort"`

	podContext `json:",inline"`

	TLS *tlsInfo `json:"tls,omitempty"`
}

type tlsInfo struct {
	Version            string   `json:"version"`
	PeerCertificates   []string `json:"peerCertificates,omitempty"`
	ServerName         string   `json:"serverName"`
	NegotiatedProtocol string   `json:"negotiatedProtocol,omitempty"`
	CipherSuite        string   `json:"cipherSuite"`
}

// httpEcho is the HTTP server of echo-basic for one pod.
type httpEcho struct {
	program *Program
	pod     podContext
	port    int

	mu       sync.Mutex
	attempts map[string]int // number of failed requests to /retry/, by parameter uuid
}

func startEchoHTTP(p *Program, cfg Config) error {
	var ports [3]int
	for i, v := range []struct {
		name  string
		unset int
	}{{"HTTP_PORT", 3000}, {"H2C_PORT", 3001}, {"HTTPS_PORT", 8443}} {
		var err error
		if ports[i], err = cfg.port(v.name, v.unset); err != nil {
			return err
		}
	}
	e := &httpEcho{program: p, pod: cfg.podContext(), port: ports[0], attempts: map[string]int{}}
	if err := e.serve(cfg, ports[0], &http.Server{Handler: e.handler()}, nil); err != nil {
		return err
	}
	var both http.Protocols
	both.SetHTTP1(true)
	both.SetUnencryptedHTTP2(true)
	if err := e.serve(cfg, ports[1], &http.Server{Handler: http.HandlerFunc(e.handleH2C), Protocols: &both}, nil); err != nil {
		return err
	}
	secure, err := cfg.tlsConfig()
	if secure == nil || err != nil {
		return err
	}
	return e.serve(cfg, ports[2], &http.Server{Handler: e.handler()}, secure)
}

func (e *httpEcho) serve(cfg Config, port int, srv *http.Server, secure *tls.Config) error {
	l, err := cfg.listen(port)
	if err != nil {
		return err
	}
	srv.ReadHeaderTimeout = time.Minute
	srv.TLSConfig = secure
	e.program.shutdowns = append(e.program.shutdowns, func(ctx context.Context) {
		if err := srv.Shutdown(ctx); errors.Is(err, ctx.Err()) {
			srv.Close()
		}
	})
	e.program.wg.Go(func() {
		if secure != nil {
			srv.ServeTLS(l, "", "")
			return
		}
		srv.Serve(l)
	})
	return nil
}

// tlsConfig returns the configuration of the HTTPS port, or nil if the pod has no HTTPS port, because the environment
// variables for certificate and key are not set.
func (c Config) tlsConfig() (*tls.Config, error) {
	cert, key, ok, err := c.readKeyPair("TLS_SERVER_CERT", "TLS_SERVER_PRIVKEY")
	if !ok || err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	out := &tls.Config{Certificates: []tls.Certificate{pair}}
	if name := c.Env["TLS_CLIENT_CACERTS"]; name != "" {
		ca, err := c.ReadFile(name)
		if err != nil {
			return nil, err
		}
		out.ClientCAs = x509.NewCertPool()
		if !out.ClientCAs.AppendCertsFromPEM(ca) {
			return nil, fmt.Errorf("%s has no certificates", name)
		}
		out.ClientAuth = tls.VerifyClientCertIfGiven
	}
	return out, nil
}

func (e *httpEcho) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/health", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("OK")) })
	mux.HandleFunc("/status/", handleStatus)
	mux.HandleFunc("/retry/", e.handleRetry)
	mux.HandleFunc("/ws", e.echoWebSocket)
	mux.HandleFunc("/", e.handleEcho)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// The mux would redirect a path with "//".
		r.URL.Path = strings.ReplaceAll(r.URL.Path, "//", "/")
		mux.ServeHTTP(w, r)
	})
}

func (e *httpEcho) handleH2C(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor != 2 && r.Header.Get("Upgrade") != "h2c" {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, "Expected h2c request")
		return
	}
	e.handleEcho(w, r)
}

func (e *httpEcho) handleEcho(w http.ResponseWriter, r *http.Request) {
	if err := delayResponse(r, "delay"); err != nil {
		writeError(w, err)
		return
	}
	b, err := json.MarshalIndent(httpResponse{
		Path: r.RequestURI, Host: r.Host, Method: r.Method, Proto: r.Proto, Headers: r.Header,
		HTTPPort: strconv.Itoa(e.port), podContext: e.pod, TLS: describeTLS(r.TLS),
	}, "", " ")
	if err != nil {
		writeError(w, err)
		return
	}
	setHeaders(w.Header(), r.Header["X-Echo-Set-Header"])
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Write(b)
}

// setHeaders sets headers that a request lists as "name:value", separated by commas. Names keep their letter case.
func setHeaders(h http.Header, wanted []string) {
	for _, list := range wanted {
		for pair := range strings.SplitSeq(list, ",") {
			name, value, _ := strings.Cut(strings.TrimSpace(pair), ":")
			if len(h[name]) == 0 {
				h[name] = []string{value}
				continue
			}
			h[name][0] += "," + strings.TrimSpace(value)
		}
	}
}

var statusPath = regexp.MustCompile(`^/status/(\d\d\d)$`)

func handleStatus(w http.ResponseWriter, r *http.Request) {
	status := http.StatusBadRequest
	if m := statusPath.FindStringSubmatch(r.RequestURI); m != nil {
		status, _ = strconv.Atoi(m[1])
	}
	w.WriteHeader(status)
}

// handleRetry fails the first succeedAfter requests with the same uuid, and answers the following ones. A failed request
// gets the status in parameter responseCode; without this parameter, the connection is reset.
func (e *httpEcho) handleRetry(w http.ResponseWriter, r *http.Request) {
	id := r.URL.Query().Get("uuid")
	after, err := strconv.Atoi(r.URL.Query().Get("succeedAfter"))
	if id == "" || err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.attempts[id] >= after {
		e.handleEcho(w, r)
		return
	}
	e.attempts[id]++
	if err := delayResponse(r, "delayRetry"); err != nil {
		writeError(w, err)
		return
	}
	if status, err := strconv.Atoi(r.URL.Query().Get("responseCode")); err == nil {
		w.WriteHeader(status)
		return
	}
	c, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		writeError(w, err)
		return
	}
	if t, ok := c.(*net.TCPConn); ok {
		t.SetLinger(0)
	}
	c.Close()
}

// echoWebSocket echoes every message.
func (e *httpEcho) echoWebSocket(w http.ResponseWriter, r *http.Request) {
	up := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	c, err := up.Upgrade(w, r, nil)
	if err != nil {
		return // Upgrade has already sent an error response.
	}
	defer e.program.track(c)()
	for {
		kind, message, err := c.ReadMessage()
		if err != nil || c.WriteMessage(kind, message) != nil {
			return
		}
	}
}

// delayResponse waits for the Go duration in a parameter of the request, or until the request is cancelled. It does not wait
// if the parameter is missing.
func delayResponse(r *http.Request, parameter string) error {
	text := r.FormValue(parameter)
	if text == "" {
		return nil
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		return err
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-r.Context().Done():
		return r.Context().Err()
	}
}

func writeError(w http.ResponseWriter, err error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusInternalServerError)
	json.NewEncoder(w).Encode(map[string]string{"message": err.Error()})
}

func describeTLS(s *tls.ConnectionState) *tlsInfo {
	if s == nil {
		return nil
	}
	a := &tlsInfo{
		Version: versionName(s.Version), ServerName: s.ServerName,
		NegotiatedProtocol: s.NegotiatedProtocol, CipherSuite: tls.CipherSuiteName(s.CipherSuite),
	}
	for _, c := range s.PeerCertificates {
		a.PeerCertificates = append(a.PeerCertificates, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: c.Raw})))
	}
	return a
}

// versionName returns the name of a TLS version in the form "TLSv1.3"; Go has "TLS 1.3".
func versionName(v uint16) string { return strings.Replace(tls.VersionName(v), " ", "v", 1) }
