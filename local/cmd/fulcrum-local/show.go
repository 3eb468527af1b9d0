package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/fulcrum-lb/fulcrum/local/awsclient"
	"github.com/fulcrum-lb/fulcrum/local/world"
)

// printAccess says how to reach a world.
func printAccess(out io.Writer, w *world.World) {
	fmt.Fprintf(out, "\nexport KUBECONFIG=%s\n", w.Kubeconfig())
	if w.AWSEndpoint() != "" {
		fmt.Fprintf(out, "export AWS_ENDPOINT_URL=%s AWS_REGION=%s AWS_ACCESS_KEY_ID=%s AWS_SECRET_ACCESS_KEY=%s\n",
			w.AWSEndpoint(), w.Layout().Region, awsclient.AccessKey, awsclient.SecretKey)
		host, port, err := net.SplitHostPort(w.Resolver())
		if err == nil {
			fmt.Fprintf(out, "dig -p %s @%s NAME      names of load balancers\n", port, host)
		}
		fmt.Fprintf(out, "certificates are signed by %s\n", w.CA())
	}
	fmt.Fprintf(out, "logs are in %s/logs; Ctrl-C ends this world\n", w.Dir())
}

// watchWorld prints a curl line for each load balancer that appears and a word
// when one goes, and says so when a process ends by itself. It returns when
// ctx ends.
func watchWorld(ctx context.Context, out io.Writer, w *world.World, controller bool) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	shown := map[string]string{}
	dead := map[string]bool{}
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		for _, role := range world.Roles() {
			if role == world.RoleController && !controller {
				continue
			}
			if w.Started(role) && !w.Alive(role) && !dead[role] {
				dead[role] = true
				fmt.Fprintf(out, "\n%s has ended; see %s\n", role, w.Log(role))
			}
		}
		if w.AWSEndpoint() == "" {
			continue
		}
		balancers, err := w.LoadBalancers(ctx)
		if err != nil {
			continue
		}
		now := map[string]string{}
		for _, lb := range balancers {
			now[lb.Name] = curlLines(w, lb, hostsOf(ctx, w, lb.DNSName))
		}
		for name, text := range now {
			if text != "" && shown[name] != text {
				fmt.Fprintf(out, "\nload balancer %s\n%s", name, text)
			}
		}
		for name := range shown {
			if _, there := now[name]; !there {
				fmt.Fprintf(out, "\nload balancer %s is gone\n", name)
			}
		}
		shown = now
	}
}

// curlLines has one line for each listener that takes HTTP requests. hosts are
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
		case "HTTP", "TCP":
		case "HTTPS", "TLS":
			scheme, extra = "https", " --cacert "+w.CA()
			if host == lb.DNSName {
				// The certificate is for the hosts of rules.
				extra = " -k"
			}
		default:
			continue
		}
		if len(l.Real) > 0 {
			fmt.Fprintf(&b, "  curl%s --connect-to ::%s %s://%s/\n", extra, l.Real[0], scheme, authority(host, scheme, l.Port))
		}
	}
	if len(hosts) > 1 {
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
