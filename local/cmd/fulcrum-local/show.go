package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/local/world"
)

// printAccess prints how to reach a world, as commands for a shell. fulcrum is
// the path of the program.
func printAccess(out io.Writer, w *world.World, fulcrum string) {
	fmt.Fprintf(out, "\n%s", w.Exports())
	fmt.Fprint(out, "\nwith these in the environment, for example:\n  kubectl get ingress -A\n")
	if w.AWSEndpoint() != "" {
		fmt.Fprintf(out, "  aws elbv2 describe-load-balancers\n  %s plan   # also: tree, explain, doctor, orphans\n", fulcrum)
		fmt.Fprintf(out, "  curl %s   # of the controller\n", w.ControllerMetrics())
		host, port, err := net.SplitHostPort(w.Resolver())
		if err == nil {
			fmt.Fprintf(out, "  dig -p %s @%s NAME   # the name of a load balancer\n", port, host)
		}
		fmt.Fprintf(out, "certificates are signed by %s\n", w.CA())
	}
	fmt.Fprintf(out, "logs are in %s/logs; Ctrl-C ends this world\n", w.Dir())
}

// curlLines has one line for each listener, as if what listens behind it took HTTP
// requests or datagrams. hosts are
// those that rules want; without any, the load balancer's own name is used.
func curlLines(w *world.World, lb world.LoadBalancer, hosts []string) string {
	host := lb.DNSName
	if len(hosts) > 0 {
		host = hosts[0]
	}
	var b strings.Builder
	for _, l := range lb.Listeners {
		scheme, extra := "http", ""
		switch l.Protocol {
		case "HTTPS", "TLS":
			scheme, extra = "https", " --cacert "+w.CA()
			if host == lb.DNSName {
				// The certificate is for the hosts of rules.
				extra = " -k"
			}
		}
		if len(l.Datagrams) > 0 {
			at := l.Datagrams[0]
			fmt.Fprintf(&b, "  echo hello | nc -u -w 1 %s %d\n", at.Addr(), at.Port())
		}
		if len(l.Real) > 0 {
			fmt.Fprintf(&b, "  curl%s --connect-to ::%s %s://%s/\n", extra, l.Real[0], scheme, authority(host, scheme, l.Port))
		}
	}
	if b.Len() > 0 && len(hosts) > 1 {
		fmt.Fprintf(&b, "  other hosts: %s\n", strings.Join(hosts[1:], ", "))
	}
	return b.String()
}

// authority leaves out the port that the scheme implies.
func authority(host, scheme string, port int) string {
	if scheme == "http" && port == 80 || scheme == "https" && port == 443 {
		return host
	}
	return fmt.Sprintf("%s:%d", host, port)
}

// hostsOf are the hosts in the rules of the Ingresses that show a load
// balancer's name, sorted.
func hostsOf(ctx context.Context, w *world.World, dnsName string) []string {
	list, err := w.Kube().NetworkingV1().Ingresses("").List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil
	}
	var out []string
	for _, i := range list.Items {
		if !slices.ContainsFunc(i.Status.LoadBalancer.Ingress, func(s networkingv1.IngressLoadBalancerIngress) bool {
			return s.Hostname == dnsName
		}) {
			continue
		}
		for _, r := range i.Spec.Rules {
			if r.Host != "" && !strings.HasPrefix(r.Host, "*") {
				out = append(out, r.Host)
			}
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
