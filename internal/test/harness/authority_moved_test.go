package harness

import (
	"crypto/elliptic"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
)

// TestPortMovesToAnotherSecretWithoutItsGrant checks that a port whose only certificate is withdrawn gets the certificate of
// another Secret that the same edit names, and that its listener and rules stay. If AWS does not accept that certificate, the
// listener is deleted soon: the withdrawn certificate is not presented any more.
func TestPortMovesToAnotherSecretWithoutItsGrant(t *testing.T) {
	t.Parallel()
	for name, refused := range map[string]string{"accepted": "", "not imported": "ImportCertificate", "not set": "ModifyListener"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := certificateScenario.startServing(t)
				old := strings.Join(certificateScenario.serving(r), " ")
				next := newIssuer(t).issue("next", elliptic.P256(), "api.example.com")
				gateway := strings.NewReplacer("name: api, protocol: HTTPS, port: 443", "name: api, protocol: HTTPS, port: 8443", "{name: api, namespace: vault}", "{name: next}",
					"  gatewayClassName: alb\n", "  gatewayClassName: alb\n  infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: edge}}\n").Replace(secureGateway)
				if refused != "" {
					refuseOperations(refused)(r)
				}
				r.Emulator.Calls().Reset()
				r.deleteObject(cluster.KindReferenceGrant, "vault", "shop")
				r.Apply(next, gateway)
				r.Settle(time.Minute)
				got := strings.Join(certificateScenario.serving(r), " ")
				deleted := r.Emulator.Calls().Count("DeleteListener")
				if strings.Contains(got, old) || (got == "") != (refused == "ImportCertificate") || (deleted > 0) != (refused != "") {
					t.Errorf("the certificate was %s and is %q; %d listeners were deleted", old, got, deleted)
				}
			})
		})
	}
}

// TestMovedGatewayWithoutGrantLosesTheCertificate checks that the load balancer of a Gateway whose class now belongs to another
// controller does not present a withdrawn certificate any more, although deletion protection keeps the load balancer.
func TestMovedGatewayWithoutGrantLosesTheCertificate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := certificateScenario.startServing(t)
		r.Apply("apiVersion: gateway.k8s.aws/v1\nkind: LoadBalancerConfiguration\nmetadata: {name: edge, namespace: shop}\n" +
			"spec: {scheme: internal, loadBalancerAttributes: [{key: deletion_protection.enabled, value: \"true\"}]}\n---\n")
		r.Settle(time.Minute)
		own := strings.Join(presentedCertificates("shop.example.com")(r), " ")
		r.deleteObject(cluster.KindReferenceGrant, "vault", "shop")
		r.deleteObject(cluster.KindGatewayClass, "", "alb")
		r.Apply("apiVersion: gateway.networking.k8s.io/v1\nkind: GatewayClass\nmetadata: {name: alb}\nspec: {controllerName: example.com/other}\n---\n")
		r.Settle(time.Hour)
		if got := certificateScenario.serving(r); len(got) > 0 || loadBalancerNameAndProtection(r) == "" {
			t.Errorf("load balancer %q presents %v", loadBalancerNameAndProtection(r), got)
		}
		expectEqual(t, "the certificate of the Gateway itself", own, strings.Join(presentedCertificates("shop.example.com")(r), " "))
	})
}
