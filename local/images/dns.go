package images

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// dnsPort is the port in the Corefile of the conformance suite.
const dnsPort = 53

// coreDNS answers every question, over UDP and TCP, with an empty answer. The Corefile of the conformance suite
// enables the plugin whoami, which would add the address of the client as an additional record; the suite does not
// read it.
func coreDNS(p *Program, cfg Config) error {
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
	return serveUDP(p, cfg, dnsPort, answerDNS)
}

// serveDNSConn answers the queries of a TCP connection, each preceded by its length.
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
		reply := answerDNS(question)
		if reply == nil {
			return
		}
		if _, err := c.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(reply))), reply...)); err != nil {
			return
		}
	}
}

func answerDNS(question []byte) []byte {
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
