package harness

import (
	"crypto/elliptic"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// foreignImports adds imported certificates of others to the account.
func foreignImports(r *Harness, n int) {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, Region)
	one := *p.ACM.Certificates[r.World.Certs["example.com"]]
	for i := range n {
		c := one
		c.ARN = fmt.Sprintf("%s%08d", one.ARN[:len(one.ARN)-8], i)
		p.ACM.Certificates[c.ARN] = &c
	}
}

// importsOf counts the certificates that are imported for a namespace.
func importsOf(r *Harness, namespace string) (n int) {
	for _, is := range imports(r) {
		if strings.HasPrefix(is, "imported/"+namespace+"/") {
			n++
		}
	}
	return n
}

// An account has a quota of imported certificates. A tenant that uses up what it can leaves room for the first
// certificates of others.
func TestNoTenantUsesUpTheCertificatesOfTheAccount(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		opt := importing(Options{StacksOnly: true})
		set := opt.Plan
		opt.Plan = func(o *plan.Options) {
			set(o)
			o.AccountImports = 30
		}
		r := shopWith(t, opt)
		foreignImports(r, 20-len(r.World.Certs))
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
		if n := importsOf(r, "evil"); n != 5 {
			t.Errorf("the tenant has %d certificates, want 5: as many as are left", n)
		}
		r.Apply(shop, i.issue("shop", elliptic.P256(), "shop.example.com"), withTLS("", "shop"))
		r.Settle(time.Hour)
		if n := importsOf(r, "shop"); n != 1 {
			t.Errorf("the other one has %d certificates: %v", n, warnings(r)["web"])
		}
		if w := strings.Join(warnings(r)["web"], "\n"); !strings.Contains(w, "QuotaReached") || !strings.Contains(w, `Secret "evil/t`) || strings.Contains(w, "shop/shop") {
			t.Errorf("warnings: %s", w)
		}
		if n := r.Emulator.Calls().Count("ImportCertificate"); n != 6 {
			t.Errorf("%d imports", n)
		}
	})
}
