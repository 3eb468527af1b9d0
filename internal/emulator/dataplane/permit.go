package dataplane

import (
	"context"
	"io"
	"net"
	"net/netip"
	"os"
)

// admits reports whether the client may reach the listener.
func (f *front) admits(conn net.Conn) bool {
	r := f.route.Load()
	client := f.plane.clientAddress(conn.RemoteAddr().String())
	return f.plane.opt.Permit(client.Addr(), netip.AddrPortFrom(r.node, r.listener.port))
}

// swallow leaves a client without any answer, for as long as it waits. The
// connection itself could only be kept from being established by the kernel.
func (f *front) swallow(conn net.Conn) {
	stop := context.AfterFunc(f.plane.life, func() { _ = conn.Close() })
	defer stop()
	_, _ = io.Copy(io.Discard, conn)
	_ = conn.Close()
}

// dialTarget connects to a target from the address of a node, as targets see
// it. A node whose address is not one of this machine's leaves the choice of
// the address to the system. Where packets do not pass, connecting times out.
func (p *Plane) dialTarget(ctx context.Context, network string, node netip.Addr, at netip.AddrPort) (net.Conn, error) {
	if !p.opt.Permit(node, at) {
		ctx, cancel := context.WithTimeout(ctx, p.opt.ConnectTimeout)
		defer cancel()
		<-ctx.Done()
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.ErrDeadlineExceeded}
	}
	d := net.Dialer{Timeout: p.opt.ConnectTimeout}
	if local := Loopback(node); local.IsLoopback() {
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(local, 0))
	}
	return d.DialContext(ctx, network, p.opt.Dial(at).String())
}
