package dataplane

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"strconv"
)

// cannedConn replaces the responses that net/http writes before any handler is called (malformed request, header
// too large, plain HTTP on a TLS port) with the responses of a load balancer. It recognizes them by their exact
// first lines. Responses of handlers begin with other headers.
type cannedConn struct{ net.Conn }

var cannedHead = []byte("\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n")

func (c *cannedConn) Write(b []byte) (int, error) {
	status := cannedStatus(b)
	if status == 0 {
		return c.Conn.Write(b)
	}
	body := page(status)
	_, err := fmt.Fprintf(c.Conn, "HTTP/1.1 %d %s\r\nServer: %s\r\nContent-Type: text/html\r\n"+
		"Content-Length: %d\r\nConnection: close\r\n\r\n%s",
		status, http.StatusText(status), serverName, len(body), body)
	return len(b), err
}

// cannedStatus returns the status of the replacement, or 0 if b is an ordinary write.
func cannedStatus(b []byte) int {
	if bytes.HasPrefix(b, []byte("HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request")) {
		return http.StatusBadRequest
	}
	const version = "HTTP/1.1 "
	line, rest, ok := bytes.Cut(b, cannedHead)
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
