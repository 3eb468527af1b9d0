package dataplane

import (
	"crypto/tls"
	"net/netip"
)

// Config contains all load balancers and accelerators whose traffic the data plane forwards. Slices may be in any order.
// After Apply has returned, the data plane does not keep or modify them.
type Config struct {
	LoadBalancers []LoadBalancer
	TargetGroups  []TargetGroup
	Accelerators  []Accelerator
	// Distances determine which regions, and therefore which endpoint groups of accelerators, are near to a client.
	Distances Distances
}

// LoadBalancer is an Application or Network Load Balancer.
type LoadBalancer struct {
	ARN     string
	Name    string
	DNSName string
	// IsNetwork is true for a Network Load Balancer and false for an Application Load Balancer. Listeners of a Network Load
	// Balancer use only DefaultRule, whose action must be a Forward.
	IsNetwork bool
	// Nodes has one node for each enabled Availability Zone.
	Nodes []Node
	// Attributes maps AWS's keys of load balancer attributes, such as "idle_timeout.timeout_seconds", to values. Absent keys
	// have AWS's defaults; keys that do not affect traffic are ignored.
	Attributes map[string]string
	Listeners  []Listener
}

// Node is a node of a load balancer in one Availability Zone.
type Node struct {
	Zone string
	// Address is the private address of the node in the VPC. The listening socket is bound to Loopback(Address).
	Address netip.Addr
	// IPv6 is the IPv6 address of a node of a dual-stack Network Load Balancer; otherwise it is invalid. Its sockets are
	// bound to free ports of ::1.
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

// hasConnections reports whether clients of the protocol open TCP connections.
func (p Protocol) hasConnections() bool { return p == TCP || p == TLS || p == TCPUDP || p == TCPQUIC }

// hasDatagrams reports whether clients of the protocol send UDP datagrams.
func (p Protocol) hasDatagrams() bool { return p == UDP || p == TCPUDP || p.hasQUIC() }

func (p Protocol) hasQUIC() bool { return p == QUIC || p == TCPQUIC }

// Listener is a listener of a load balancer.
type Listener struct {
	ARN      string
	Port     uint16
	Protocol Protocol
	// Certificates are the certificates of an HTTPS or TLS listener; the first is the default.
	Certificates []Certificate
	// SSLPolicy is the name of the security policy. Empty means "ELBSecurityPolicy-2016-08".
	SSLPolicy string
	// ALPN is the ALPN policy of a TLS listener, such as "HTTP2Preferred". Empty means "None".
	ALPN string
	// MutualTLS is nil if the listener does not request client certificates.
	MutualTLS *MutualTLS
	// Attributes maps AWS's keys of listener attributes to values.
	Attributes map[string]string
	// DefaultRule is the rule for requests that no other rule matches. Its Conditions and Priority are ignored.
	DefaultRule Rule
	Rules       []Rule
}

// Certificate is a server certificate with its private key.
type Certificate struct {
	ARN string
	// TLS is the key pair with the certificate chain, the leaf certificate first.
	TLS tls.Certificate
	// Domains are the server names (SNI) for which the certificate is chosen. A leading "*." matches one label. If Domains
	// is empty, the names in the leaf certificate are used.
	Domains []string
}

// MutualTLSMode determines how a listener handles client certificates.
type MutualTLSMode string

// Modes of mutual TLS.
const (
	// Passthrough accepts every client certificate and sends it to the target in a header.
	Passthrough MutualTLSMode = "passthrough"
	// Verify requires a client certificate that a CA in the trust store has issued.
	Verify MutualTLSMode = "verify"
)

// MutualTLS contains the settings of an HTTPS listener that requests client certificates.
type MutualTLS struct {
	Mode MutualTLSMode
	// CABundle contains the CA certificates of the trust store in PEM format. It is used only in mode Verify.
	CABundle []byte
	// RevocationLists are certificate revocation lists in PEM or DER format.
	RevocationLists [][]byte
	// IgnoreExpiry accepts expired client certificates.
	IgnoreExpiry bool
	// AdvertiseCANames sends the subject names of the trust store to clients.
	AdvertiseCANames bool
}
