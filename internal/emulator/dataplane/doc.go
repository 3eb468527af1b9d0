// Package dataplane moves traffic as Application and Network Load Balancers
// do: it listens on one loopback address per load balancer node, evaluates
// listener rules or hashes flows, and forwards requests, connections and
// datagrams to targets whose health it checks itself.
//
// It is driven by plain configuration values (Config) that the emulator's control plane
// derives from its state. It has no AWS API and validates nothing that the control
// plane has validated already.
//
// A Network Load Balancer here is a forwarder in user space, so a few things differ
// from packets that are rewritten: a listener without targets accepts a connection and
// resets it; with client IP preservation a target sees the client's address if that is
// one of this machine's, but not its port; the IPv6 sockets of a dual-stack one are at
// free ports of ::1, which Endpoints lists, while its name resolves to IPv4 addresses;
// proxy protocol headers precede each datagram.
//
// In front of load balancers there may be accelerators: their static addresses are loopback addresses too, a flow's
// endpoint is a pure function of the flow and the configuration, and memory holds for load balancers who the client of
// a connection is that comes from an accelerator.
//
// QUIC is forwarded without a look into it, except for the server ID in the connection
// ID. A packet without a known one, as the first of a connection, goes by the flow hash.
//
// Three differences from AWS come from building on net/http: names of HTTP/1 headers
// reach targets in canonical case, a client that sends no complete header within the
// idle timeout is disconnected without a 408, and informational responses of targets
// (103) pass in the form that net/http gives them.
package dataplane
