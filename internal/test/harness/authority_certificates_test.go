package harness

import (
	"crypto/elliptic"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

func init() { authorities["certificate of a ListenerSet"] = listenerSetCertificateAuthority }

const secureSet = `
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

func secureEdge(sets string) string {
	return edgeOf("allowedListeners: {namespaces: " + sets +
		"}\n  listeners: [{name: shop, protocol: HTTPS, port: 443, hostname: shop.example.com, tls: {certificateRefs: [{name: shop}]}}]")
}

func vault(labels string) string {
	return "\n---\napiVersion: v1\nkind: Namespace\nmetadata: {name: vault, labels: {" + labels + "}}\n---\n"
}

// listenerSetCertificateAuthority is a ListenerSet whose namespace permits also the Gateway to use its Secrets. The
// certificate must not be presented once the ListenerSet is not admitted, because no listener of the Gateway has its
// host.
var listenerSetCertificateAuthority = authority{
	options: certificateAuthority.options,
	docs: func(t *testing.T) []string {
		i := newIssuer(t)
		api := strings.Replace(i.issue("api", elliptic.P256(), "api.example.com"), "namespace: shop", "namespace: vault", 1)
		return []string{
			authorityWorld, shop, pods("web", podAddresses[:3]...), i.issue("shop", elliptic.P256(), "shop.example.com"), api,
			vault("edge: allowed"), secretGrant, "---" + secureEdge(labelledSets) + secureSet,
			routeOf("web", "shop.example.com", "backendRefs: [{name: web, port: 80}]"),
		}
	},
	serving: presented("api.example.com"),
	ways:    entriesOf(certificateAuthority.ways, "not held", "configuration missing", "configuration wrong", "class missing", "Secret missing", "Secret wrong"),
	edges: map[string]func(r *Harness){
		"label of the namespace": func(r *Harness) { r.Apply(vault("")) },
		"allowedListeners":       func(r *Harness) { r.Apply(secureEdge("{from: Same}")) },
		"the ListenerSet":        func(r *Harness) { r.drop(cluster.KindListenerSet, "vault", "more") },
	},
}
