package dataplane

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Headers that targets receive.
const (
	headerForwardedFor   = "X-Forwarded-For"
	headerForwardedProto = "X-Forwarded-Proto"
	headerForwardedPort  = "X-Forwarded-Port"
	headerTrace          = "X-Amzn-Trace-Id"
	headerTLSVersion     = "X-Amzn-Tls-Version"
	headerTLSCipher      = "X-Amzn-Tls-Cipher-Suite"
)

// setForwardedHeaders sets the headers in out that describe the client. in contains the headers that the client sent.
func (x *exchange) setForwardedHeaders(out, in http.Header) {
	attr := x.route.lb.attr
	if v := forwardedFor(attr.forwardedForMode, attr.addClientPort, in[headerForwardedFor], x.client); v != "" {
		out.Set(headerForwardedFor, v)
	} else {
		out.Del(headerForwardedFor)
	}
	out.Set(headerForwardedProto, strings.ToLower(string(x.route.listener.protocol)))
	out.Set(headerForwardedPort, strconv.Itoa(int(x.route.listener.port)))
	out.Set(headerTrace, traceID(in.Get(headerTrace), x.startTime, newTraceSuffix()))
}

// forwardedFor returns the value of X-Forwarded-For for a processing mode: "append", "preserve" or "remove". existing
// contains the values that the client sent.
func forwardedFor(mode string, withPort bool, existing []string, client netip.AddrPort) string {
	before := strings.Join(existing, ", ")
	switch mode {
	case "preserve":
		return before
	case "remove":
		return ""
	}
	self := client.Addr().String()
	if withPort {
		self = client.String()
	}
	if before == "" {
		return self
	}
	return before + ", " + self
}

// traceID returns the value of X-Amzn-Trace-Id. It continues the trace in existing, or starts a trace if there is none. It
// replaces the field "Self" of an earlier load balancer.
func traceID(existing string, now time.Time, suffix string) string {
	id := fmt.Sprintf("1-%08x-%s", now.Unix(), suffix)
	var fields []string
	hasRoot := false
	for field := range strings.SplitSeq(existing, ";") {
		field = strings.TrimSpace(field)
		if field == "" || strings.HasPrefix(field, "Self=") {
			continue
		}
		hasRoot = hasRoot || strings.HasPrefix(field, "Root=")
		fields = append(fields, field)
	}
	name := "Root="
	if hasRoot {
		name = "Self="
	}
	return strings.Join(append([]string{name + id}, fields...), ";")
}

func newTraceSuffix() string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

// targetHost returns the Host header for targets if the load balancer does not preserve the header of the client. port is
// the port of the listener. The header contains the port, except for ports 80 and 443.
func targetHost(host string, port uint16) string {
	bare := hostForURL(host)
	if port == 80 || port == 443 {
		return bare
	}
	if hasPort(host) {
		return host
	}
	return bare + ":" + strconv.Itoa(int(port))
}

func hasPort(host string) bool {
	colon := strings.LastIndexByte(host, ':')
	return colon > strings.LastIndexByte(host, ']') && strings.Count(host[strings.LastIndexByte(host, ']')+1:], ":") == 1
}

// addResponseHeaders sets the response headers that the attributes of the listener define in h.
func (x *exchange) addResponseHeaders(h http.Header) {
	for name, value := range x.route.listener.attr.responseHeaders {
		h.Set(name, value)
	}
}
