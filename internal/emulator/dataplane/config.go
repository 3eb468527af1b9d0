package dataplane

import (
	"crypto/tls"
	"net/netip"
)

// Config contains all load balancers and accelerators whose traffic the data plane forwards. Slices may be in any order; the
// data plane does not store or modify them after Apply has returned.
type Config struct {
	LoadBalancers []LoadBalancer
	TargetGroups  []TargetGroup
	Accelerators  []Accelerator
	// Distances determine which endpoint groups of accelerators are near to a client.
	Distances Distances
}

// LoadBalancer is one load balancer.
type LoadBalancer struct {
	ARN     string
	Name    string
	DNSName string
	// IsNetwork is set for a Network Load Balancer, otherwise it is an Application Load Balancer. The listeners of a Network
	// Load Balancer only use DefaultRule, whose action must be a Forward.
	IsNetwork bool
	// Nodes has one node for each enabled Availability Zone.
	Nodes []Node
	// Attributes are load balancer attributes by their AWS keys, such as "idle_timeout.timeout_seconds". Absent
	// keys have AWS's defaults; keys that do not affect traffic are ignored.
	Attributes map[string]string
	Listeners  []Listener
}

// Node is a node of a load balancer in one Availability Zone.
type Node struct {
	Zone string
	// Address is the node's private address in the VPC. The listening socket
	// is bound to Loopback(Address).
	Address netip.Addr
	// IPv6 is the node's other address if the load balancer is a dual-stack Network Load
	// Balancer, else invalid. Its sockets are bound to free ports of ::1.
	IPv6 netip.Addr
}

// Protocol is the protocol of a listener, a target group or a health check.
type Protocol string

// Protocols of an Application Load Balancer.
const (
	HTTP  Protocol = "HTTP"
	HTTPS Protocol = "HTTPS"
)

// Protocols of a Network Load Balancer.
const (
	TCP     Protocol = "TCP"
	TLS     Protocol = "TLS"
	UDP     Protocol = "UDP"
	TCPUDP  Protocol = "TCP_UDP"
	QUIC    Protocol = "QUIC"
	TCPQUIC Protocol = "TCP_QUIC"
)

// isNetworkProtocol reports whether the protocol is one of a Network Load Balancer.
func (p Protocol) isNetworkProtocol() bool { return p.hasConnections() || p.hasDatagrams() }

// hasConnections reports whether the protocol has connections.
func (p Protocol) hasConnections() bool { return p == TCP || p == TLS || p == TCPUDP || p == TCPQUIC }

// hasDatagrams reports whether the protocol has datagrams.
func (p Protocol) hasDatagrams() bool { return p == UDP || p == TCPUDP || p.hasQUIC() }

func (p Protocol) hasQUIC() bool { return p == QUIC || p == TCPQUIC }

// Listener is one port of a load balancer.
type Listener struct {
	ARN      string
	Port     uint16
	Protocol Protocol
	// Certificates of an HTTPS or TLS listener; the first is the default.
	Certificates []Certificate
	// SSLPolicy is the name of the security policy, empty meaning
	// ELBSecurityPolicy-2016-08.
	SSLPolicy string
	// ALPN is the policy of a TLS listener, such as "HTTP2Preferred"; empty
	// means "None".
	ALPN string
	// MutualTLS is nil when client certificates are not requested.
	MutualTLS *MutualTLS
	// Attributes are listener attributes under their AWS keys.
	Attributes map[string]string
	// DefaultRule is the rule for requests that no other rule matches. Its Conditions
	// and Priority are ignored.
	DefaultRule Rule
	Rules       []Rule
}

// Certificate is a server certificate with its private key.
type Certificate struct {
	ARN string
	// TLS is the key pair with the certificate chain, the leaf certificate first.
	TLS tls.Certificate
	// Domains are the server names (SNI) for which the certificate is chosen. A leading "*." matches one label. If empty,
	// they are read from the leaf certificate.
	Domains []string
}

// MutualTLSMode is the mode of client authentication.
type MutualTLSMode string

// Modes of client authentication.
const (
	// Passthrough hands any client certificate to the target in a header.
	Passthrough MutualTLSMode = "passthrough"
	// Verify requires a certificate that chains to the trust store.
	Verify MutualTLSMode = "verify"
)

// MutualTLS is the client authentication of an HTTPS listener.
type MutualTLS struct {
	Mode MutualTLSMode
	// CABundle is the trust store's content in PEM. It is used only in mode Verify.
	CABundle []byte
	// RevocationLists are certificate revocation lists, PEM or DER.
	RevocationLists [][]byte
	// IgnoreExpiry accepts expired client certificates.
	IgnoreExpiry bool
	// AdvertiseCANames sends the subject names of the trust store to clients.
	AdvertiseCANames bool
}
