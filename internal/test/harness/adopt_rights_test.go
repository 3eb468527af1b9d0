package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	gwv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// TestAdoptAnnotationDoesNotHoldExistingLoadBalancer checks that a Gateway with an existing load balancer is still updated
// after it gets the adopt annotation and dry-run mode: a route is removed when its ReferenceGrant is deleted.
func TestAdoptAnnotationDoesNotHoldExistingLoadBalancer(t *testing.T) {
	t.Parallel()
	for name, value := range map[string]string{
		"own": "ingress-group/mine", "another's": "ingress-group/g", "nothing": "ingress-group/none", "mistyped": "mistyped",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := adoptedShop(t, Options{}, false)
				r.Apply(strings.NewReplacer("group.name: g", "group.name: mine").Replace(adoptedMember("evil", "m", "/m", "")),
					gatewayOf("evil", "edge", "a: b"),
					strings.Replace(routeTo("evil", "r", "edge", "/x", "api"), "{name: api, port: 80}", "{name: api, namespace: shop, port: 80}", 1),
					`
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: evil, namespace: shop}
spec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: evil}], to: [{group: "", kind: Service}]}
`)
				r.Settle(time.Hour)
				if got := r.servicesOfPath("/x"); got == "" {
					t.Fatal("the route is not served")
				}
				annotateGateway(r.Harness, "evil", "edge", "fulcrum.dev/adopt="+value, "gateway.k8s.aws/dry-run=true")
				r.Settle(time.Minute)
				r.deleteObject(cluster.KindReferenceGrant, "shop", "evil")
				r.Settle(5 * time.Minute)
				if got := r.servicesOfPath("/x"); got != "" {
					t.Errorf("the route is still served by %s\n%s", got, r.eventTexts())
				}
			})
		})
	}
}

// TestForgedBindingsDoNotBlockAdoption checks that TargetGroupBindings with the labels of an IngressGroup, of the
// Gateway or of both, and with finalizers of other controllers, do not block an adoption or a return.
func TestForgedBindingsDoNotBlockAdoption(t *testing.T) {
	t.Parallel()
	labels := []string{"ingress.k8s.aws/stack: g", "gateway.k8s.aws.alb/stack-namespace: shop, gateway.k8s.aws.alb/stack-name: edge"}
	labels = append(labels, strings.Join(labels, ", "))
	for i, label := range labels {
		for _, namespace := range []string{"evil", "zevil"} {
			for _, early := range []bool{true, false} {
				t.Run(fmt.Sprint(i, namespace, early), func(t *testing.T) {
					t.Parallel()
					synctest.Test(t, func(t *testing.T) {
						r, watch := newWatchedAdoption(t, Options{})
						empty := r.State()
						r.Apply(evilNamespace, strings.ReplaceAll(evilNamespace, "evil", "zevil"), adoptedIngressGroup, adoptingRoutes)
						r.Settle(time.Hour)
						watch.setOn(true)
						forge := func() {
							w := r.Emulator.Store()
							w.Lock()
							var docs []string
							for arn, g := range w.Partition(Account, Region).ELB.TargetGroups {
								docs = append(docs, fmt.Sprintf(`
apiVersion: elbv2.k8s.aws/v1beta1
kind: TargetGroupBinding
metadata: {name: a-%s, namespace: %s, labels: {%s}, finalizers: [example.com/stay]}
spec: {targetGroupARN: %q, targetType: ip, serviceRef: {name: web, port: 80}}
`, g.Name, namespace, label, arn))
							}
							w.Unlock()
							r.Apply(docs...)
							r.Settle(time.Minute)
						}
						if early {
							forge()
						}
						r.Apply(gatewayOf("shop", "edge", adoptAnnotation))
						r.Settle(time.Hour)
						if !early {
							forge()
						}
						r.expectOwner(model.ALBGateway, "adopt")
						annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run=true")
						r.Settle(time.Hour)
						r.expectOwner(model.Ingress, "back")
						annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run-")
						r.Settle(time.Hour)
						r.expectOwner(model.ALBGateway, "adopt again")
						watch.setOn(false)
						r.deleteAll(cluster.KindIngress)
						r.Settle(10 * time.Minute)
						for _, name := range []string{"a", "b"} {
							if !r.isDeleted(cluster.KindIngress, "shop", name) {
								t.Errorf("Ingress %s is not deleted", name)
							}
						}
						r.deleteObject(cluster.KindGateway, "shop", "edge")
						r.Settle(time.Hour)
						if !r.isDeleted(cluster.KindGateway, "shop", "edge") {
							t.Error("the Gateway is not deleted")
						}
						if d := cmp.Diff(empty, r.State()); d != "" {
							t.Errorf("left after the deletion:\n%s", d)
						}
					})
				})
			}
		}
	}
}

// TestTenantsCannotSetTheAdoptedTag checks that no tenant can set the tag that names the stack to which an adopted
// load balancer is returned.
func TestTenantsCannotSetTheAdoptedTag(t *testing.T) {
	t.Parallel()
	const forged = naming.AdoptedTag + "=ingress.k8s.aws:g"
	for name, doc := range map[string]string{
		"Ingress": strings.NewReplacer("alb.ingress.kubernetes.io/group.name: g", "alb.ingress.kubernetes.io/tags: "+forged).Replace(adoptedMember("evil", "x", "/a", "")),
		"Service": strings.ReplaceAll(nlbService("web", "service.beta.kubernetes.io/aws-load-balancer-additional-resource-tags: "+forged, "{port: 80, targetPort: 8080, nodePort: 30777}"), "namespace: shop", "namespace: evil"),
		"Gateway": strings.Replace(gatewayOf("evil", "edge", "a: b"), "  gatewayClassName", "  infrastructure: {parametersRef: {group: gateway.k8s.aws, kind: LoadBalancerConfiguration, name: c}}\n  gatewayClassName", 1) +
			routeTo("evil", "r", "edge", "/a", "web") + `
apiVersion: gateway.k8s.aws/v1
kind: LoadBalancerConfiguration
metadata: {name: c, namespace: evil}
spec: {tags: {` + naming.AdoptedTag + `: "ingress.k8s.aws:g"}}
---
apiVersion: gateway.k8s.aws/v1
kind: TargetGroupConfiguration
metadata: {name: c, namespace: evil}
spec: {targetReference: {name: web}, defaultConfiguration: {tags: {` + naming.AdoptedTag + `: "ingress.k8s.aws:g"}}}
`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := adoptedShop(t, Options{}, false)
				before := r.State()
				r.Apply(doc)
				r.Settle(time.Hour)
				if left := r.stateWithTag(naming.AdoptedTag); len(left) > 0 {
					t.Errorf("%v", left)
				}
				r.editIngress("a", func(o *networkingv1.Ingress) { o.Annotations["x"] = "y" })
				r.Settle(time.Hour)
				for _, line := range before {
					if !strings.Contains(line, `"nodes"`) && !strings.Contains(strings.Join(r.State(), "\n"), line) {
						t.Errorf("changed: %s", line)
					}
				}
			})
		})
	}
}

// TestAdoptionSurvivesDisabledKind checks that a Gateway keeps its adopted load balancer when its kind is disabled,
// when its class or CRD is deleted, and after restarts.
func TestAdoptionSurvivesDisabledKind(t *testing.T) {
	t.Parallel()
	for _, checkpoints := range []bool{false, true} {
		t.Run(fmt.Sprint(checkpoints), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r, watch := newWatchedAdoption(t, Options{Checkpoints: checkpoints})
				empty := r.State()
				r.Apply(adoptedIngressGroup, adoptingRoutes, gatewayOf("shop", "edge", adoptAnnotation))
				r.Settle(time.Hour)
				r.expectOwner(model.ALBGateway, "adopt")
				watch.setOn(true)
				before := r.State()
				r.Harness.opt.Frontends = map[model.Kind]engine.Frontend{model.ALBGateway: nil}
				r.Start()
				r.Settle(time.Hour)
				r.editIngress("a", func(o *networkingv1.Ingress) { o.Spec.Rules[0].HTTP.Paths[0].Path = "/z" })
				annotateGateway(r.Harness, "shop", "edge", "fulcrum.dev/adopt-")
				r.Settle(time.Hour)
				if d := cmp.Diff(before, r.State()); d != "" {
					t.Errorf("without the kind:\n%s", d)
				}
				annotateGateway(r.Harness, "shop", "edge", "fulcrum.dev/adopt=ingress-group/g")
				r.editIngress("a", func(o *networkingv1.Ingress) { o.Spec.Rules[0].HTTP.Paths[0].Path = "/a" })
				r.Harness.opt.Frontends = nil
				r.deleteObject(cluster.KindGatewayClass, "", "alb")
				r.Start()
				r.Settle(time.Hour)
				if d := cmp.Diff(before, r.State()); d != "" {
					t.Errorf("without the class:\n%s", d)
				}
				r.Apply(gatewayClassALB)
				r.Settle(time.Hour)
				// After a start the checkpoints defer the runs of both stacks, but the changed annotation still causes
				// a run.
				for _, back := range []bool{true, false, true} {
					r.Start()
					r.Settle(3 * time.Second)
					want := model.ALBGateway
					if back {
						want = model.Ingress
						annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run=true")
					} else {
						annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run-")
					}
					r.Settle(5 * time.Minute)
					r.expectOwner(want, fmt.Sprint("after a start, back ", back))
				}
				watch.setOn(false)
				r.deleteAllAndCheck(empty)
			})
		})
	}
}

// TestRejectedTagsDelayAdoption checks that, while AWS refuses calls that change tags, an adoption or a return does
// not interrupt traffic. It completes when the calls are permitted.
func TestRejectedTagsDelayAdoption(t *testing.T) {
	t.Parallel()
	type refusal struct {
		name, operation string
		act             fault.Action
		lasts           time.Duration
		back            bool
	}
	var all []refusal
	for _, operation := range []string{"AddTags", "RemoveTags", "CreateTags", "DeleteTags"} {
		for _, back := range []bool{false, true} {
			all = append(all, refusal{"denied", operation, fault.Action{Deny: true}, time.Hour, back},
				// While AWS throttles, calls are repeated about once a second.
				refusal{"throttled", operation, fault.Action{Throttle: true}, 4 * time.Minute, back})
		}
	}
	for _, x := range seeds.Pairs(all, func(x refusal) []string { return []string{x.name, x.operation, fmt.Sprint(x.back)} }) {
		t.Run(fmt.Sprint(x.name, x.operation, x.back), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				runs, of := 0, map[string]int{}
				r, watch := newWatchedAdoption(t, Options{Checkpoints: true, AfterRun: func(what string, err error) { runs++; of[fmt.Sprint(what, " failed: ", err != nil)]++ }})
				empty := r.State()
				r.Apply(adoptedIngressGroup, adoptingRoutes)
				r.Settle(time.Hour)
				watch.setOn(true)
				if x.back {
					r.Apply(gatewayOf("shop", "edge", adoptAnnotation))
					r.Settle(time.Hour)
				}
				n := 0
				r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
					if c.Operation != x.operation {
						return fault.Action{}
					}
					if n++; x.act.Deny && n%2 == 0 {
						return fault.Action{} // permit every second call
					}
					return x.act
				})
				if x.back {
					annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run=true")
				} else {
					r.Apply(gatewayOf("shop", "edge", adoptAnnotation))
				}
				r.Settle(x.lasts)
				runs = 0
				clear(of)
				r.Settle(x.lasts)
				if runs > 100 && x.act.Deny || runs > 500 {
					t.Errorf("%d runs in %v: %v", runs, x.lasts, of)
				}
				r.Start()
				r.Settle(x.lasts)
				r.Emulator.Faults().SetHook(nil)
				r.Settle(time.Hour)
				r.expectOwner(map[bool]model.Kind{false: model.ALBGateway, true: model.Ingress}[x.back], "in the end")
				watch.setOn(false)
				r.deleteAllAndCheck(empty)
			})
		})
	}
}

// TestMembersCanLeaveAdoptedIngressGroup checks that a member that changes to another class or to another IngressGroup loses
// its finalizer while a Gateway owns the load balancer.
func TestMembersCanLeaveAdoptedIngressGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, watch := newWatchedAdoption(t, Options{})
		empty := r.State()
		r.Apply(adoptedIngressGroup, adoptingRoutes, gatewayOf("shop", "edge", adoptAnnotation))
		r.Settle(time.Hour)
		watch.setOn(true)
		other := "other"
		r.editIngress("a", func(o *networkingv1.Ingress) { o.Spec.IngressClassName = &other })
		r.Apply("apiVersion: networking.k8s.io/v1\nkind: IngressClass\nmetadata: {name: other}\nspec: {controller: example.com/other}\n")
		r.Settle(time.Hour)
		r.editIngress("b", func(o *networkingv1.Ingress) { o.Annotations["alb.ingress.kubernetes.io/group.name"] = "h" })
		r.Settle(time.Hour)
		for _, name := range []string{"a", "b"} {
			obj, _ := r.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: name})
			if f := fmt.Sprint(obj.GetFinalizers()); strings.Contains(f, "aws/g") {
				t.Errorf("Ingress %s has %s", name, f)
			}
		}
		watch.setOn(false)
		r.deleteAllAndCheck(empty)
	})
}

// TestGatewayCanAdoptAnotherIngressGroup checks that a Gateway can change from one IngressGroup to another. The first
// IngressGroup gets its load balancer back, and the Gateway adopts the load balancer of the second one.
func TestGatewayCanAdoptAnotherIngressGroup(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAdoptionHarness(t, Options{})
		empty := r.State()
		r.Apply(adoptedIngressGroup, strings.NewReplacer("name: a\n", "name: c\n", "name: b\n", "name: d\n", "group.name: g", "group.name: h").Replace(adoptedIngressGroup), adoptingRoutes)
		r.Settle(time.Hour)
		before, arns := r.State(), r.arns()
		r.Apply(gatewayOf("shop", "edge", adoptAnnotation))
		for n := range 8 {
			r.Settle([]time.Duration{time.Hour, 4 * time.Second, time.Hour, 2 * time.Second}[n%4])
			annotateGateway(r.Harness, "shop", "edge", "fulcrum.dev/adopt=ingress-group/"+[]string{"h", "g"}[n%2])
		}
		r.Settle(time.Hour)
		if d := cmp.Diff(arns, r.arns()); d != "" || r.servicesOfPath("/a") != "web" {
			t.Errorf("the load balancers or their answers changed: %s", d)
		}
		obj, _ := r.Store.Get(cluster.Ref{Kind: cluster.KindGateway, Namespace: "shop", Name: "edge"})
		if len(obj.(*gwv1.Gateway).Status.Addresses) != 1 {
			t.Errorf("%v\n%s", obj.(*gwv1.Gateway).Status, r.eventTexts())
		}
		r.deleteAll(cluster.KindGateway)
		r.Settle(time.Hour)
		if d := cmp.Diff(before, r.State()); d != "" {
			t.Errorf("not as before:\n%s", d)
		}
		r.deleteAll(cluster.KindIngress)
		r.Settle(time.Hour)
		r.expectNothingLeft(empty)
	})
}
