package images

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"net"
	"strconv"

	"sigs.k8s.io/gateway-api-conformance-images/echo-basic/tcpserver"
)

func startEchoTCP(p *Program, cfg Config) error {
	plain, err := cfg.port("TCP_PORT", 3000)
	if err != nil {
		return err
	}
	secure, err := cfg.port("TLS_PORT", 8443)
	if err != nil {
		return err
	}
	pod := cfg.podContext()
	podInfo := tcpserver.Context{
		Namespace: pod.Namespace, Ingress: pod.Ingress, Service: pod.Service, Pod: pod.Pod,
		TCPPort: strconv.Itoa(plain), TLSPort: strconv.Itoa(secure),
	}
	l, err := cfg.listen(plain)
	if err != nil {
		return err
	}
	serveTCP(p, l, podInfo)
	cert, key, ok, err := cfg.readKeyPair("TLS_SERVER_CERT", "TLS_SERVER_PRIV_KEY")
	if !ok || err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return err
	}
	if l, err = cfg.listen(secure); err != nil {
		return err
	}
	serveTCP(p, tls.NewListener(l, &tls.Config{Certificates: []tls.Certificate{pair}}), podInfo)
	return nil
}

func serveTCP(p *Program, l net.Listener, podInfo tcpserver.Context) {
	p.shutdowns = append(p.shutdowns, func(context.Context) { l.Close() })
	p.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.wg.Go(func() {
				defer p.track(c)()
				serveEchoConn(c, podInfo)
			})
		}
	})
}

// serveEchoConn sends the welcome message of the image, and then a response to each line with a known command.
func serveEchoConn(c net.Conn, podInfo tcpserver.Context) {
	a := tcpserver.TCPAssertions{Context: podInfo}
	if t, ok := c.(*tls.Conn); ok {
		if t.Handshake() != nil {
			return
		}
		s := t.ConnectionState()
		a.IsTLS = true
		a.TLSAssertion = &tcpserver.TLSAssertions{
			Version: tls.VersionName(s.Version), ServerName: s.ServerName,
			NegotiatedProtocol: s.NegotiatedProtocol, CipherSuite: tls.CipherSuiteName(s.CipherSuite),
			Curves: s.CurveID.String(),
		}
	}
	b, err := json.Marshal(a)
	if err != nil {
		return
	}
	fmt.Fprint(c, tcpserver.WelcomeMessage)
	lines := bufio.NewScanner(c)
	for lines.Scan() {
		switch lines.Text() {
		case "TEST":
			fmt.Fprintf(c, "%s\n", b)
		case "IS_TLS":
			fmt.Fprintf(c, "%t\n", a.IsTLS)
		case "PING":
			fmt.Fprint(c, "PONG\n")
		}
	}
}
