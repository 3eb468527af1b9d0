package harness

import (
	"crypto/elliptic"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	acmtypes "github.com/aws/aws-sdk-go-v2/service/acm/types"
	"github.com/google/go-cmp/cmp"

	networkingv1 "k8s.io/api/networking/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// restartWith restarts the controller with the Ingress, Gateway, Plan and Cloud options of with. These may enable the
// import of TLS Secrets.
func (r *Harness) restartWith(with Options) {
	r.T.Helper()
	time.Sleep(time.Second)
	r.opt.Ingress, r.opt.Gateway, r.opt.Plan, r.opt.Cloud = with.Ingress, with.Gateway, with.Plan, with.Cloud
	r.Start()
}

// namedListenerCertificates returns, for each listener with a default certificate, the stack of its load balancer, the
// DNS names of the certificate, and the last two digits of its serial number. The result is sorted.
func namedListenerCertificates(r *Harness) []string {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, Region)
	out := []string{}
	for _, l := range p.ELB.Listeners {
		lb := p.ELB.LoadBalancers[l.LoadBalancer]
		if c := p.ACM.Certificates[l.Certificate]; c != nil && lb != nil {
			stack := lb.Tags["ingress.k8s.aws/stack"] + lb.Tags["gateway.k8s.aws.alb/stack"] + lb.Tags["gateway.k8s.aws.nlb/stack"]
			out = append(out, stack+": "+strings.Join(c.Names, ",")+" "+c.Serial[len(c.Serial)-2:])
		}
	}
	slices.Sort(out)
	return out
}

// vaultIngress returns YAML of an Ingress for host "vault.test", for which ACM has no certificate unless one is
// imported. tls is the YAML of its field tls, or "".
func vaultIngress(namespace, annotations, tls string) string {
	return strings.NewReplacer("namespace: shop", "namespace: "+namespace, "shop.example.com", "vault.test").Replace(webIngress(annotations, "/=web")) + tls
}

const vaultTLS = "  tls: [{hosts: [vault.test], secretName: vault}]\n"

// TestImportedCertificateServesWithoutTheFlag checks an Ingress with an imported certificate after a restart without
// --import-tls-secrets. The listener keeps the certificate, an event names the flag, and edits of the Ingress are
// applied. The renewed certificate is imported when the flag is set again.
func TestImportedCertificateServesWithoutTheFlag(t *testing.T) {
	t.Parallel()
	for name, ports := range map[string]string{"default ports": "", "named ports": ingressAnnotations("listen-ports", `[{"HTTP":80},{"HTTPS":443}]`)} {
		synctest.Test(t, func(t *testing.T) {
			i := newIssuer(t)
			r := shopWith(t, importOptions(Options{}))
			secret := i.issue("vault", elliptic.P256(), "vault.test")
			r.Apply(shop, readyPods("web", podAddresses[:3]...), secret, vaultIngress("shop", ports, vaultTLS))
			settleWithoutErrors(t, r)
			want := []string{"shop/web: vault.test 02"}
			expect := func(what string) {
				t.Helper()
				if diff := cmp.Diff(want, namedListenerCertificates(r)); diff != "" {
					t.Errorf("%s, %s (-want +got):\n%s", name, what, diff)
				}
			}
			expect("with the flag")
			counts := r.Emulator.Calls()
			counts.Reset()
			r.restartWith(Options{})
			r.Settle(time.Hour)
			expect("an hour without the flag")
			if counts.CountMutating() > 0 {
				t.Errorf("%s: the restart made %v", name, counts.Counts())
			}
			if w := strings.Join(warningsByObject(r)["web"], "\n"); !strings.Contains(w, "ImportsDisabled") || !strings.Contains(w, `"shop/vault"`) ||
				!strings.Contains(w, "--import-tls-secrets=ingress") || !strings.Contains(w, "expires at 2001-01-01") {
				t.Errorf("%s: warnings: %s", name, w)
			}
			r.Apply(i.issue("vault", elliptic.P256(), "vault.test"), strings.Replace(vaultIngress("shop", ports, vaultTLS), "path: /,", "path: /new,", 1))
			r.Settle(30 * time.Hour)
			expect("after 30 hours")
			if !slices.ContainsFunc(r.State(), func(l string) bool {
				return strings.HasPrefix(l, "rule ") && strings.Contains(l, "443") && strings.Contains(l, `"/new/*"`)
			}) {
				t.Errorf("%s: an edit is not applied on port 443:\n%s", name, strings.Join(r.State(), "\n"))
			}
			r.restartWith(importOptions(Options{}))
			settleWithoutErrors(t, r)
			want = []string{"shop/web: vault.test 03"}
			expect("with the flag again")
			r.restartWith(Options{})
			settleWithoutErrors(t, r)
			expect("without the flag again")
			r.editIngress("web", func(ing *networkingv1.Ingress) { ing.Spec.TLS = nil })
			settleWithoutErrors(t, r)
			if ports == "" {
				want = []string{}
			}
			expect("once the Ingress does not name the Secret")
		})
	}
}

// TestImportedCertificateIsNotDiscoveredForOthers checks that certificate discovery does not use a certificate that was
// imported for another load balancer, with or without --import-tls-secrets. Listeners that have such a certificate from
// an older version keep it, and an event reports it.
func TestImportedCertificateIsNotDiscoveredForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		r := shopWith(t, importOptions(Options{}))
		bank := strings.NewReplacer("namespace: shop", "namespace: bank", "name: shop", "name: bank", "uid: uid-web", "uid: uid-bank").Replace(shop)
		r.Apply(shop, bank, readyPods("web", podAddresses[:3]...), i.issue("vault", elliptic.P256(), "vault.test"), vaultIngress("shop", "", vaultTLS))
		settleWithoutErrors(t, r)
		secure := ingressAnnotations("listen-ports", `[{"HTTPS":443}]`)
		own := []string{"shop/web: vault.test 02"}
		for _, with := range []Options{importOptions(Options{}), {}} {
			r.restartWith(with)
			r.Apply(vaultIngress("bank", secure, ""))
			r.Settle(12 * time.Hour)
			if diff := cmp.Diff(own, namedListenerCertificates(r)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			r.deleteObject(cluster.KindIngress, "bank", "web")
			settleWithoutErrors(t, r)
		}
		// Attach the certificate to listeners of other stacks, as an older version without this check may have done.
		r.Apply(strings.ReplaceAll(vaultIngress("bank", secure, ""), "vault.test", "shop.example.com"),
			strings.ReplaceAll(strings.Replace(vaultIngress("shop", secure, ""), "name: web\n", "name: near\n", 1), "vault.test", "shop.example.com"))
		settleWithoutErrors(t, r)
		w := r.Emulator.Store()
		w.Lock()
		p := w.Partition(Account, Region)
		for _, l := range p.ELB.Listeners {
			for arn, c := range p.ACM.Certificates {
				if l.Certificate != "" && c.Tags["ingress.k8s.aws/resource"] != "" {
					l.Certificate, l.SNI = arn, nil
				}
			}
		}
		w.Unlock()
		r.restartWith(Options{})
		r.Apply(vaultIngress("bank", secure, ""), strings.Replace(vaultIngress("shop", secure, ""), "name: web\n", "name: near\n", 1))
		r.Settle(12 * time.Hour)
		if diff := cmp.Diff([]string{"shop/near: vault.test 02", "shop/web: vault.test 02"}, namedListenerCertificates(r)); diff != "" {
			t.Errorf("certificates that an older version attached (-want +got):\n%s", diff)
		}
		for _, name := range []string{"web", "near"} {
			if all := strings.Join(warningsByObject(r)[name], "\n"); !strings.Contains(all, "CertificateNotOwned") || !strings.Contains(all, `"shop"`) {
				t.Errorf("%s: warnings: %s", name, all)
			}
		}
	})
}

// TestImportedCertificateServesWithoutTagPermission checks that listeners keep an imported certificate if the
// controller may not read the tags of certificates. An event names the missing permission.
func TestImportedCertificateServesWithoutTagPermission(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		r := shopWith(t, importOptions(Options{}))
		r.Apply(shop, readyPods("web", podAddresses[:3]...), i.issue("vault", elliptic.P256(), "vault.test"), vaultIngress("shop", "", vaultTLS))
		settleWithoutErrors(t, r)
		r.Emulator.Faults().Add(fault.Rule{Service: "acm", Operation: "ListTagsForCertificate", Action: fault.Action{
			Error: &store.Error{Code: "AccessDeniedException", Status: 400, Message: "User is not authorized to perform: acm:ListTagsForCertificate"}}})
		counts := r.Emulator.Calls()
		counts.Reset()
		r.restartWith(Options{})
		r.Settle(24 * time.Hour)
		if diff := cmp.Diff([]string{"shop/web: vault.test 02"}, namedListenerCertificates(r)); diff != "" || counts.CountMutating() > 0 {
			t.Errorf("%v (-want +got):\n%s", counts.Counts(), diff)
		}
		if n := counts.Count("ListTagsForCertificate"); n > 10 {
			t.Errorf("%d denied calls within a day", n)
		}
		if w := strings.Join(warningsByObject(r)["web"], "\n"); !strings.Contains(w, "AccessDenied") || !strings.Contains(w, "acm:ListTagsForCertificate") {
			t.Errorf("warnings: %s", w)
		}
	})
}

// TestRequestedCertificateServesWithoutTheFeatureGate checks that listeners keep a requested certificate when the
// feature gate is disabled, until the annotation is removed.
func TestRequestedCertificateServesWithoutTheFeatureGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShopRequestingCertificates(t, 0)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), ingressWithMoreHosts)
		settleWithoutErrors(t, r)
		want := managedCertificates(r)
		if !slices.ContainsFunc(want, func(s string) bool { return strings.HasSuffix(s, ".com 1") }) {
			t.Fatalf("serving: %v", want)
		}
		counts := r.Emulator.Calls()
		counts.Reset()
		r.restartWith(Options{})
		r.Settle(24 * time.Hour)
		if diff := cmp.Diff(want, managedCertificates(r)); diff != "" || counts.CountMutating() > 0 {
			t.Errorf("%v (-want +got):\n%s", counts.Counts(), diff)
		}
		r.editIngress("web", func(ing *networkingv1.Ingress) { delete(ing.Annotations, annotationPrefix+"create-acm-cert") })
		settleWithoutErrors(t, r)
		if slices.ContainsFunc(managedCertificates(r), func(s string) bool { return strings.HasSuffix(s, ".com 1") }) {
			t.Errorf("the certificate is in use without the annotation: %v", managedCertificates(r))
		}
	})
}

// TestGatewayKeepsImportedCertificateWithoutTheFlag checks that the listeners of ALB and NLB Gateways keep imported
// certificates after a restart without --import-tls-secrets. Renewed certificates are imported when the flag is set
// again.
func TestGatewayKeepsImportedCertificateWithoutTheFlag(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"alb", "nlb"} {
		synctest.Test(t, func(t *testing.T) {
			i := newIssuer(t)
			opt := importOptions(Options{})
			opt.Ingress = nil
			opt.Gateway = func(o *gateways.Options) { o.ImportCertificates = true }
			r := shopWith(t, opt)
			gateway := strings.NewReplacer("shop.example.com", "shop.test", "api.example.com", "api.test").Replace(secureGateway)
			want := []string{"shop/edge: shop.test 03"}
			if kind == "nlb" {
				gateway = networkGateway
			}
			api := strings.Replace(i.issue("api", elliptic.P256(), "api.test"), "namespace: shop", "namespace: vault", 1)
			r.Apply(shop, readyPods("web", podAddresses[:3]...), i.issue("shop", elliptic.P256(), "shop.test"), api, secretGrant, gateway)
			settleWithoutErrors(t, r)
			expect := func(what string) {
				t.Helper()
				if diff := cmp.Diff(want, namedListenerCertificates(r)); diff != "" {
					t.Errorf("%s, %s (-want +got):\n%s", kind, what, diff)
				}
			}
			expect("with the flag")
			counts := r.Emulator.Calls()
			counts.Reset()
			r.restartWith(Options{})
			r.Settle(time.Hour)
			expect("an hour without the flag")
			if counts.CountMutating() > 0 {
				t.Errorf("%s: the restart made %v", kind, counts.Counts())
			}
			if text := strings.Join(append(warningsByObject(r)["edge"], gatewayConditionMessages(r, "edge")...), "\n"); !strings.Contains(text, `"shop/shop"`) || !strings.Contains(text, "--import-tls-secrets=gateway") {
				t.Errorf("%s: reported: %s", kind, text)
			}
			r.Apply(i.issue("shop", elliptic.P256(), "shop.test"))
			r.Settle(30 * time.Hour)
			expect("after 30 hours")
			if counts.CountMutating() > 0 {
				t.Errorf("%s: thirty hours without an edit of the Gateway made %v", kind, counts.Counts())
			}
			r.restartWith(opt)
			settleWithoutErrors(t, r)
			want = []string{"shop/edge: shop.test 04"}
			expect("with the flag again")
		})
	}
}

// gatewayConditionMessages returns the messages of the conditions of a Gateway and of its listeners. The Gateway is in
// namespace "shop".
func gatewayConditionMessages(r *Harness, name string) (out []string) {
	r.T.Helper()
	obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindGateway, Namespace: "shop", Name: name})
	if err != nil {
		r.T.Fatal(err)
	}
	status := obj.(*gwv1.Gateway).Status
	all := status.Conditions
	for _, l := range status.Listeners {
		all = append(all, l.Conditions...)
	}
	for _, c := range all {
		out = append(out, c.Message)
	}
	return out
}

// networkGateway is NLB Gateway "shop/edge" with a TLS listener that has the certificate of Secret "shop", and its
// route.
const networkGateway = `
apiVersion: gateway.networking.k8s.io/v1
kind: GatewayClass
metadata: {name: nlb}
spec: {controllerName: gateway.k8s.aws/nlb}
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
  gatewayClassName: nlb
  listeners:
    - {name: tls, protocol: TLS, port: 443, hostname: shop.test, tls: {mode: Terminate, certificateRefs: [{name: shop}]}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: {namespace: shop, name: r}
spec:
  parentRefs: [{name: edge}]
  hostnames: [shop.test]
  rules: [{backendRefs: [{name: web, port: 80}]}]
`

// TestIgnoredSecretsCostNoCalls checks that references to TLS Secrets cause no additional calls to AWS without
// --import-tls-secrets. Tags of certificates are read only if the certificates in use were imported.
func TestIgnoredSecretsCostNoCalls(t *testing.T) {
	t.Parallel()
	count := func(tls, refs string, edit func(*store.Certificate)) (out map[string]int) {
		synctest.Test(t, func(t *testing.T) {
			r := shopWith(t, Options{})
			w := r.Emulator.Store()
			w.Lock()
			for _, c := range w.Partition(Account, Region).ACM.Certificates {
				edit(c)
			}
			w.Unlock()
			edge := strings.ReplaceAll(strings.Replace(secureGateway, "api.example.com", "www.example.com", 1), "tls: {certificateRefs: [{name: shop}]}", refs)
			named := strings.Replace(webIngress(ingressAnnotations("listen-ports", `[{"HTTPS":443}]`, "certificate-arn", r.Seeded.Certs["example.com"]), "/=web"), "name: web\n", "name: named\n", 1)
			plain := strings.Replace(webIngress("", "/=web"), "name: web\n", "name: plain\n", 1)
			objects := []string{webIngress(ingressAnnotations("listen-ports", `[{"HTTPS":443}]`), "/=web") + tls, named + tls, plain + tls, edge}
			r.Apply(append(objects, shop, readyPods("web", podAddresses[:3]...))...)
			r.Settle(time.Hour)
			r.Start()
			r.Settle(24 * time.Hour)
			if len(namedListenerCertificates(r)) != 3 {
				t.Errorf("serving: %v", namedListenerCertificates(r))
			}
			out = r.Emulator.Calls().Counts()
		})
		return out
	}
	const tls, refs = "  tls: [{secretName: shop}]\n", "tls: {certificateRefs: [{name: shop}]}"
	issued := func(c *store.Certificate) { c.Type = acmtypes.CertificateTypeAmazonIssued }
	without, with := count("", "tls: {}", issued), count(tls, refs, issued)
	if diff := cmp.Diff(without, with); diff != "" || with["acm:ListTagsForCertificate"] > 0 {
		t.Errorf("(-without +with):\n%s", diff)
	}
	// Each of the two processes reads the tags of each of the three imported certificates once.
	imported := func(c *store.Certificate) { c.Type, c.Imported = acmtypes.CertificateTypeImported, c.Created }
	without, with = count("", "tls: {}", imported), count(tls, refs, imported)
	if diff := cmp.Diff(without, with); diff != "" || with["acm:ListTagsForCertificate"] > 6 {
		t.Errorf("%d calls for imported certificates (-without +with):\n%s", with["acm:ListTagsForCertificate"], diff)
	}
}

// TestCertificateLeftWithoutTheFlagIsReportedAsOrphan checks an imported certificate whose load balancer is deleted
// without --import-tls-secrets. It is reported as an orphan when the flag is set again, and is deleted together with a
// new object of the same name.
func TestCertificateLeftWithoutTheFlagIsReportedAsOrphan(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		i := newIssuer(t)
		r := shopWith(t, importOptions(Options{}))
		ingress := vaultIngress("shop", "", vaultTLS)
		r.Apply(shop, readyPods("web", podAddresses[:3]...), i.issue("vault", elliptic.P256(), "vault.test"), ingress)
		settleWithoutErrors(t, r)
		remove := func() {
			t.Helper()
			if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}); err != nil {
				t.Fatal(err)
			}
		}
		if o := r.Orphans(); len(o) > 0 {
			t.Errorf("orphans while the certificate is in use: %v", o)
		}
		r.restartWith(Options{})
		r.Settle(time.Minute)
		remove()
		r.Settle(time.Hour)
		if o := r.Orphans(); len(o) > 0 {
			t.Errorf("orphans without the flag: %v", o)
		}
		r.restartWith(importOptions(Options{}))
		r.Settle(time.Hour)
		o := r.Orphans()
		if len(o) != 1 || o[0].ID.String() != "shop/web" || len(o[0].Resources) != 1 || !strings.Contains(o[0].Resources[0], ":acm:") {
			t.Errorf("orphans with the flag again: %v", o)
		}
		r.Emulator.Faults().Add(fault.Rule{Operation: "ListCertificates", Action: fault.Action{
			Error: &store.Error{Code: "AccessDeniedException", Status: 400, Message: "User is not authorized to perform: acm:ListCertificates"}}})
		time.Sleep(24 * time.Hour)
		if o := r.Orphans(); len(o) > 0 {
			t.Errorf("orphans without permission to list certificates: %v", o)
		}
		r.Emulator.Faults().Reset()
		r.Apply(ingress)
		r.Settle(time.Hour)
		remove()
		r.Settle(time.Hour)
		if o := r.Orphans(); len(o) > 0 {
			t.Errorf("orphans after a new Ingress was deleted: %v", o)
		}
		if left := importedCertificates(r); len(left) > 0 {
			t.Errorf("left: %q", left)
		}
	})
}
