package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
)

const evilNamespace = `
apiVersion: v1
kind: Namespace
metadata: {name: evil}
---
apiVersion: v1
kind: Service
metadata: {name: web, namespace: evil, uid: 11111111-0000-4000-8000-000000000666}
spec: {type: NodePort, selector: {app: web}, ports: [{port: 80, targetPort: 8080, nodePort: 30666}]}
---
`

// adoptedShop returns a harness with IngressGroup "g" and Namespace "evil". If taken is true, Gateway "shop/edge" has
// adopted the load balancer of the IngressGroup.
func adoptedShop(t *testing.T, opt Options, taken bool) *adoptionHarness {
	t.Helper()
	r := newAdoptionHarness(t, opt)
	r.Apply(evilNamespace, adoptedIngressGroup, adoptingRoutes)
	r.Settle(time.Hour)
	if taken {
		r.Apply(gatewayOf("shop", "edge", adoptAnnotation))
		r.Settle(time.Hour)
		r.expectOwner(model.ALBGateway, "adopt")
	}
	return r
}

// TestGatewayWithoutConsentAdoptsNothing checks that a Gateway of a namespace without consent adopts no load balancer,
// for each object that its annotation can name, and that the Gateway does not reveal names or ARNs of load balancers.
func TestGatewayWithoutConsentAdoptsNothing(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"group": "ingress-group/g", "ingress": "ingress/shop/solo", "own namespace": "ingress/solo", "service": "service/shop/web", "nothing": "ingress-group/none",
	} {
		for _, dry := range []string{"", dryRunAnnotation} {
			t.Run(name+dry, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					runs := 0
					r := adoptedShop(t, Options{AfterRun: func(string, error) { runs++ }}, false)
					r.Apply(strings.Replace(adoptedMember("shop", "solo", "/solo", ""), ", alb.ingress.kubernetes.io/group.name: g", "", 1))
					r.Settle(time.Hour)
					before := r.State()
					r.Emulator.Calls().Reset()
					r.Apply(gatewayOf("evil", "edge", "fulcrum.dev/adopt: "+value+dry), routeTo("evil", "a", "edge", "/a", "web"))
					r.Settle(time.Hour)
					if n := r.Emulator.Calls().CountMutating(); n > 0 {
						t.Errorf("%d changes: %v", n, r.Emulator.Calls().Counts())
					}
					runs = 0
					r.Settle(3 * time.Hour)
					if runs > 15 { // the longest back-off is a quarter of an hour
						t.Errorf("%d runs without a change", runs)
					}
					obj, _ := r.Store.Get(cluster.Ref{Kind: cluster.KindGateway, Namespace: "evil", Name: "edge"})
					text := fmt.Sprintf("%+v", obj)
					for _, secret := range append(r.arns(), "internal-k8s", "k8s-g-", "k8s-shop-") {
						if strings.Contains(text, secret) {
							t.Errorf("the Gateway shows %q: %s", secret, text)
						}
					}
					r.deleteObject(cluster.KindGateway, "evil", "edge")
					r.Settle(time.Hour)
					if d := cmp.Diff(before, r.State()); d != "" {
						t.Errorf("AWS is changed (-before +after):\n%s", d)
					}
				})
			})
		}
	}
}

// TestOnlyFirstGatewayAdoptsIngressGroup checks that, if two Gateways name the same IngressGroup, the first one adopts
// its load balancer and the second one changes nothing. After both are deleted, the Ingresses own the load balancer
// again.
func TestOnlyFirstGatewayAdoptsIngressGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		r := adoptedShop(t, Options{AfterRun: func(string, error) { runs++ }}, false)
		r.Apply(gatewayOf("shop", "edge", adoptAnnotation), gatewayOf("shop", "other", adoptAnnotation),
			routeTo("shop", "oa", "other", "/a", "web")+routeTo("shop", "ob", "other", "/b", "api"))
		r.Settle(time.Hour)
		r.expectOwner(model.ALBGateway, "adopt")
		before := r.State()
		runs = 0
		r.Settle(3 * time.Hour)
		if runs > 15 { // the longest back-off is a quarter of an hour
			t.Errorf("%d runs without a change", runs)
		}
		annotateGateway(r.Harness, "shop", "other", "x=y")
		r.Settle(time.Hour)
		if d := cmp.Diff(before, r.State()); d != "" {
			t.Errorf("the second Gateway changes AWS (-before +after):\n%s", d)
		}
		r.deleteAll(cluster.KindGateway)
		r.Settle(time.Hour)
		r.expectOwner(model.Ingress, "give back")
	})
}

// TestNewMembersCannotClaimAdoptedLoadBalancer checks that an Ingress that joins the IngressGroup after all its
// members were deleted cannot get the load balancer that a Gateway has adopted, whatever happens to the Gateway.
func TestNewMembersCannotClaimAdoptedLoadBalancer(t *testing.T) {
	t.Parallel()
	for name, act := range map[string]func(r *adoptionHarness){
		"annotation off": func(r *adoptionHarness) { annotateGateway(r.Harness, "shop", "edge", "fulcrum.dev/adopt-") },
		"dry-run":        func(r *adoptionHarness) { annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run=true") },
		"another name": func(r *adoptionHarness) {
			annotateGateway(r.Harness, "shop", "edge", "fulcrum.dev/adopt=ingress-group/other")
		},
		"nothing": func(*adoptionHarness) {},
		"deleted": func(r *adoptionHarness) { r.deleteObject(cluster.KindGateway, "shop", "edge") },
	} {
		for _, claim := range []string{"", consentToEdge} {
			t.Run(name+claim, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r := adoptedShop(t, Options{}, true)
					arn := r.arns()[0]
					r.deleteAll(cluster.KindIngress)
					r.Settle(time.Hour)
					r.expectOwner(model.ALBGateway, "release")
					r.Apply(strings.Replace(adoptedMember("evil", "x", "/a", claim), "  annotations:", "  finalizers: [group.ingress.k8s.aws/g]\n  annotations:", 1))
					r.Settle(time.Hour)
					act(r)
					r.Settle(time.Hour)
					for _, line := range r.State() {
						if strings.Contains(line, "rule ") && strings.Contains(line, arn) {
							t.Log(line)
						}
					}
					owner := ""
					for _, line := range r.State() {
						if strings.HasPrefix(line, "load-balancer") {
							owner += line + "\n"
						}
					}
					w := r.Emulator.Store()
					w.Lock()
					lb := w.Partition(Account, Region).ELB.LoadBalancers[arn]
					w.Unlock()
					if name == "deleted" {
						if lb != nil || len(r.arns()) != 1 {
							t.Errorf("the adopted load balancer %v is not deleted, or not replaced by one other: %v", lb, r.arns())
						}
						return
					}
					if tags := lb.Tags; tags[naming.StackTag(model.ALBGateway)] != "shop/edge" || tags[naming.StackTag(model.Ingress)] != "" {
						t.Errorf("the load balancer no longer belongs to the Gateway: %v\n%s", tags, owner)
					}
				})
			})
		}
	}
}

// TestLongNamesAreNotAdopted checks that the load balancer of an object is not adopted if the object's name does not
// fit into the tag that is needed to give the load balancer back.
func TestLongNamesAreNotAdopted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAdoptionHarness(t, Options{})
		long := strings.Repeat("a123456789", 25)
		r.Apply(strings.Replace(adoptedMember("shop", long, "/a", consentToEdge), ", alb.ingress.kubernetes.io/group.name: g", "", 1),
			routeTo("shop", "a", "edge", "/a", "web"))
		r.Settle(time.Hour)
		before := r.State()
		r.Apply(gatewayOf("shop", "edge", "fulcrum.dev/adopt: ingress/"+long))
		r.Settle(time.Hour)
		if d := cmp.Diff(before, r.State()); d != "" {
			t.Errorf("AWS is changed (-before +after):\n%s", d)
		}
		if !strings.Contains(r.eventTexts(), "too long for the tag") {
			t.Error(r.eventTexts())
		}
	})
}

// falseMembers are forged Ingresses in namespace "evil" that claim to be members of IngressGroup "g".
var falseMembers = map[string]string{
	"accepted":      adoptedMember("evil", "x", "/a", ""),
	"consenting":    adoptedMember("evil", "x", "/a", consentToEdge),
	"no class":      strings.Replace(falseMember, "ingressClassName: alb", "ingressClassName: none", 1),
	"another class": strings.Replace(falseMember, "ingressClassName: alb", "ingressClassName: other", 1),
	"blocked":       strings.Replace(falseMember, "group.name: g", `group.name: g, alb.ingress.kubernetes.io/group.order: "x", alb.ingress.kubernetes.io/listen-ports: "["`, 1),
	"everything":    strings.Replace(falseMember, "group.name: g", `group.name: g, alb.ingress.kubernetes.io/scheme: odd, alb.ingress.kubernetes.io/subnets: none`, 1),
	"finalizer": strings.Replace(strings.Replace(falseMember, "alb.ingress.kubernetes.io/group.name: g", "a: b", 1),
		"[group.ingress", "[example.com/stay, group.ingress", 1),
}

// falseMember is an Ingress in namespace "evil" with the finalizer that members of IngressGroup "g" have.
var falseMember = strings.Replace(adoptedMember("evil", "x", "/a", consentToEdge), "  annotations:", "  finalizers: [group.ingress.k8s.aws/g]\n  annotations:", 1)

// TestForgedMembersDoNotBlockAdoptingGateway checks that a Gateway that adopted the load balancer of an IngressGroup
// can be edited, released and deleted although another object claims to be a member of the IngressGroup.
func TestForgedMembersDoNotBlockAdoptingGateway(t *testing.T) {
	t.Parallel()
	for name, doc := range falseMembers {
		for _, deleting := range []bool{false, true} {
			for _, released := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, deleting %t, released %t", name, deleting, released), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						runs := 0
						r := adoptedShop(t, Options{AfterRun: func(string, error) { runs++ }}, true)
						arn := r.arns()[0]
						squat := func() {
							r.Apply(doc, "apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: other}\nspec: {controller: example.com/other}\n")
							r.Settle(time.Minute)
							if deleting {
								r.deleteIfExists(cluster.KindIngress, "evil", "x")
							}
							r.Settle(10 * time.Minute)
						}
						if !released {
							squat()
						}
						r.deleteIfExists(cluster.KindIngress, "shop", "a")
						r.deleteIfExists(cluster.KindIngress, "shop", "b")
						r.Settle(10 * time.Minute)
						for _, name := range []string{"a", "b"} {
							if !r.isDeleted(cluster.KindIngress, "shop", name) {
								t.Errorf("Ingress %s is not deleted", name)
							}
						}
						if released {
							squat()
						}
						annotateGateway(r.Harness, "shop", "edge", "fulcrum.dev/adopt-")
						r.Settle(10 * time.Minute)
						r.Apply(routeTo("shop", "c", "edge", "/c", "api"))
						r.Settle(10 * time.Minute)
						if a, c := r.servicesOfPath("/a"), r.servicesOfPath("/c"); c != "c" {
							t.Errorf("/a is answered by %q, /c by %q", a, c)
						}
						w := r.Emulator.Store()
						w.Lock()
						lb := w.Partition(Account, Region).ELB.LoadBalancers[arn]
						if lb == nil || lb.Tags[naming.StackTag(model.ALBGateway)] != "shop/edge" || lb.Tags[naming.StackTag(model.Ingress)] != "" || lb.Tags[naming.AdoptedTag] != "" {
							t.Errorf("the load balancer does not belong only to the Gateway: %v", lb)
						}
						w.Unlock()
						runs = 0
						r.Settle(3 * time.Hour)
						if runs > 30 {
							t.Errorf("%d runs without a change", runs)
						}
						r.deleteObject(cluster.KindGateway, "shop", "edge")
						r.Settle(10 * time.Minute)
						if !r.isDeleted(cluster.KindGateway, "shop", "edge") {
							t.Errorf("the Gateway is not deleted\n%s", r.eventTexts())
						}
					})
				})
			}
		}
	}
}
