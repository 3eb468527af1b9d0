package harness

import (
	"crypto/elliptic"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

func init() { consentScenarios["certificate of a ListenerSet"] = listenerSetCertificateScenario }

const secureListenerSet = `
apiVersion: gateway.networking.k8s.io/v1
kind: ListenerSet
metadata: {name: more, namespace: vault}
spec:
  parentRef: {name: edge, namespace: shop}
  listeners: [{name: api, port: 443, protocol: HTTPS, hostname: api.example.com, tls: {certificateRefs: [{name: api}]}}]
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {name: api, namespace: vault}
spec:
  parentRefs: [{kind: ListenerSet, name: more}]
  rules: [{filters: [{type: RequestRedirect, requestRedirect: {path: {type: ReplaceFullPath, replaceFullPath: /hello}}}], matches: [{path: {type: Exact, value: /}}]}]
---
`

func edgeWithHTTPS(sets string) string {
	return edgeWithSpec("allowedListeners: {namespaces: " + sets +
		"}\n  listeners: [{name: shop, protocol: HTTPS, port: 443, hostname: shop.example.com, tls: {certificateRefs: [{name: shop}]}}]")
}

func vaultNamespace(labels string) string {
	return "\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: vault, labels: {" + labels + "}}\n---\n"
}

// listenerSetCertificateScenario is a ListenerSet of namespace "vault", which also permits the Gateway to use its
// Secrets. If the ListenerSet is no longer admitted, its certificate must not be presented, because no listener of the
// Gateway has its host.
var listenerSetCertificateScenario = consentScenario{
	options: certificateScenario.options,
	docs: func(t *testing.T) []string {
		i := newIssuer(t)
		api := strings.Replace(i.issue("api", elliptic.P256(), "api.example.com"), "namespace: shop", "namespace: vault", 1)
		return []string{
			consentObjects, shop, readyPods("web", podAddresses[:3]...), i.issue("shop", elliptic.P256(), "shop.example.com"), api,
			vaultNamespace("edge: allowed"), secretGrant, "---" + edgeWithHTTPS(labelledSets) + secureListenerSet,
			routeOf("web", "shop.example.com", "backendRefs: [{name: web, port: 80}]"),
		}
	},
	serving:    presentedCertificates("api.example.com"),
	holdCauses: entriesOf(certificateScenario.holdCauses, "not held", "configuration missing", "configuration wrong", "class missing", "Secret missing", "Secret wrong"),
	withdrawals: map[string]func(r *Harness){
		"label of the namespace": func(r *Harness) { r.Apply(vaultNamespace("")) },
		"allowedListeners":       func(r *Harness) { r.Apply(edgeWithHTTPS("{from: Same}")) },
		"the ListenerSet":        func(r *Harness) { r.deleteObject(cluster.KindListenerSet, "vault", "more") },
	},
}
