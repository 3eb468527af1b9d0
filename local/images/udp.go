package images

import (
	"context"
	"encoding/json"
	"errors"
	"net"

	"github.com/fulcrum-lb/fulcrum/local/loopback"
)

// udpReply is the JSON reply to a datagram.
type udpReply struct {
	Request    string `json:"request"`
	podContext `json:",inline"`
}

func startEchoUDP(p *Program, cfg Config) error {
	port, err := cfg.port("UDP_PORT", 8080)
	if err != nil {
		return err
	}
	pod := cfg.podContext()
	return serveUDP(p, cfg, port, func(datagram []byte) []byte {
		b, err := json.Marshal(udpReply{Request: string(datagram), podContext: pod})
		if err != nil {
			return nil
		}
		return b
	})
}

// serveUDP opens a UDP port, which Shutdown closes, and replies to each datagram with the result of answer, unless that is
// nil. answer gets at most 1,024 bytes of the datagram.
func serveUDP(p *Program, cfg Config, port int, answer func([]byte) []byte) error {
	c, err := net.ListenPacket("udp4", loopback.HostPort(cfg.Address, port))
	if err != nil {
		return err
	}
	p.shutdowns = append(p.shutdowns, func(context.Context) { c.Close() })
	p.wg.Go(func() {
		buf := make([]byte, 1024)
		for {
			n, from, err := c.ReadFrom(buf)
			if errors.Is(err, net.ErrClosed) {
				return
			}
			if err != nil {
				continue // The error is about an earlier reply to a client that has closed its socket.
			}
			if b := answer(buf[:n]); b != nil {
				c.WriteTo(b, from)
			}
		}
	})
	return nil
}
