// Package dataplane forwards traffic like Application and Network Load Balancers: it listens on one loopback address
// per load balancer node, evaluates listener rules or hashes flows, and forwards requests, connections and datagrams
// to targets whose health it checks itself.
//
// Its input is a Config, which the emulator's control plane derives from its state. It has no AWS API, and does not
// repeat the validation of the control plane.
//
// A Network Load Balancer is emulated by a forwarder in user space, which differs from AWS's rewriting of packets: a
// listener without targets accepts a connection and resets it; with client IP preservation a target sees the
// client's address, but not its port, and only if the address belongs to this machine; the IPv6 sockets of a
// dual-stack load balancer are at free ports of ::1, which Endpoints lists, while its name resolves to IPv4
// addresses; proxy protocol headers precede each datagram.
//
// In front of load balancers there may be accelerators. Their static addresses are loopback addresses too, and a flow's
// endpoint is a pure function of the flow and the configuration. The data plane stores in memory the client of each
// connection from an accelerator to a load balancer.
//
// QUIC packets are forwarded by the server ID in their connection ID. A packet without a
// known server ID, such as the first of a connection, is forwarded by the flow hash.
//
// Three differences from AWS come from building on net/http: names of HTTP/1 headers
// reach targets in canonical case, a client that sends no complete header within the
// idle timeout is disconnected without a 408, and informational responses of targets
// (103) pass in the form that net/http gives them.
package dataplane
