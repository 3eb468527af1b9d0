package images

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// dnsPort is the port of CoreDNS in the Corefile of the conformance suite.
const dnsPort = 53

// startCoreDNS responds to every DNS query, over UDP and TCP, with a success response without records. The Corefile of the
// conformance suite enables the plugin whoami, which adds the address of the client as an additional record. startCoreDNS
// omits this record, because the suite does not read it.
func startCoreDNS(p *Program, cfg Config) error {
	l, err := cfg.listen(dnsPort)
	if err != nil {
		return err
	}
	p.shutdowns = append(p.shutdowns, func(context.Context) { l.Close() })
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() {
				defer p.track(c)()
				serveDNSConn(c)
			})
		}
	})
	return serveUDP(p, cfg, dnsPort, dnsResponse)
}

// serveDNSConn responds to the queries on a TCP connection. A length of two bytes precedes each query and each response.
func serveDNSConn(c net.Conn) {
	for {
		c.SetDeadline(time.Now().Add(10 * time.Second))
		var size [2]byte
		if _, err := io.ReadFull(c, size[:]); err != nil {
			return
		}
		question := make([]byte, binary.BigEndian.Uint16(size[:]))
		if _, err := io.ReadFull(c, question); err != nil {
			return
		}
		reply := dnsResponse(question)
		if reply == nil {
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}

func dnsResponse(question []byte) []byte {
	var m dnsmessage.Message
	if err := m.Unpack(question); err != nil || m.Response {
		return nil
	}
	m.Response, m.Authoritative = true, true
	m.Answers, m.Authorities, m.Additionals = nil, nil, nil
	b, err := m.Pack()
	if err != nil {
		return nil
	}
	return b
}
