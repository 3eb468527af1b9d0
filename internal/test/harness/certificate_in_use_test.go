package harness

import (
	"crypto/elliptic"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// ownCertificatesInUse returns the hosts of the certificates that the controller has requested or imported, each with the
// number of load balancers that use the certificate.
func ownCertificatesInUse(r *Harness) map[string]int {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, Region)
	out := map[string]int{}
	for arn, c := range p.ACM.Certificates {
		if len(c.Tags) > 0 {
			out[strings.Join(c.Names, ",")] = len(p.LoadBalancersUsingCertificate(arn))
		}
	}
	return out
}

// TestCertificateUsedByAnotherDoesNotBlockDeletion checks that a certificate of an Ingress that a load balancer of another
// namespace uses blocks neither the deletion nor an edit of the Ingress. Its DNS records stay, so that ACM can renew it. When
// nothing uses it any more, the controller deletes it. If the Ingress is deleted, the certificate is an orphan, until an Ingress
// of the same name exists.
func TestCertificateUsedByAnotherDoesNotBlockDeletion(t *testing.T) {
	t.Parallel()
	const host, record = "shop.example.com", "record shop.example.com. 60"
	requested := webIngress(ingressAnnotations("create-acm-cert", "true"), "/=web")
	bank := strings.NewReplacer("namespace: shop", "namespace: bank", "name: shop", "name: bank", "uid: uid-web", "uid: uid-bank").Replace(shop)
	inBank := func(docs string) string {
		return strings.NewReplacer("namespace: shop", "namespace: bank", "uid: uid-web", "uid: uid-bank").Replace(docs)
	}
	gateway := inBank(tlsGateway + routeOf("web", host, "backendRefs: [{name: web, port: 80}]"))
	for name, c := range map[string]struct {
		imports, private bool
		unpublish        func(r *Harness) // ends the need for the certificate
		deletes          bool
	}{
		"deleted": {unpublish: deleteWebIngress, deletes: true},
		"annotation removed": {unpublish: func(r *Harness) {
			r.editIngress("web", func(ing *networkingv1.Ingress) { delete(ing.Annotations, annotationPrefix+"create-acm-cert") })
		}},
		"hosts edited": {unpublish: func(r *Harness) {
			r.editIngress("web", func(ing *networkingv1.Ingress) { ing.Spec.Rules[0].Host = "new.example.com" })
		}},
		"private, deleted":  {private: true, unpublish: deleteWebIngress, deletes: true},
		"imported, deleted": {imports: true, unpublish: deleteWebIngress, deletes: true},
		"imported, edited": {imports: true, unpublish: func(r *Harness) {
			r.editIngress("web", func(ing *networkingv1.Ingress) { ing.Spec.TLS = nil })
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var opt Options
				if requestCertificates(&opt); c.imports {
					opt = importOptions(Options{})
				}
				opt.Gateway = func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets }
				r := shopWith(t, opt)
				r.seedZones(time.Minute)
				r.Apply(shop, bank, readyPods("web", podAddresses[:2]...))
				other := gateway
				switch {
				case c.imports:
					r.Apply(newIssuer(t).issue("vault", elliptic.P256(), host), strings.ReplaceAll(vaultIngress("shop", "", vaultTLS), "vault.test", host))
				case c.private:
					r.Apply(strings.Replace(requested, "create-acm-cert", "acm-pca-arn: 'arn:aws:acm-pca:us-west-2:123456789012:certificate-authority/a', "+annotationPrefix+"create-acm-cert", 1))
				default:
					r.Apply(requested)
				}
				settleWithoutErrors(t, r)
				if c.imports { // discovery does not find it, but its ARN can be named
					other = inBank(webIngress(ingressAnnotations("certificate-arn", ownCertificateARN(r)), "/=web"))
				}
				r.Apply(other)
				settleWithoutErrors(t, r)
				expect := func(what string, want map[string]int) {
					t.Helper()
					if diff := cmp.Diff(want, ownCertificatesInUse(r)); diff != "" {
						t.Errorf("%s (-want +got):\n%s", what, diff)
					}
					_, exists := want[host]
					records := !c.imports && !c.private && exists
					if records != slices.Contains(managedCertificates(r), record) {
						t.Errorf("%s: certificates and records: %q", what, managedCertificates(r))
					}
				}
				expect("before", map[string]int{host: 2})

				r.Emulator.Calls().Reset()
				c.unpublish(r)
				r.Settle(7 * time.Minute)
				rest := map[string]int{host: 1}
				if name == "hosts edited" {
					rest["new.example.com"] = 1
				}
				expect("after 7 minutes", rest)
				if left := r.Store.All(cluster.KindIngress); c.deletes && slices.ContainsFunc(left, func(o cluster.Object) bool { return o.GetNamespace() == "shop" }) {
					t.Error("the Ingress still exists")
				}
				if w := strings.Join(warningsByObject(r)["web"], "\n"); !strings.Contains(w, "CertificateInUse") {
					t.Errorf("warnings: %s", w)
				}
				r.Emulator.Calls().Reset()
				r.Settle(24 * time.Hour)
				expect("after a day", rest)
				if n := r.Emulator.Calls().Count("DeleteCertificate"); n > 0 {
					t.Errorf("%d attempts to delete the certificate", n)
				}
				if n := r.Emulator.Calls().Count("DescribeCertificate"); n > 20 {
					t.Errorf("certificates were read %d times in a day", n)
				}
				if orphans := r.Orphans(); c.deletes != (len(orphans) == 1 && slices.Equal(orphans[0].Resources, []string{ownCertificateARN(r)})) {
					t.Errorf("orphans: %v", orphans)
				}
				for _, k := range []cluster.Kind{cluster.KindGateway, cluster.KindIngress} {
					for _, o := range r.Store.All(k) {
						if o.GetNamespace() == "bank" {
							r.deleteObject(k, "bank", o.GetName())
						}
					}
				}
				r.Settle(24 * time.Hour)
				if c.deletes {
					expect("an orphan a day after the other load balancer was deleted", map[string]int{host: 0})
					r.Apply(webIngress("", "/=web"))
					r.Settle(time.Hour)
				}
				delete(rest, host)
				expect("at the end", rest)
			})
		})
	}
}

func deleteWebIngress(r *Harness) { r.deleteObject(cluster.KindIngress, "shop", "web") }

// ownCertificateARN returns the ARN of a certificate that the controller has requested or imported.
func ownCertificateARN(r *Harness) string {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	for arn, c := range w.Partition(Account, Region).ACM.Certificates {
		if len(c.Tags) > 0 {
			return arn
		}
	}
	return ""
}
