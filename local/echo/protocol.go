package echo

import "strings"

// Protocol is the protocol that the server uses on a TCP port.
type Protocol string

const (
	HTTP  Protocol = "http"  // HTTP/1.1 in clear text
	HTTPS Protocol = "https" // HTTP/1.1 or HTTP/2 by ALPN
	H2C   Protocol = "h2c"   // HTTP/2 in clear text, by prior knowledge
	GRPC  Protocol = "grpc"  // gRPC in clear text
	GRPCS Protocol = "grpcs" // gRPC over TLS
	TCP   Protocol = "tcp"   // echoes all bytes
)

// ProtocolOf returns the protocol for the name of a container port ("https", "grpc-admin") or for the appProtocol of a
// Service port ("kubernetes.io/h2c", "HTTPS"). ok is false for names without a known protocol.
func ProtocolOf(name string) (p Protocol, ok bool) {
	name = strings.ToLower(name)
	name = strings.TrimPrefix(name, "kubernetes.io/")
	name, _, _ = strings.Cut(name, "-")
	switch name {
	case "http", "http1", "ws", "web":
		return HTTP, true
	case "https", "tls", "ssl", "wss":
		return HTTPS, true
	case "h2c", "http2":
		return H2C, true
	case "grpc":
		return GRPC, true
	case "grpcs":
		return GRPCS, true
	case "tcp":
		return TCP, true
	}
	return "", false
}

func (p Protocol) usesTLS() bool { return p == HTTPS || p == GRPCS }
