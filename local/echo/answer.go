package echo

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Identity describes the pod that responds to a request.
type Identity struct {
	Pod       string `json:"pod"`
	Namespace string `json:"namespace"`
	// Service is the name of the first Service, by name, that selects the pod. It is empty if there is none.
	Service string            `json:"service,omitempty"`
	App     string            `json:"app,omitempty"`
	Node    string            `json:"node"`
	Address string            `json:"address"`
	Labels  map[string]string `json:"labels,omitempty"`
}

// Response describes a request and the pod that received it. It is the body of an HTTP response or of the reply to a
// datagram, or a gRPC header.
type Response struct {
	Identity
	Port     int         `json:"port"`
	Protocol string      `json:"protocol"` // HTTP/1.1, HTTP/2.0, gRPC or UDP
	TLS      bool        `json:"tls"`
	Method   string      `json:"method"`
	Host     string      `json:"host"`
	Path     string      `json:"path"`
	Query    string      `json:"query,omitempty"`
	Client   string      `json:"client"`
	Headers  http.Header `json:"headers"`
	Body     string      `json:"body,omitempty"` // the first 64 KiB of the request, or 4 KiB of a datagram
}

func (s *Server) handleHTTP(w http.ResponseWriter, r *http.Request) {
	a := Response{
		Identity: s.cfg.Identity(),
		Port:     localPort(r),
		Protocol: r.Proto,
		TLS:      r.TLS != nil,
		Method:   r.Method,
		Host:     r.Host,
		Path:     r.URL.EscapedPath(),
		Query:    r.URL.RawQuery,
		Client:   r.RemoteAddr,
		Headers:  r.Header,
	}
	if r.URL.Path == "/ws" && isWebSocket(r) {
		s.handleWebSocket(w, r, a)
		return
	}
	body, _ := io.ReadAll(io.LimitReader(r.Body, 64<<10))
	a.Body = string(body)
	io.Copy(io.Discard, r.Body)

	status := http.StatusOK
	if s.cfg.Status != nil {
		if forced := s.cfg.Status(); forced != 0 {
			status = forced
		}
	}
	switch verb, arg := splitPath(r.URL.Path); verb {
	case "fail":
		status = http.StatusInternalServerError
	case "status":
		if n, err := strconv.Atoi(arg); err == nil && n >= 200 && n <= 599 {
			status = n
		}
	case "delay":
		if d, err := time.ParseDuration(arg); err == nil {
			t := time.NewTimer(min(d, time.Minute))
			defer t.Stop()
			select {
			case <-t.C:
			case <-r.Context().Done():
				return
			}
		}
	case "size":
		if n, err := strconv.Atoi(arg); err == nil && n >= 0 && n <= 64<<20 {
			w.Header().Set("Content-Type", "text/plain")
			w.Header().Set("Content-Length", strconv.Itoa(n))
			w.WriteHeader(status)
			io.CopyN(w, letterReader{}, int64(n))
			return
		}
	}
	b, err := json.MarshalIndent(a, "", "  ")
	if err != nil {
		http.Error(w, fmt.Sprint(err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Fulcrum-Pod", a.Namespace+"/"+a.Pod)
	w.WriteHeader(status)
	w.Write(append(b, '\n'))
}

// splitPath returns the first two elements of a URL path. Missing elements are empty.
func splitPath(p string) (first, second string) {
	first, second, _ = strings.Cut(strings.TrimPrefix(p, "/"), "/")
	second, _, _ = strings.Cut(second, "/")
	return first, second
}

// letterReader is an infinite reader of letters.
type letterReader struct{}

func (letterReader) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'a' + byte(i%26)
	}
	return len(p), nil
}
