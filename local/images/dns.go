package images

import (
	"context"
	"encoding/binary"
	"io"
	"net"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

// dnsPort is that of the suite's Corefile.
const dnsPort = 53

// coreDNS answers every question, over UDP and TCP, with an empty answer. The suite's
// Corefile has the plugin whoami for the one name that is asked for, which adds the
// address of the client as an additional record; nothing reads it.
func coreDNS(p *Program, cfg Config) error {
	l, err := cfg.listen(dnsPort)
	if err != nil {
		return err
	}
	p.ends = append(p.ends, func(context.Context) { l.Close() })
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() {
				defer p.adopt(c)()
				talkDNS(c)
			})
		}
	})
	return serveUDP(p, cfg, dnsPort, answerDNS)
}

// talkDNS answers the questions of a connection, each with its length before it.
func talkDNS(c net.Conn) {
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
