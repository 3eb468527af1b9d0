package adversary

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestAttacksByTLSSecrets has attacks with TLS Secrets that once affected the victims.
func TestAttacksByTLSSecrets(t *testing.T) {
	t.Parallel()
	for name, attack := range map[string]func(w *secretTestCluster){
		// A load balancer may have 25 certificates. The certificates of a lower port were counted before the
		// victims'.
		"secrets of an earlier port": func(w *secretTestCluster) {
			var refs []string
			for i := range 40 {
				refs = append(refs, fmt.Sprintf("{name: u%d}", i))
				c := w.certificateFor("evil.com")
				w.applyDoc(secretOf("evil", fmt.Sprint("u", i), "kubernetes.io/tls", c.body, c.key, w.root))
			}
			w.applyDoc("apiVersion: gateway.networking.k8s.io/v1\nkind: ListenerSet\nmetadata: {name: s0, namespace: evil, creationTimestamp: \"1999-01-01T00:00:00Z\"}\nspec:\n  parentRef: {name: edge, namespace: infra}\n  listeners:\n" +
				"  - {name: l, port: 81, protocol: HTTPS, hostname: evil.com, tls: {certificateRefs: [" + strings.Join(refs, ", ") + "]}}\n")
		},
		// An older Ingress of the attacker in the IngressGroup adds a host of the victims. The victims' certificate is then
		// for a host of another member.
		"an older member takes the host": func(w *secretTestCluster) {
			c := w.certificateFor("evil.com")
			w.applyDoc(secretOf("evil", "t0", "kubernetes.io/tls", c.body, c.key, w.root))
			w.applyDoc(`apiVersion: networking.k8s.io/v1
kind: Ingress
metadata:
  name: old
  namespace: evil
  creationTimestamp: "1999-01-01T00:00:00Z"
  annotations: {alb.ingress.kubernetes.io/group.name: shared, alb.ingress.kubernetes.io/group.order: "10", alb.ingress.kubernetes.io/target-type: ip, alb.ingress.kubernetes.io/scheme: internal}
spec:
  ingressClassName: alb
  tls: [{hosts: [evil.com], secretName: t0}]
  rules: [{host: www.pay.com, http: {paths: [{path: /evil, pathType: Prefix, backend: {service: {name: e0, port: {number: 80}}}}]}}]
`)
		},
		// A listener without a hostname must not add a certificate for hosts of the victims.
		"a listener without a hostname": func(w *secretTestCluster) {
			c := w.certificateFor("*.pay.com")
			w.applyDoc(secretOf("evil", "t0", "kubernetes.io/tls", c.body, c.key, w.root))
			w.applyDoc("apiVersion: gateway.networking.k8s.io/v1\nkind: ListenerSet\nmetadata: {name: s0, namespace: evil}\nspec:\n  parentRef: {name: edge, namespace: infra}\n  listeners:\n" +
				"  - {name: a, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: t0}]}}\n")
		},
		// AWS imports such a certificate, although its API model does not allow the name. Found with seeds 26 and
		// 129.
		"a certificate for a wildcard of one label": func(w *secretTestCluster) {
			c := w.certificateFor("*.com")
			w.applyDoc(secretOf("evil", "t0", "kubernetes.io/tls", c.body, c.key, w.root))
			w.applyDoc("apiVersion: gateway.networking.k8s.io/v1\nkind: ListenerSet\nmetadata: {name: s0, namespace: evil}\nspec:\n  parentRef: {name: edge, namespace: infra}\n  listeners:\n" +
				"  - {name: a, port: 81, protocol: HTTPS, hostname: \"*.com\", tls: {certificateRefs: [{name: t0}]}}\n")
			w.checkEffects = func() {
				p, unlock := w.partition()
				defer unlock()
				for _, c := range p.ACM.Certificates {
					if slices.Contains(c.Names, "*.com") {
						return
					}
				}
				w.rec.Errorf("the certificate was not imported")
			}
		},
		// The first use of a Secret decided for all its uses.
		"two uses of a secret": func(w *secretTestCluster) {
			c := w.certificateFor("other.com")
			w.applyDoc(secretOf("evil", "t0", "kubernetes.io/tls", c.body, c.key, w.root))
			w.applyDoc("apiVersion: gateway.networking.k8s.io/v1\nkind: ListenerSet\nmetadata: {name: s0, namespace: evil, creationTimestamp: \"1999-01-01T00:00:00Z\"}\nspec:\n  parentRef: {name: edge, namespace: infra}\n  listeners:\n" +
				"  - {name: a, port: 81, protocol: HTTPS, hostname: other.com, tls: {certificateRefs: [{name: t0}]}}\n" +
				"  - {name: b, port: 443, protocol: HTTPS, hostname: evil.com, tls: {certificateRefs: [{name: t0}]}}\n")
			w.checkEffects = func() {
				p, unlock := w.partition()
				defer unlock()
				for _, l := range p.ELB.Listeners {
					for _, arn := range append([]string{l.Certificate}, l.SNI...) {
						if c := p.ACM.Certificates[arn]; c != nil && l.Port == 443 && slices.Contains(c.Names, "other.com") {
							w.rec.Errorf("a certificate for another host than that of its listener is on the listener of the victims")
						}
					}
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := runInSecretTestCluster(t, 1, func(w *secretTestCluster) {
				attack(w)
				w.Settle(10 * time.Minute)
				w.checkSecrets("")
				if w.checkEffects != nil {
					w.checkEffects()
				}
				w.renewCertificate("infra/api")
				w.renewCertificate("pay/www")
				w.Settle(2 * time.Minute)
				w.checkSecrets("after a renewal: ")
			})
			if w.rec.Failed() {
				t.Fatal(strings.Join(w.rec.failures, "\n"))
			}
		})
	}
}
