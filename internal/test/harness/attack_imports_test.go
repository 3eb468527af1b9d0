package harness

import (
	"crypto/elliptic"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// addForeignImports adds n certificates to the account, as if users had imported them without the controller.
func addForeignImports(r *Harness, n int) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, Region)
	one := *p.ACM.Certificates[r.Seeded.Certs["example.com"]]
	for i := range n {
		c := one
		c.ARN = fmt.Sprintf("%s%08d", one.ARN[:len(one.ARN)-8], i)
		p.ACM.Certificates[c.ARN] = &c
	}
}

// countImports returns the number of certificates that the controller has imported for a namespace.
func countImports(r *Harness, namespace string) (n int) {
	for _, is := range importedCertificates(r) {
		if strings.HasPrefix(is, "imported/"+namespace+"/") {
			n++
		}
	}
	return n
}

// TestTenantCannotExhaustCertificateQuota checks that a tenant with many certificates cannot use the whole quota of
// imported certificates: the first certificate of another tenant is still imported.
func TestTenantCannotExhaustCertificateQuota(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		opt := importOptions(Options{StacksOnly: true})
		set := opt.Plan
		opt.Plan = func(o *plan.Options) {
			set(o)
			o.ImportedCertificateQuota = 30
		}
		r := shopWith(t, opt)
		addForeignImports(r, 20-len(r.Seeded.Certs))
		in := func(namespace, doc string) string {
			return strings.ReplaceAll(doc, "namespace: shop", "namespace: "+namespace)
		}
		r.Apply(in("evil", shop))
		names := []string{}
		for n := range 8 {
			names = append(names, fmt.Sprintf("t%d", n))
			r.Apply(in("evil", i.issue(names[n], elliptic.P256(), names[n]+".example.com")))
		}
		r.Apply(in("evil", withTLS("", names...)))
		r.Settle(time.Hour)
		if n := countImports(r, "evil"); n != 5 {
			t.Errorf("the tenant has %d certificates, want the 5 that the quota allows", n)
		}
		r.Apply(shop, i.issue("shop", elliptic.P256(), "shop.example.com"), withTLS("", "shop"))
		r.Settle(time.Hour)
		if n := countImports(r, "shop"); n != 1 {
			t.Errorf("the other tenant has %d certificates: %v", n, warningsByObject(r)["web"])
		}
		if w := strings.Join(warningsByObject(r)["web"], "\n"); !strings.Contains(w, "QuotaReached") || !strings.Contains(w, `Secret "evil/t`) || strings.Contains(w, "shop/shop") {
			t.Errorf("warnings: %s", w)
		}
		if n := r.Emulator.Calls().Count("ImportCertificate"); n != 6 {
			t.Errorf("%d imports", n)
		}
	})
}

// TestNewMemberCannotReplaceCertificateOfServedHost checks a tenant that joins a load balancer with a certificate for a
// host that another tenant already serves. The certificate is not imported, even if the tenant's objects are older,
// because AWS could present it for that host. The certificate of the other tenant is still renewed.
func TestNewMemberCannotReplaceCertificateOfServedHost(t *testing.T) {
	t.Parallel()
	in := func(namespace, doc string) string {
		return strings.ReplaceAll(doc, "namespace: shop", "namespace: "+namespace)
	}
	for _, name := range []string{"bank.example.com", "*.example.com"} {
		t.Run("Gateway/"+name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				i := newIssuer(t)
				opt := importOptions(Options{})
				opt.Ingress = nil
				opt.Gateway = func(o *gateways.Options) { o.ImportCertificates, o.DefaultTargetType = true, model.IPTargets }
				r := New(t, opt)
				r.Apply(ownedGateways, webServiceOf("evil", podAddresses[1]), webServiceOf("bank", podAddresses[2]), in("bank", i.issue("tls", elliptic.P256(), "bank.example.com")),
					listenerSet("bank", "more", 2024, "edge", "port: 443, protocol: HTTPS, hostname: bank.example.com, tls: {certificateRefs: [{name: tls}]}"), routeOfNamespace("HTTPRoute", "bank", "web", 2024, listenerSetParentRef, ""))
				r.advanceTime(20 * time.Minute)
				r.Apply(in("evil", i.issue("tls", elliptic.P256(), name)),
					listenerSet("evil", "more", 2020, "edge", `port: 443, protocol: HTTPS, hostname: "*.example.com", tls: {certificateRefs: [{name: tls}]}`), routeOfNamespace("HTTPRoute", "evil", "web", 2020, listenerSetParentRef, ""))
				r.advanceTime(time.Hour)
				if got := gatewayImports(r); len(got) != 1 || !strings.HasPrefix(got[0], "imported/bank/tls ") {
					t.Errorf("imported: %q", got)
				}
				expectEqual(t, "requests for the host", "bank-web", servingRoute(r, "application", 443, "bank.example.com", "/"))
				before := gatewayImports(r)
				r.Apply(in("bank", i.issue("tls", elliptic.P256(), "bank.example.com")))
				r.advanceTime(time.Hour)
				if got := gatewayImports(r); len(got) != 1 || got[0] == before[0] {
					t.Errorf("after a renewal: %q, before %q", got, before)
				}
			})
		})
	}
	t.Run("Ingress", func(t *testing.T) {
		t.Parallel()
		synctest.Test(t, func(t *testing.T) {
			i := newIssuer(t)
			r := shopWith(t, importOptions(Options{StacksOnly: true}))
			tls := func(namespace, name, host, group string) string {
				year := map[string]string{"team": "2020", "shop": "2024"}[namespace]
				return strings.Replace(ingressInNamespace(namespace, name, "alb", host, "", "group.name", group, "listen-ports", `[{"HTTPS":443}]`), "metadata:\n", "metadata:\n  creationTimestamp: \""+year+"-01-01T00:00:00Z\"\n", 1) +
					"  tls: [{hosts: [" + host + "], secretName: tls}]\n"
			}
			r.Apply(shop, teamShop, readyPods("web", podAddresses[:3]...), in("team", i.issue("tls", elliptic.P256(), "shop.example.com")), tls("team", "own", "shop.example.com", "theirs"))
			r.Settle(time.Hour)
			r.Apply(i.issue("tls", elliptic.P256(), "shop.example.com"), tls("shop", "a", "shop.example.com", "edge"))
			r.Settle(time.Hour)
			r.Apply(tls("team", "own", "shop.example.com", "edge"))
			r.Settle(2 * time.Hour)
			if got := strings.Join(importedCertificates(r), "\n"); strings.Contains(got, "imported/team/") || !strings.Contains(got, "imported/shop/tls") {
				t.Errorf("imported: %s", got)
			}
			if w := strings.Join(warningsByObject(r)["own"], "\n"); !strings.Contains(w, "HostNotOwned") {
				t.Errorf("warnings on the newcomer: %s", w)
			}
		})
	})
}
