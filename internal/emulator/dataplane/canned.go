package dataplane

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strconv"
)

// earlyErrorConn replaces the responses that net/http writes before it calls a handler (malformed request, header too large,
// plain HTTP on a TLS port) with the responses of a load balancer. It recognizes them by their exact first lines. Responses
// of handlers begin with other headers.
type earlyErrorConn struct{ net.Conn }

var earlyErrorHeader = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")

func (c *earlyErrorConn) Write(b []byte) (int, error) {
	status := earlyErrorStatus(b)
	if status == 0 {
		return c.Conn.Write(b)
	}
	body := statusPage(status)
	_, err := fmt.Fprintf(c.Conn, "HTTP/1.1 %d %s\r\nServer: %s\r\nContent-Type: text/html\r\n"+
		"Content-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, http.StatusText(status), serverHeaderValue, len(body), body)
	return len(b), err
}

// earlyErrorStatus returns the status of the response that replaces response b of net/http, or 0 if b is not replaced.
func earlyErrorStatus(b []byte) int {
	if bytes.HasPrefix(b, []byte("HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request")) {
		return http.StatusBadRequest
	}
	const version = "HTTP/1.1 "
	line, rest, ok := bytes.Cut(b, earlyErrorHeader)
	if !ok || len(line) > 256 || !bytes.HasPrefix(line, []byte(version)) || bytes.ContainsAny(line, "\r\n") || len(rest) > 256 {
		return 0
	}
	code, err := strconv.Atoi(string(line[len(version) : len(version)+3]))
	if err != nil {
		return 0
	}
	if code == http.StatusRequestHeaderFieldsTooLarge {
		return http.StatusBadRequest
	}
	return code
}
