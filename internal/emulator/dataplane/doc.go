// Package dataplane forwards traffic as Application and Network Load Balancers do. It listens on one loopback address for
// each load balancer node, evaluates listener rules or hashes flows, and forwards requests, connections and datagrams to
// targets. It checks the health of targets itself.
//
// Its input is a Config, which the control plane of the emulator derives from its state. The package has no AWS API and does
// not repeat the validation of the control plane.
//
// A Network Load Balancer is emulated by a forwarder in user space, while AWS rewrites packets. Therefore there are
// differences:
//
//   - A listener without targets accepts a connection and resets it.
//   - With client IP preservation, a target sees the client's address but not its port, and only if the address belongs
//     to this machine.
//   - The IPv6 sockets of a dual-stack load balancer are at free ports of ::1, which Endpoints lists. The DNS name of the
//     load balancer resolves only to IPv4 addresses.
//   - A proxy protocol header precedes each datagram.
//
// Accelerators forward to load balancers and instances. The static addresses of accelerators are also loopback addresses.
// The endpoint of a flow depends only on the flow and the configuration. For each connection from an accelerator to a
// load balancer, the data plane stores the client in memory.
//
// QUIC packets are forwarded by the server ID in their connection ID. A packet without a known server ID, such as the first
// packet of a connection, is forwarded by the flow hash.
//
// Three differences from AWS result from the use of net/http: names of HTTP/1 headers reach targets in canonical case; a
// client that sends no complete header within the idle timeout is disconnected without a 408; informational responses of
// targets (103) are forwarded in the form that net/http writes.
package dataplane
