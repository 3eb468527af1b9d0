package harness

import (
	"crypto/elliptic"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// secureGateway is ALB Gateway "shop/edge" with two HTTPS listeners. They have the certificates of Secrets "shop/shop"
// and "vault/api".
const secureGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: alb}
spec: {controllerName: gateway.k8s.aws/alb}
---
apiVersion: v1
kind: Namespace
metadata: {name: vault}
---
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {namespace: shop, name: web}
spec:
  targetReference: {name: web}
  defaultConfiguration: {targetType: ip}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {namespace: shop, name: edge, uid: 11111111-2222-3333-4444-555555555555}
spec:
  gatewayClassName: alb
  listeners:
    - {name: http, protocol: HTTP, port: 80}
    - {name: shop, protocol: HTTPS, port: 443, hostname: shop.example.com, tls: {certificateRefs: [{name: shop}]}}
    - {name: api, protocol: HTTPS, port: 443, hostname: api.example.com, tls: {certificateRefs: [{name: api, namespace: vault}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: HTTPRoute
metadata: {namespace: shop, name: r}
spec:
  parentRefs: [{name: edge}]
  rules: [{backendRefs: [{name: web, port: 80}]}]
`

// secretGrant permits Gateways of namespace "shop" to refer to Secrets of namespace "vault".
const secretGrant = `
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {namespace: vault, name: shop}
spec:
  from: [{group: gateway.networking.k8s.io, kind: Gateway, namespace: shop}]
  to: [{group: "", kind: Secret}]
`

// gatewayImports returns the resource tags of the certificates that were imported for ALB Gateways, with the last two
// digits of their serial numbers.
func gatewayImports(r *Harness) []string {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, Region)
	var out []string
	for _, c := range p.ACM.Certificates {
		if id := c.Tags["gateway.k8s.aws.alb/resource"]; id != "" {
			out = append(out, id+" "+c.Serial[len(c.Serial)-2:])
		}
	}
	slices.Sort(out)
	return out
}

// TestGatewaysUseOnlyPermittedSecrets checks that the certificate of a Secret is imported for a Gateway listener only
// while the Gateway is permitted to refer to the Secret. A renewal makes one mutating call, and a restart none.
func TestGatewaysUseOnlyPermittedSecrets(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		opt := importOptions(Options{})
		opt.Ingress = nil
		opt.Gateway = func(o *gateways.Options) { o.ImportCertificates = true }
		r := shopWith(t, opt)
		before := r.State()
		expect := func(what string, want ...string) {
			t.Helper()
			r.Settle(2 * time.Hour)
			if diff := cmp.Diff(want, gatewayImports(r)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		api := strings.Replace(i.issue("api", elliptic.P256(), "api.example.com"), "namespace: shop", "namespace: vault", 1)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), i.issue("shop", elliptic.P256(), "shop.example.com"), api, secureGateway)
		expect("without a grant", "imported/shop/shop 03")
		r.Apply(secretGrant)
		expect("with a grant", "imported/shop/shop 03", "imported/vault/api 02")
		if state := strings.Join(r.State(), "\n"); !strings.Contains(state, `,443,"HTTPS"`) {
			t.Errorf("there is no listener:\n%s", state)
		}
		counts := r.Emulator.Calls()
		counts.Reset()
		r.Apply(strings.Replace(i.issue("api", elliptic.P256(), "api.example.com"), "namespace: shop", "namespace: vault", 1))
		expect("renewed", "imported/shop/shop 03", "imported/vault/api 04")
		if counts.CountMutating() != 1 {
			t.Errorf("a renewal made %v", counts.Counts())
		}
		counts.Reset()
		r.Start()
		expect("after a restart", "imported/shop/shop 03", "imported/vault/api 04")
		if counts.CountMutating() > 0 {
			t.Errorf("a restart made %v", counts.Counts())
		}
		r.deleteObject(cluster.KindReferenceGrant, "vault", "shop")
		expect("once the grant is withdrawn", "imported/shop/shop 03")
		r.deleteObject(cluster.KindGateway, "shop", "edge")
		expect("deleted")
		if diff := cmp.Diff(before, r.State()); diff != "" {
			t.Errorf("deletion leaves resources in AWS (-before +after):\n%s", diff)
		}
	})
}

// TestGatewaySecretsAreNotReadWithoutTheFlag checks that no certificate is imported for a Gateway without
// --import-tls-secrets. Its HTTPS listeners use discovered certificates instead, as with an older controller.
func TestGatewaySecretsAreNotReadWithoutTheFlag(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		r := shopWith(t, Options{})
		r.Apply(shop, readyPods("web", podAddresses[:3]...), i.issue("shop", elliptic.P256(), "shop.example.com"), secretGrant,
			strings.Replace(secureGateway, "api.example.com", "www.example.com", 1))
		r.Settle(2 * time.Hour)
		if got := gatewayImports(r); len(got) > 0 {
			t.Errorf("imported %v", got)
		}
		if state := strings.Join(r.State(), "\n"); !strings.Contains(state, `,443,"HTTPS"`) {
			t.Errorf("no certificate was found:\n%s", state)
		}
	})
}
