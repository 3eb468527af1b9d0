package cli

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestExplainRequestShowsSourceOfHost checks that "explain request" shows which object names the host of the request. Load
// balancers that accept any host share one line.
func TestExplainRequestShowsSourceOfHost(t *testing.T) {
	_, flags := startEmulator(t)
	service := strings.Replace(serviceYAML, "ports: [{port: 80}]", "ports: [{port: 80, nodePort: 30080}]", 1)
	objects := []string{classYAML, service, strings.Replace(ingressYAML, "  defaultBackend: {service: {name: web, port: {number: 80}}}",
		"  rules: [{host: shop.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]", 1)}
	nlb := func(i int, annotations string) string {
		return fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: lb-%d, namespace: shop, annotations: {%s}}\nspec: {type: LoadBalancer, loadBalancerClass: service.k8s.aws/nlb, ports: [{port: 80, nodePort: %d}]}\n", i, annotations, 31000+i)
	}
	for i := range 11 {
		objects = append(objects, nlb(i, ""))
	}
	objects = append(objects, nlb(11, "external-dns.kubernetes.io/hostname: new.example.com"), nlb(12, "external-dns.alpha.kubernetes.io/hostname: 'a.example.com, Mail.example.com.'"))
	for host, want := range map[string]struct {
		blocks []string // the first two lines of each
		line   string
	}{
		"shop.example.com": {[]string{"\nIngress shop/web: application load balancer k8s-shop-web-b4da647e1f, listener HTTP:80\n  listed because of host shop.example.com\n"}, "\n13 load balancers take any host on this port, among them Service shop/lb-0, Service shop/lb-1, Service shop/lb-10, and 10 more; to see the answer of one load balancer"},
		"mail.example.com": {[]string{"\nService shop/lb-12: network load balancer"}, "\n12 load balancers take any host on this port, among them "},
		"new.example.com":  {[]string{", listener TCP:80\n  listed because of annotation external-dns.kubernetes.io/hostname of Service shop/lb-11\n"}, "\n12 load balancers take any host on this port, among them "},
		"none.example.com": {nil, "\n13 load balancers take any host on this port, among them "},
	} {
		code, out, stderr := runWithInput(t, strings.Join(objects, "---\n"), nil, slices.Concat([]string{"explain", "request", "http://" + host + "/", "-f=-"}, flags)...)
		if code != 0 || !strings.Contains(out, want.line) || strings.Count(out, "load balancer k8s-") != len(want.blocks) {
			t.Errorf("%s: exit %d: %s%s", host, code, stderr, out)
		}
		for _, b := range want.blocks {
			if !strings.Contains(out, b) {
				t.Errorf("%s: %q is missing in %s", host, b, out)
			}
		}
	}
	_, out, _ := runWithInput(t, strings.Join(append(objects[:3:3], nlb(0, "")), "---\n"), nil, slices.Concat([]string{"explain", "request", "http://none.example.com/", "-f=-"}, flags)...)
	if !strings.Contains(out, "Service shop/lb-0: network load balancer") || strings.Contains(out, "any host") {
		t.Errorf("the only one: %s", out)
	}
	if _, out, _ = runWithInput(t, strings.Join(objects, "---\n"), nil, slices.Concat([]string{"explain", "request", "http://mail.example.com/", "-f=-", "-o=json"}, flags)...); !strings.Contains(out, `"named": "annotation external-dns.alpha.kubernetes.io/hostname of Service shop/lb-12"`) {
		t.Error(out)
	}
}

// TestExplainRequestShowsRedirectToHTTPS checks a request for a port that only redirects to HTTPS and has no
// rules. "explain request" shows the redirect if the load balancer has a rule for the host on the HTTPS port.
func TestExplainRequestShowsRedirectToHTTPS(t *testing.T) {
	_, flags := startEmulator(t)
	objects := []string{classYAML, serviceYAML, strings.NewReplacer("  defaultBackend: {service: {name: web, port: {number: 80}}}",
		"  rules: [{host: shop.example.com, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]",
		"{name: web, namespace: shop}", `{name: web, namespace: shop, annotations: {alb.ingress.kubernetes.io/target-type: ip, alb.ingress.kubernetes.io/listen-ports: '[{"HTTP":80},{"HTTPS":443}]', alb.ingress.kubernetes.io/ssl-redirect: '443'}}`).Replace(ingressYAML)}
	for i := range 3 {
		objects = append(objects, fmt.Sprintf("apiVersion: v1\nkind: Service\nmetadata: {name: lb-%d, namespace: shop}\nspec: {type: LoadBalancer, loadBalancerClass: service.k8s.aws/nlb, ports: [{port: 80, nodePort: %d}]}\n", i, 31000+i))
	}
	for host, want := range map[string]string{
		"shop.example.com": "\nIngress shop/web: application load balancer k8s-shop-web-b4da647e1f, listener HTTP:80\n  listed because of host shop.example.com of port 443\n  default action",
		"none.example.com": "\n3 load balancers take any host on this port: ",
	} {
		code, out, stderr := runWithInput(t, strings.Join(objects, "---\n"), nil, slices.Concat([]string{"explain", "request", "http://" + host + "/cart", "-f=-", "--offline"}, flags)...)
		if code != 0 || !strings.Contains(out, want) || strings.Contains(out, "Location: https://shop.example.com:443/cart\n") != (host == "shop.example.com") {
			t.Errorf("%s: exit %d: %s%s", host, code, stderr, out)
		}
	}
}

// TestExplainRequestOmitsListenersOfOtherProtocols checks that "explain request" does not show a UDP listener as one that
// answers an HTTP request, and names its protocol.
func TestExplainRequestOmitsListenersOfOtherProtocols(t *testing.T) {
	for protocol, answers := range map[string]bool{"TCP": true, "UDP": false} {
		service := "apiVersion: v1\nkind: Service\nmetadata: {name: dns, namespace: shop}\nspec: {type: LoadBalancer, loadBalancerClass: service.k8s.aws/nlb, ports: [{port: 53, nodePort: 31053, protocol: " + protocol + "}]}\n"
		code, out, stderr := runWithInput(t, service, nil, "explain", "request", "http://dns.example.com:53/", "-f=-", "--offline")
		if code != 0 || strings.Contains(out, "listener "+protocol+":53") != answers || strings.Contains(out, "# Service shop/dns uses UDP on port 53") == answers {
			t.Errorf("%s: exit %d: %s%s", protocol, code, stderr, out)
		}
	}
}

// TestExplainRequestReportsHeldIngressOfHost checks that "explain request" reports a held Ingress only if that Ingress
// names the host of the request.
func TestExplainRequestReportsHeldIngressOfHost(t *testing.T) {
	_, flags := startEmulator(t)
	held := func(name, host string) string {
		return strings.NewReplacer("name: web, namespace", "name: "+name+", namespace", "ingressClassName: alb", "ingressClassName: broken",
			"  defaultBackend: {service: {name: web, port: {number: 80}}}", "  rules: [{host: '"+host+"', http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]").Replace(ingressYAML)
	}
	class := strings.NewReplacer("{name: alb}", "{name: broken}", "ingress.k8s.aws/alb", "ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: none}").Replace(classYAML)
	objects := strings.Join([]string{class, serviceYAML, held("held", "*.example.com"), held("other", "other.example.net")}, "---\n")
	_, out, stderr := runWithInput(t, objects, nil, slices.Concat([]string{"explain", "request", "http://shop.example.com/", "-f=-"}, flags)...)
	if !strings.Contains(out, "# Ingress shop/held is held") || strings.Contains(out, "shop/other") {
		t.Errorf("%s%s", stderr, out)
	}
}

// TestExplainRequestReportsUnservedHostFirst checks the output of "explain request" if no rule names the host. It begins
// with the objects that name the host and why they are not served. The answers of other load balancers follow. A rule for
// the host with another path counts as a rule for the host.
func TestExplainRequestReportsUnservedHostFirst(t *testing.T) {
	_, flags := startEmulator(t)
	ingress := func(name, class, host, path string) string {
		return strings.NewReplacer("name: web, namespace", "name: "+name+", namespace", "ingressClassName: alb", "ingressClassName: "+class,
			"  defaultBackend: {service: {name: web, port: {number: 80}}}", "  rules: [{host: "+host+", http: {paths: [{path: "+path+", pathType: Prefix, backend: {service: {name: web, port: {number: 80}}}}]}}]").Replace(ingressYAML)
	}
	service := strings.Replace(serviceYAML, "ports: [{port: 80}]", "ports: [{port: 80, nodePort: 30080}]", 1)
	objects := strings.Join([]string{classYAML, service, ingress("served", "alb", "served.example.com", "/api"), ingress("mistyped", "albb", "mistyped.example.com", "/")}, "---\n")
	for url, want := range map[string][]string{
		"http://none.example.com/": {
			"GET http://none.example.com/\n\nNo rule for http on port 80 names host \"none.example.com\": none of the objects that were read names the host.\n",
			"If DNS resolves the host to one of these load balancers, this load balancer answers:\n", "default action"},
		"http://mistyped.example.com/": {
			"\n\nNo rule for http on port 80 names host \"mistyped.example.com\": one object names the host, but no load balancer in the scope of this command has such a rule.\n  Ingress shop/mistyped spec.rules[0].host: spec.ingressClassName: ",
			"albb", "If DNS resolves the host"},
		"https://served.example.com/api": {
			"No rule for https on port 443 names host \"served.example.com\": one object names the host, but no load balancer in the scope of this command has such a rule.\n  Ingress shop/served spec.rules[0].host: its load balancer listens on HTTP:80; use another URL"},
		"http://served.example.com/": {"\nIngress shop/served: ", "listed because of host served.example.com of a rule that does not match", "default action"},
	} {
		code, out, stderr := runWithInput(t, objects, nil, slices.Concat([]string{"explain", "request", url, "-f=-"}, flags)...)
		rest := out
		for _, w := range want { // in this order
			_, after, found := strings.Cut(rest, w)
			if !found {
				t.Errorf("%s: exit %d: %q is missing in %s%s", url, code, w, stderr, out)
				break
			}
			rest = after
		}
		if strings.Contains(out, "No rule for") != strings.Contains(want[0], "No rule for") {
			t.Errorf("%s: %s", url, out)
		}
	}
	_, out, _ := runWithInput(t, objects, nil, slices.Concat([]string{"explain", "request", "http://mistyped.example.com/", "-f=-", "-o=json"}, flags)...)
	if !strings.Contains(out, `"unserved": {`) || !strings.Contains(out, `"field": "spec.rules[0].host"`) {
		t.Errorf("the document has no unserved host: %s", out)
	}
}
