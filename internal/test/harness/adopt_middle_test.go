package harness

import (
	"crypto/elliptic"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// configure creates a LoadBalancerConfiguration with the given spec and makes the Gateway, if it exists, use it.
func (r *adoptionHarness) configure(namespace, name, spec string) {
	r.T.Helper()
	r.Apply(fmt.Sprintf("apiVersion: gateway.k8s.aws/v1\nkind: LoadBalancerConfiguration\nmetadata: {name: own, namespace: %s}\nspec: %s\n", namespace, spec))
	obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindGateway, Namespace: namespace, Name: name})
	if err != nil || obj == nil {
		return
	}
	gw := obj.DeepCopyObject().(*gwv1.Gateway)
	gw.Spec.Infrastructure = &gwv1.GatewayInfrastructure{ParametersRef: &gwv1.LocalParametersReference{Group: "gateway.k8s.aws", Kind: "LoadBalancerConfiguration", Name: "own"}}
	if err := r.Store.Put(gw); err != nil {
		r.T.Fatal(err)
	}
}

// httpsCertificateDomain returns the domain of the certificate of the HTTPS listener, or "" if ACM has no such
// certificate.
func (r *adoptionHarness) httpsCertificateDomain() string {
	w := r.Emulator.Store()
	w.Lock()
	defer w.Unlock()
	p := w.Partition(Account, Region)
	for _, l := range p.ELB.Listeners {
		if l.Port == 443 && p.ACM.Certificates[l.Certificate] != nil {
			return p.ACM.Certificates[l.Certificate].Domain
		}
	}
	return ""
}

// TestAdoptedLoadBalancerAlwaysHasCertificate checks that the HTTPS listener always has a certificate of its host
// while a load balancer with imported certificates is adopted and returned, even if the process is killed at any call.
// At the end ACM has no imported certificate.
func TestAdoptedLoadBalancerAlwaysHasCertificate(t *testing.T) {
	t.Parallel()
	group := strings.Replace(adoptedMember("shop", "a", "/a", consentToEdge), "  rules:", "  tls: [{hosts: [shop.example.com], secretName: shop}]\n  rules:", 1)
	gateway := strings.Replace(gatewayOf("shop", "edge", adoptAnnotation), "[{name: http, port: 80, protocol: HTTP}]",
		"[{name: http, port: 80, protocol: HTTP}, {name: https, port: 443, protocol: HTTPS, tls: {certificateRefs: [{name: shop}]}}]", 1)
	total := 0
	run := func(t *testing.T, at int) {
		synctest.Test(t, func(t *testing.T) {
			opt := importOptions(Options{Checkpoints: true})
			opt.Gateway = func(o *gateways.Options) { o.ImportCertificates, o.DefaultTargetType = true, model.IPTargets }
			r := &adoptionHarness{shopWith(t, opt)}
			r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...), gatewayClassALB)
			empty := r.State()
			r.Apply(newIssuer(t).issue("shop", elliptic.P256(), "shop.example.com"), group, routeTo("shop", "a", "edge", "/a", "web"))
			r.settleWithRestarts(time.Hour)
			if got := r.httpsCertificateDomain(); got != "shop.example.com" {
				t.Fatalf("the Ingress has the certificate %q\n%s", got, r.eventTexts())
			}
			calls := 0
			r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
				if got := r.httpsCertificateDomain(); got != "shop.example.com" && !t.Failed() {
					t.Errorf("before %s the listener has the certificate %q", c.Operation, got)
				}
				if c.Mutating {
					if calls++; calls == at {
						r.Kill()
					}
				}
				return fault.Action{}
			})
			r.Apply(gateway)
			r.settleWithRestarts(time.Hour)
			owned := func(kind model.Kind, step string) {
				t.Helper()
				other := model.ALBGateway
				if kind == other {
					other = model.Ingress
				}
				if left := r.stateWithTag(naming.StackTag(other)); len(left) > 0 {
					t.Errorf("%s: these resources still belong to %s: %v\n%s", step, other, left, r.eventTexts())
				}
			}
			owned(model.ALBGateway, "adopt")
			annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run=true")
			r.settleWithRestarts(time.Hour)
			owned(model.Ingress, "back")
			annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run-")
			r.settleWithRestarts(time.Hour)
			owned(model.ALBGateway, "adopt again")
			r.deleteObject(cluster.KindIngress, "shop", "a")
			r.settleWithRestarts(time.Hour)
			if at == 0 {
				total = calls
			}
			r.Emulator.Faults().SetHook(nil)
			r.deleteObject(cluster.KindGateway, "shop", "edge")
			r.settleWithRestarts(time.Hour)
			r.expectNothingLeft(empty)
			if t.Failed() {
				t.Logf("killed after call %d of %d", at, total)
			}
		})
	}
	run(t, 0)
	if total < 20 {
		t.Fatalf("%d calls", total)
	}
	for at := 1; at <= total; at += seeds.Step(8) {
		t.Run(fmt.Sprint(at), func(t *testing.T) { run(t, at) })
	}
}

// TestLoadBalancerWithDeletionProtectionIsAdopted checks that a load balancer with deletion protection can be adopted.
// After its Gateway is deleted, it is kept until the protection is removed.
func TestLoadBalancerWithDeletionProtectionIsAdopted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, watch := newWatchedAdoption(t, Options{})
		empty := r.State()
		const protected = "deletion_protection.enabled=true"
		r.Apply(strings.ReplaceAll(adoptedIngressGroup, consentToEdge, consentToEdge+", alb.ingress.kubernetes.io/load-balancer-attributes: "+protected), adoptingRoutes)
		r.Settle(time.Hour)
		watch.setOn(true)
		r.Apply(gatewayOf("shop", "edge", adoptAnnotation+dryRunAnnotation))
		r.configure("shop", "edge", `{loadBalancerAttributes: [{key: deletion_protection.enabled, value: "true"}]}`)
		annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run-")
		r.Settle(time.Hour)
		r.expectOwner(model.ALBGateway, "adopt")
		annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run=true")
		r.Settle(time.Hour)
		r.expectOwner(model.Ingress, "back")
		annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run-")
		r.Settle(time.Hour)
		r.deleteAll(cluster.KindIngress)
		r.Settle(time.Hour)
		r.expectOwner(model.ALBGateway, "release")
		watch.setOn(false)
		r.deleteObject(cluster.KindGateway, "shop", "edge")
		r.Settle(time.Hour)
		if len(r.arns()) != 1 || !strings.Contains(r.eventTexts(), "DeletionProtected") {
			t.Errorf("want one load balancer and the event DeletionProtected: %v\n%s", r.arns(), r.eventTexts())
		}
		r.Apply("apiVersion: gateway.k8s.aws/v1\nkind: LoadBalancerConfiguration\nmetadata: {name: own, namespace: shop}\n" +
			`spec: {loadBalancerAttributes: [{key: deletion_protection.enabled, value: "false"}]}`)
		r.Settle(2 * time.Hour)
		r.expectNothingLeft(empty)
	})
}
