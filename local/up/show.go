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

// printAccess prints how to reach a world, as commands for a shell. fulcrum is
// the path of the program, self that of this one. number is that of the world whose AWS it is.
func printAccess(out io.Writer, w *world.World, number int, fulcrum, self string) {
	fmt.Fprintf(out, "\n%s", w.Exports())
	fmt.Fprint(out, "\nwith these in the environment, for example:\n  kubectl get ingress -A\n")
	if w.AWSEndpoint() != "" {
		fmt.Fprintf(out, "  aws elbv2 describe-load-balancers\n  %s plan   # also: tree, explain, doctor, orphans\n", fulcrum)
		fmt.Fprintf(out, "  curl %s   # of the controller\n", w.ControllerMetrics())
		fmt.Fprintf(out, "  %s console   # all of it on a page\n", fulcrum)
		host, port, err := net.SplitHostPort(w.Resolver())
		if err == nil {
			fmt.Fprintf(out, "  dig -p %s @%s NAME   # the name of a load balancer\n", port, host)
		}
		fmt.Fprintf(out, "certificates are signed by %s\n", w.CA())
		fmt.Fprintf(out, "another cluster of this AWS: %s up --beside %d --region eu-west-1 --cluster-name green\n", self, number)
	}
	fmt.Fprintf(out, "logs are in %s/logs; Ctrl-C ends this world\n", w.Dir())
}

// web are the ports at which TCP is taken for HTTP.
var web = []int{80, 443, 3000, 8000, 8080, 8443}

// curlLines has one line for each listener, that works as it is: with a host and a path for which the listener has a rule,
// and with the CA by which its certificate can be verified. Other TCP listeners and datagrams get a line for nc.
func curlLines(lb world.LoadBalancer, ca certificateAuthority) string {
	var b strings.Builder
	var others []string
	for _, l := range lb.Listeners {
		host, path, more := example(lb, l.Port)
		others = append(others, more...)
		if len(l.Datagrams) > 0 {
			at := l.Datagrams[0]
			fmt.Fprintf(&b, "  echo hello | nc -u -w 1 %s %d\n", at.Addr(), at.Port())
		}
		if len(l.Real) == 0 {
			continue
		}
		scheme, extra := "http", ""
		switch {
		case l.Protocol == "HTTPS" || l.Protocol == "TLS":
			scheme, extra = "https", " --cacert "+ca.file
			if !ca.signs(l.Real[0].String(), host) {
				extra = " -k"
			}
		case l.Protocol != "HTTP" && !slices.Contains(web, l.Port):
			fmt.Fprintf(&b, "  echo hello | nc -w 1 %s %d\n", l.Real[0].Addr(), l.Real[0].Port())
			continue
		}
		fmt.Fprintf(&b, "  curl%s --connect-to ::%s '%s://%s%s'\n", extra, l.Real[0], scheme, authority(host, scheme, l.Port), path)
	}
	slices.Sort(others)
	if others = slices.Compact(others); b.Len() > 0 && len(others) > 0 {
		fmt.Fprintf(&b, "  other hosts: %s\n", strings.Join(others, ", "))
	}
	return b.String()
}

// example is a host and a path that a rule of a listener takes, of one that forwards if there is such a rule, and the hosts
// of the other rules. Without a rule the host is the name of the load balancer.
func example(lb world.LoadBalancer, port int) (host, path string, others []string) {
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
		host = matching(best.Hosts[0], "www")
	}
	if len(best.Paths) > 0 {
		path = matching(best.Paths[0], "")
	}
	return host, path, slices.DeleteFunc(others, func(h string) bool { return matching(h, "www") == host })
}

// matching is a text that a pattern of AWS takes.
func matching(pattern, star string) string {
	return strings.NewReplacer("*", star, "?", "x").Replace(pattern)
}

// certificateAuthority is the one of the world.
type certificateAuthority struct {
	file  string
	roots *x509.CertPool
}

// signs reports whether a listener shows a certificate for a host that the CA has signed. While it does not answer, that
// is taken for granted.
func (ca certificateAuthority) signs(address, host string) bool {
	d := tls.Dialer{NetDialer: &net.Dialer{Timeout: time.Second}, Config: &tls.Config{ServerName: host, RootCAs: ca.roots}}
	c, err := d.Dial("tcp", address)
	if err == nil {
		c.Close()
		return true
	}
	var wrong *tls.CertificateVerificationError
	return !errors.As(err, &wrong)
}

// authority leaves out the port that the scheme implies.
func authority(host, scheme string, port int) string {
	if scheme == "http" && port == 80 || scheme == "https" && port == 443 {
		return host
	}
	return fmt.Sprintf("%s:%d", host, port)
}
