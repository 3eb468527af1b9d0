package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// TestDeletedMemberDoesNotWaitForItsCertificate checks that a deleted Ingress of an IngressGroup that remains does not wait
// until its certificate is deleted, which other members and other load balancers can prevent. Later runs delete the
// certificate with its record, without the Ingress.
func TestDeletedMemberDoesNotWaitForItsCertificate(t *testing.T) {
	t.Parallel()
	const host = "a.example.com"
	other := func(notes ...string) string {
		return ingressInNamespace("team", "b", "alb", "b.example.com", "", append(notes, "group.name", "edge")...)
	}
	gateway := strings.NewReplacer("namespace: shop", "namespace: bank", "name: shop", "name: bank", "uid: uid-web", "uid: uid-bank").Replace(shop) + "---" +
		strings.NewReplacer("namespace: shop", "namespace: bank", "shop.example.com", host).Replace(tlsGateway+routeOf("web", host, "backendRefs: [{name: web, port: 80}]"))
	for name, c := range map[string]struct {
		before, after func(r *Harness) // what prevents the deletion of the certificate, and the end of this
	}{
		"nothing": {before: func(*Harness) {}, after: func(*Harness) {}},
		"a refused attribute of another": {
			before: func(r *Harness) { r.Apply(other("load-balancer-attributes", "idle_timeout.timeout_seconds=99999")) },
			after:  func(r *Harness) { r.Apply(other()) },
		},
		"a replacement": {
			before: func(r *Harness) { r.Apply(other("scheme", "internet-facing")); r.Settle(90 * time.Second) },
			after:  func(*Harness) {},
		},
		"a Gateway": {
			before: func(r *Harness) { r.Apply(gateway); r.Settle(10 * time.Minute) },
			after: func(r *Harness) {
				r.deleteObject(cluster.KindGateway, "bank", r.Store.All(cluster.KindGateway)[0].GetName())
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var opt Options
				requestCertificates(&opt)
				opt.Gateway = func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets }
				r := shopWith(t, opt)
				r.seedZones(time.Minute)
				r.Apply(shop, readyPods("web", podAddresses[:2]...), teamShop, other(),
					ingressInNamespace("shop", "a", "alb", host, "", "group.name", "edge", "create-acm-cert", "true", "listen-ports", `[{"HTTPS":443}]`),
					ingressInNamespace("shop", "c", "alb", "c.example.com", "", "group.name", "edge"))
				settleWithoutErrors(t, r)
				c.before(r)
				if certs := ownCertificatesInUse(r); certs[host] == 0 {
					t.Fatalf("before: %v", certs)
				}
				deleted := func(name string) {
					t.Helper()
					deleteIngress(t, r, "shop", name)
					r.Settle(90 * time.Second)
					if !r.isDeleted(cluster.KindIngress, "shop", name) {
						t.Errorf("Ingress %s is not deleted; warnings: %v", name, warningsByObject(r))
					}
				}
				deleted("a")
				if certs := managedCertificates(r); name != "nothing" && len(certs) != 2 {
					t.Errorf("the certificate and its record: %q", certs)
				}
				deleted("c")
				r.Kill()
				r.Start()
				r.Emulator.Calls().Reset()
				r.Settle(10 * time.Minute)
				if n := r.Emulator.Calls().Count("DescribeCertificate"); n > 100 {
					t.Errorf("certificates were read %d times", n)
				}
				c.after(r)
				r.Settle(24 * time.Hour)
				if certs := managedCertificates(r); len(certs) > 0 {
					t.Errorf("certificates and records that are left: %q", certs)
				}
				if orphans := r.Orphans(); len(orphans) > 0 {
					t.Errorf("orphans: %v", orphans)
				}
			})
		})
	}
}
