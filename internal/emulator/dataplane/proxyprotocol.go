package dataplane

import (
	"encoding/binary"
	"hash/crc32"
	"net/netip"
)

// Constants of the proxy protocol, version 2: https://www.haproxy.org/download/2.9/doc/proxy-protocol.txt.
const (
	proxySignature    = "\r\n\r\n\x00\r\nQUIT\n"
	proxyVersionLocal = 0x20
	proxyVersionProxy = 0x21
	proxyInet         = 0x10
	proxyInet6        = 0x20
	proxyStream       = 0x01
	proxyDatagram     = 0x02
	proxyTypeCRC32C   = 0x03
)

// proxyHeader returns the proxy protocol header with the address of the client and of the listener.
func proxyHeader(client, listener netip.AddrPort, datagram bool) []byte {
	from, to := client.Addr(), listener.Addr()
	family := byte(proxyInet)
	if !from.Is4() || !to.Is4() {
		family = proxyInet6
	}
	var addresses []byte
	if family == proxyInet {
		a, b := from.As4(), to.As4()
		addresses = append(append(addresses, a[:]...), b[:]...)
	} else {
		a, b := from.As16(), to.As16()
		addresses = append(append(addresses, a[:]...), b[:]...)
	}
	addresses = binary.BigEndian.AppendUint16(addresses, client.Port())
	addresses = binary.BigEndian.AppendUint16(addresses, listener.Port())
	transport := byte(proxyStream)
	if datagram {
		transport = proxyDatagram
	}
	return proxyFrame(proxyVersionProxy, family|transport, addresses)
}

// proxyLocalHeader returns the proxy protocol header of connections that the load balancer itself opens, such as health
// checks.
func proxyLocalHeader() []byte { return proxyFrame(proxyVersionLocal, 0, nil) }

// proxyFrame returns a proxy protocol header with length and checksum. The checksum is that of the header with zeros as
// checksum.
func proxyFrame(version, family byte, addresses []byte) []byte {
	out := append([]byte(proxySignature), version, family)
	out = binary.BigEndian.AppendUint16(out, uint16(len(addresses)+7))
	out = append(out, addresses...)
	out = append(out, proxyTypeCRC32C, 0, 4)
	sum := len(out)
	out = append(out, 0, 0, 0, 0)
	binary.BigEndian.PutUint32(out[sum:], crc32.Checksum(out, crc32.MakeTable(crc32.Castagnoli)))
	return out
}
