package adversary

import (
	"fmt"
	"strings"
	"time"
)

// makeSecretMove makes one random move of the attacker.
func (w *secretTestCluster) makeSecretMove() {
	w.mayLeaveOrphans = w.mayLeaveOrphans || w.isImportDisabled
	if w.chance(15) {
		w.deleteRandomObject()
		return
	}
	switch w.IntN(10) {
	case 9:
		w.applyDoc(w.listenersWithDiscovery())
	case 0, 1, 2:
		w.applyDoc(w.randomTLSSecret())
	case 3, 4:
		w.applyDoc(w.randomSecureListenerSet())
	case 5:
		w.applyDoc(w.randomSecretGrant())
	case 6:
		w.applyDoc(w.randomSecureGateway())
	case 7:
		w.applyDoc(w.randomSecureIngress())
	default: // one Secret is renewed repeatedly
		name := w.pickText("t0", "t1", "t2")
		for range 40 {
			c := w.certificateFor(w.pickText("evil.com", "www.evil.com"))
			w.applyDoc(secretOf("evil", name, "kubernetes.io/tls", c.body, c.key, w.root))
			w.Settle(time.Second)
		}
	}
}

// certificateFor returns one of three certificates for names, which are separated by commas.
func (w *secretTestCluster) certificateFor(names string) certificateWithKey {
	for len(w.attackerCertificates[names]) < 3 {
		w.attackerCertificates[names] = append(w.attackerCertificates[names], w.issue(-1, 90, strings.Split(names, ",")...))
	}
	return w.attackerCertificates[names][w.IntN(3)]
}

// randomHosts returns random names for a certificate, separated by commas.
func (w *secretTestCluster) randomHosts() string {
	return w.pickText("evil.com", "evil.com", "www.evil.com", "shop.pay.com", "evil.com,shop.pay.com", "*.pay.com", "SHOP.pay.com", "www.pay.com", "*.com", "evil.com,api.pay.com,www.pay.com", "xn--evil.com")
}

func (w *secretTestCluster) randomTLSSecret() string {
	c := w.certificateFor(w.randomHosts())
	body, key, root, kind := c.body, c.key, w.root, "kubernetes.io/tls"
	switch w.IntN(12) {
	case 0:
		key = w.certificateFor("other.com").key
	case 1:
		body = strings.Repeat(c.body, 300)
	case 2:
		for i := range 60 {
			body += w.certificateFor(fmt.Sprintf("a%d.com", i%20)).body
		}
	case 3:
		body, key = key, body
	case 4:
		body = w.issue(-30, -1, "evil.com").body
	case 5:
		late := w.issue(5, 90, "evil.com")
		body, key = late.body, late.key
	case 6:
		root = ""
	case 7:
		kind = "Opaque"
	case 8:
		many := make([]string, 300)
		for i := range many {
			many[i] = fmt.Sprintf("h%d.evil.com", i)
		}
		full := w.certificateFor(strings.Join(many, ","))
		body, key = full.body, full.key
	case 9:
		key = strings.Repeat("x", 400<<10) + key
	}
	return secretOf("evil", w.pickText("t0", "t1", "t2"), kind, body, key, root)
}

func (w *secretTestCluster) certificateRefs() string {
	var out []string
	n := 1 + w.IntN(2)
	if w.chance(5) {
		n = 64
	}
	for range n {
		out = append(out, w.pickText("{name: t0}", "{name: t1}", "{name: t2}", "{name: missing}", "{name: shop, namespace: pay}", "{name: api, namespace: infra}", "{name: www, namespace: pay}", "{kind: ConfigMap, name: t0}", "{name: t0, namespace: evil}"))
	}
	return strings.Join(out, ", ")
}

func (w *secretTestCluster) secureListeners() string {
	n, out := 1+w.IntN(3), ""
	if w.chance(5) {
		n = 40
	}
	for i := range n {
		host := w.pickText("evil.com", "www.evil.com", "shop.pay.com", `"*.com"`, `"*.pay.com"`, `"*.evil.com"`, "")
		if host != "" {
			host = ", hostname: " + host
		}
		out += fmt.Sprintf("  - {name: l%d, port: %d, protocol: %s%s, tls: {certificateRefs: [%s]}, allowedRoutes: {namespaces: {from: All}}}\n", i,
			[]int{443, 443, 443, 8443, 444 + i}[w.IntN(5)], w.pickText("HTTPS", "HTTPS", "HTTPS", "TLS", "HTTP"), host, w.certificateRefs())
	}
	return out
}

func (w *secretTestCluster) randomSecureListenerSet() string {
	return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: ListenerSet\nmetadata: {name: s%d, namespace: evil, creationTimestamp: %q}\nspec:\n  parentRef: {name: edge, namespace: infra}\n  listeners:\n%s",
		w.IntN(3), w.pickText("1999-01-01T00:00:00Z", "2030-01-01T00:00:00Z"), w.secureListeners())
}

func (w *secretTestCluster) randomSecureGateway() string {
	return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: g%d, namespace: evil}\nspec:\n  gatewayClassName: alb\n  listeners:\n%s", w.IntN(8), w.secureListeners())
}

func (w *secretTestCluster) randomSecureIngress() string {
	var tls, rules []string
	for range 1 + w.IntN(3) {
		host := w.pickText("evil.com", "www.evil.com", "www.pay.com", `"*.pay.com"`, `"*.com"`)
		tls = append(tls, fmt.Sprintf("{hosts: [%s], secretName: %s}", host, w.pickText("t0", "t1", "t2", "www", "missing")))
		rules = append(rules, fmt.Sprintf("{host: %s, http: {paths: [{path: /evil, pathType: Prefix, backend: {service: {name: e0, port: {number: 80}}}}]}}", host))
	}
	group := w.pickText("alb.ingress.kubernetes.io/group.name: shared, ", "alb.ingress.kubernetes.io/group.name: shared, alb.ingress.kubernetes.io/group.order: \"-5\", ", "")
	return fmt.Sprintf(`apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: i%d, namespace: evil, annotations: {%salb.ingress.kubernetes.io/target-type: ip, alb.ingress.kubernetes.io/scheme: internal}}
spec:
  ingressClassName: alb
  tls: [%s]
  rules: [%s]
`, w.IntN(3), group, strings.Join(tls, ", "), strings.Join(rules, ", "))
}

func (w *secretTestCluster) randomSecretGrant() string {
	return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1beta1\nkind: ReferenceGrant\nmetadata: {name: t%d, namespace: evil}\nspec: {from: [{group: gateway.networking.k8s.io, kind: %s, namespace: %s}], to: [{group: \"\", kind: Secret%s}]}\n",
		w.IntN(2), w.pickText("Gateway", "ListenerSet"), w.pickText("evil", "pay", "infra"), w.pickText("", ", name: t0"))
}

// listenersWithDiscovery returns listeners of the attacker without a certificate, for hosts of the victims, so that
// certificate discovery is needed.
func (w *secretTestCluster) listenersWithDiscovery() string {
	host := w.pickText("www.pay.com", "shop.pay.com", "api.pay.com")
	if w.chance(50) {
		return fmt.Sprintf("apiVersion: gateway.networking.k8s.io/v1\nkind: Gateway\nmetadata: {name: g%d, namespace: evil}\nspec:\n  gatewayClassName: alb\n  listeners:\n  - {name: l, port: 443, protocol: HTTPS, hostname: %s, allowedRoutes: {namespaces: {from: All}}}\n", w.IntN(8), host)
	}
	return fmt.Sprintf(`apiVersion: networking.k8s.io/v1
kind: Ingress
metadata: {name: i%d, namespace: evil, annotations: {alb.ingress.kubernetes.io/listen-ports: '[{"HTTPS":443}]', alb.ingress.kubernetes.io/target-type: ip, alb.ingress.kubernetes.io/scheme: internal}}
spec:
  ingressClassName: alb
  rules: [{host: %s, http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: e0, port: {number: 80}}}}]}}]
`, w.IntN(3), host)
}
