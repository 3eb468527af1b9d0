package up

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"crypto/x509"

	"github.com/fulcrum-lb/fulcrum/local/world"
)

// TestCurlLines checks that the command for a listener sends a request that matches a rule, and that it has the CA file only
// if the CA signed the certificate for the host.
func TestCurlLines(t *testing.T) {
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	trusted := x509.NewCertPool()
	trusted.AddCert(server.Certificate())
	tls := netip.MustParseAddrPort(server.Listener.Addr().String())
	at := netip.MustParseAddrPort("127.0.0.9:80")
	on := func(protocol string, port int, at netip.AddrPort) []world.Listener {
		return []world.Listener{{Protocol: protocol, Port: port, TCPAddresses: []netip.AddrPort{at}}}
	}
	for name, tc := range map[string]struct {
		lb    world.LoadBalancer
		roots *x509.CertPool
		want  string
	}{
		"without rules": {world.LoadBalancer{DNSName: "lb.example", Listeners: on("TCP", 80, at)}, nil, "  curl --connect-to ::127.0.0.9:80 'http://lb.example/'\n"},
		"the first rule that forwards": {world.LoadBalancer{DNSName: "lb.example", Listeners: on("HTTP", 8081, at), Rules: []world.Rule{
			{Port: 8081, Hosts: []string{"a.example"}, Other: true, Action: "forward"},
			{Port: 80, Hosts: []string{"other.example"}, Action: "forward"},
			{Port: 8081, Hosts: []string{"grpc.example"}, Action: "forward", GRPC: true},
			{Port: 8081, Hosts: []string{"old.example"}, Action: "redirect"},
			{Port: 8081, Hosts: []string{"*.shop.example"}, Paths: []string{"/cart/*"}, Action: "forward"},
		}}, nil, "  curl --connect-to ::127.0.0.9:80 'http://www.shop.example:8081/cart/'\n  other hosts: old.example\n"},
		"redirects alone": {world.LoadBalancer{DNSName: "lb.example", Listeners: on("HTTP", 80, at), Rules: []world.Rule{
			{Port: 80, Paths: []string{"/old?"}, Action: "redirect"},
		}}, nil, "  curl --connect-to ::127.0.0.9:80 'http://lb.example/oldx'\n"},
		"TCP that is hardly HTTP": {world.LoadBalancer{DNSName: "lb.example", Listeners: on("TCP", 5672, at)}, nil, "  echo hello | nc -w 1 127.0.0.9 80\n"},
		"TLS, signed by the CA": {world.LoadBalancer{Listeners: on("HTTPS", 443, tls), Rules: []world.Rule{{Port: 443, Hosts: []string{"example.com"}, Action: "forward"}}}, trusted,
			"  curl --cacert ca.crt --connect-to ::" + tls.String() + " 'https://example.com/'\n"},
		"TLS, signed by another": {world.LoadBalancer{Listeners: on("HTTPS", 443, tls), Rules: []world.Rule{{Port: 443, Hosts: []string{"example.com"}, Action: "forward"}}}, x509.NewCertPool(),
			"  curl -k --connect-to ::" + tls.String() + " 'https://example.com/'\n"},
		"TLS, for another host": {world.LoadBalancer{DNSName: "lb.amazonaws.com", Listeners: on("HTTPS", 443, tls)}, trusted,
			"  curl -k --connect-to ::" + tls.String() + " 'https://lb.amazonaws.com/'\n"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := curlLines(tc.lb, certificateAuthority{"ca.crt", tc.roots}); got != tc.want {
				t.Errorf("%s, want %s", got, tc.want)
			}
		})
	}
}
