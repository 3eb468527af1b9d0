package up

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/fulcrum-lb/fulcrum/local/world"
)

// printAccessCommands prints shell commands with which a user can use local world w. fulcrum is the path of Fulcrum, self is
// the path of this program, and number is the number of the local world that runs the AWS of w.
func printAccessCommands(out io.Writer, w *world.World, number int, fulcrum, self string) {
	fmt.Fprintf(out, "\n%s", w.ExportCommands())
	fmt.Fprint(out, "\nwith these in the environment, for example:\n  kubectl get ingress -A\n")
	if w.AWSEndpoint() != "" {
		fmt.Fprintf(out, "  aws elbv2 describe-load-balancers\n  %s plan   # also: tree, explain, doctor, orphans\n", fulcrum)
		fmt.Fprintf(out, "  curl %s   # metrics of the controller\n", w.ControllerMetricsURL())
		fmt.Fprintf(out, "  %s console   # the same in a browser\n", fulcrum)
		host, port, err := net.SplitHostPort(w.ResolverAddress())
		if err == nil {
			fmt.Fprintf(out, "  dig -p %s @%s NAME   # the name of a load balancer\n", port, host)
		}
		fmt.Fprintf(out, "certificates are signed by %s\n", w.CAFile())
		fmt.Fprintf(out, "another cluster of this AWS: %s up --beside %d --region eu-west-1 --cluster-name green\n", self, number)
	}
	fmt.Fprintf(out, "logs are in %s/logs; Ctrl-C stops this local world\n", w.Dir())
}

// httpPorts are the ports of TCP listeners for which curl is suggested instead of nc.
var httpPorts = []int{80, 443, 3000, 8000, 8080, 8443}

// curlLines returns a shell command for each listener, as text. For UDP, and for TCP on a port that is not in httpPorts, the
// command is nc. Otherwise it is curl with a host and a path that match a rule, and with the CA file if ca signed the
// certificate. A last line lists the hosts of other rules.
func curlLines(lb world.LoadBalancer, ca certificateAuthority) string {
	var b strings.Builder
	var others []string
	for _, l := range lb.Listeners {
		host, path, more := exampleRequest(lb, l.Port)
		others = append(others, more...)
		if len(l.UDPAddresses) > 0 {
			at := l.UDPAddresses[0]
			fmt.Fprintf(&b, "  echo hello | nc -u -w 1 %s %d\n", at.Addr(), at.Port())
		}
		if len(l.TCPAddresses) == 0 {
			continue
		}
		scheme, extra := "http", ""
		switch {
		case l.Protocol == "HTTPS" || l.Protocol == "TLS":
			scheme, extra = "https", " --cacert "+ca.file
			if !ca.hasSigned(l.TCPAddresses[0].String(), host) {
				extra = " -k"
			}
		case l.Protocol != "HTTP" && !slices.Contains(httpPorts, l.Port):
			fmt.Fprintf(&b, "  echo hello | nc -w 1 %s %d\n", l.TCPAddresses[0].Addr(), l.TCPAddresses[0].Port())
			continue
		}
		fmt.Fprintf(&b, "  curl%s --connect-to ::%s '%s://%s%s'\n", extra, l.TCPAddresses[0], scheme, urlAuthority(host, scheme, l.Port), path)
	}
	slices.Sort(others)
	if others = slices.Compact(others); b.Len() > 0 && len(others) > 0 {
		fmt.Fprintf(&b, "  other hosts: %s\n", strings.Join(others, ", "))
	}
	return b.String()
}

// exampleRequest returns a host and a path that match a rule of the listener on port, and the hosts of the other rules. It
// prefers a rule that forwards. If there is no suitable rule, the host is the DNS name of the load balancer.
func exampleRequest(lb world.LoadBalancer, port int) (host, path string, others []string) {
	var best *world.Rule
	for i, r := range lb.Rules {
		if r.Port != port || r.Other || r.GRPC {
			continue
		}
		if best == nil || best.Action != "forward" && r.Action == "forward" {
			best = &lb.Rules[i]
		}
		others = append(others, r.Hosts...)
	}
	host, path = lb.DNSName, "/"
	if best == nil {
		return host, path, nil
	}
	if len(best.Hosts) > 0 {
		host = matchingExample(best.Hosts[0], "www")
	}
	if len(best.Paths) > 0 {
		path = matchingExample(best.Paths[0], "")
	}
	return host, path, slices.DeleteFunc(others, func(h string) bool { return matchingExample(h, "www") == host })
}

// matchingExample returns a text that matches a wildcard pattern. It replaces each "*" with star, and each "?" with "x".
func matchingExample(pattern, star string) string {
	return strings.NewReplacer("*", star, "?", "x").Replace(pattern)
}

// certificateAuthority is the CA of the local world.
type certificateAuthority struct {
	file  string
	roots *x509.CertPool
}

// hasSigned reports whether the listener at address has a certificate for host that the CA has signed. It also returns true
// if the certificate cannot be read, for example because the listener does not respond.
func (ca certificateAuthority) hasSigned(address, host string) bool {
	d := tls.Dialer{NetDialer: &net.Dialer{Timeout: time.Second}, Config: &tls.Config{ServerName: host, RootCAs: ca.roots}}
	c, err := d.Dial("tcp", address)
	if err == nil {
		c.Close()
		return true
	}
	var unverified *tls.CertificateVerificationError
	return !errors.As(err, &unverified)
}

// urlAuthority returns host:port for a URL, or only host if port is the default of the scheme.
func urlAuthority(host, scheme string, port int) string {
	if scheme == "http" && port == 80 || scheme == "https" && port == 443 {
		return host
	}
	return fmt.Sprintf("%s:%d", host, port)
}
