package harness

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// infraMembers are Ingresses of namespace "shop". They consent to the adoption by Gateway "infra/edge" with
// annotations only.
var infraMembers = adoptedMember("shop", "a", "/a", ", fulcrum.dev/adopted-by: infra/edge") +
	strings.ReplaceAll(adoptedMember("shop", "b", "/b", ", fulcrum.dev/adopted-by: infra/edge"), "name: web,", "name: api,")

var infraRoutes = strings.ReplaceAll(routeTo("infra", "a", "edge", "/a", "web")+routeTo("infra", "b", "edge", "/b", "api"), "port: 80}", "namespace: shop, port: 80}") + `
apiVersion: gateway.networking.k8s.io/v1beta1
kind: ReferenceGrant
metadata: {name: infra, namespace: shop}
spec: {from: [{group: gateway.networking.k8s.io, kind: HTTPRoute, namespace: infra}], to: [{group: "", kind: Service}]}
`

// TestAdoptedLoadBalancerIsReturned checks that the Ingresses get their load balancer back, however the adoption ends,
// and also if they have withdrawn their consent meanwhile.
func TestAdoptedLoadBalancerIsReturned(t *testing.T) {
	t.Parallel()
	annotate := func(a string) func(*adoptionHarness) {
		return func(r *adoptionHarness) { annotateGateway(r.Harness, "infra", "edge", a) }
	}
	for name, c := range map[string]struct {
		act     func(r *adoptionHarness)
		another bool // the Gateway has another load balancer afterwards
	}{
		"annotation off":         {annotate("fulcrum.dev/adopt-"), true},
		"another name":           {annotate("fulcrum.dev/adopt=ingress-group/other"), false},
		"dry-run":                {annotate("gateway.k8s.aws/dry-run=true"), false},
		"the Gateway is deleted": {func(r *adoptionHarness) { r.deleteObject(cluster.KindGateway, "infra", "edge") }, false},
	} {
		for _, withdrawn := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, withdrawn %t", name, withdrawn), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					r, watch := newWatchedAdoption(t, Options{})
					r.Apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: infra}\n", infraMembers, infraRoutes)
					r.Settle(time.Hour)
					before, arn := r.State(), r.arns()[0]
					watch.setOn(true)
					r.Apply(gatewayOf("infra", "edge", adoptAnnotation))
					r.Settle(time.Hour)
					r.expectOwner(model.ALBGateway, "adopt")
					if withdrawn {
						for _, name := range []string{"a", "b"} {
							r.editIngress(name, func(o *networkingv1.Ingress) { delete(o.Annotations, naming.AdoptedByAnnotation) })
						}
						r.Settle(time.Hour)
						r.expectOwner(model.ALBGateway, "consent is withdrawn")
					}
					watch.setOn(!c.another)
					c.act(r)
					r.Settle(time.Hour)
					w := r.Emulator.Store()
					w.Lock()
					tags := w.Partition(Account, Region).ELB.LoadBalancers[arn].Tags
					w.Unlock()
					if !naming.HasStackTags(model.StackID{Kind: model.Ingress, Name: "g"}, tags) {
						t.Errorf("the load balancer is not returned: %v\n%s", tags, r.eventTexts())
					}
					if c.another {
						return
					}
					r.expectOwner(model.Ingress, "back")
					if d := cmp.Diff(before, r.State()); d != "" {
						t.Errorf("not as before:\n%s", d)
					}
				})
			})
		}
	}
}

// TestUnfinishedAdoptionTagsNoOtherIngressGroup checks that a Gateway cannot tag the resources of another tenant's
// IngressGroup as adopted. The Gateway begins to adopt an IngressGroup of its tenant, and is then changed to name the
// IngressGroup of the other tenant. The members of that IngressGroup can still be edited.
func TestUnfinishedAdoptionTagsNoOtherIngressGroup(t *testing.T) {
	t.Parallel()
	group := strings.NewReplacer("group.name: g", "group.name: mine").Replace(adoptedMember("evil", "m", "/m", ", fulcrum.dev/adopted-by: evil/edge"))
	total := 0
	run := func(t *testing.T, at int) {
		synctest.Test(t, func(t *testing.T) {
			r := adoptedShop(t, Options{}, false)
			r.Apply(group, routeTo("evil", "m", "edge", "/m", "web"))
			r.Settle(time.Hour)
			calls := 0
			r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
				if c.Mutating {
					if calls++; calls == at {
						r.Kill()
					}
				}
				return fault.Action{}
			})
			r.Apply(gatewayOf("evil", "edge", "fulcrum.dev/adopt: ingress-group/mine"))
			r.Settle(time.Hour)
			if at == 0 {
				total = calls
				return
			}
			r.Emulator.Faults().SetHook(nil)
			r.deleteObject(cluster.KindIngress, "evil", "m")
			annotateGateway(r.Harness, "evil", "edge", "fulcrum.dev/adopt=ingress-group/g")
			r.Start()
			for n := range 20 {
				r.Settle(time.Duration(n) * time.Second)
				if left := r.stateWithTag(naming.AdoptedTagValue(model.StackID{Kind: model.Ingress, Name: "g"})); len(left) > 0 {
					t.Fatalf("after call %d of %d: tagged as adopted from IngressGroup g: %v", at, total, left)
				}
			}
			r.editIngress("a", func(o *networkingv1.Ingress) { o.Spec.Rules[0].HTTP.Paths[0].Path = "/z" })
			r.Settle(time.Minute)
			if got := r.servicesOfPath("/z"); got != "web" {
				t.Errorf("after call %d of %d: /z is answered by %q\n%s", at, total, got, r.eventTexts())
			}
		})
	}
	run(t, 0)
	if total < 6 {
		t.Fatalf("%d calls", total)
	}
	for at := 1; at <= total; at += seeds.Step(4) {
		t.Run(fmt.Sprint(at), func(t *testing.T) { run(t, at) })
	}
}

// TestAdoptionNeedsFreeTags checks that a load balancer with four free tags can be adopted and returned, and that with
// three free tags the adoption is refused before anything is changed.
func TestAdoptionNeedsFreeTags(t *testing.T) {
	t.Parallel()
	for _, free := range []int{4, 3} {
		t.Run(fmt.Sprint(free), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r, watch := newWatchedAdoption(t, Options{})
				var tags []string
				for i := range naming.MaxTags - 3 - free { // the controller sets three tags
					tags = append(tags, fmt.Sprintf("t%d=x", i))
				}
				r.Apply(strings.ReplaceAll(adoptedIngressGroup, consentToEdge, consentToEdge+fmt.Sprintf(", alb.ingress.kubernetes.io/tags: %q", strings.Join(tags, ","))), adoptingRoutes)
				r.Settle(time.Hour)
				before := r.State()
				watch.setOn(true)
				r.Emulator.Calls().Reset()
				r.Apply(gatewayOf("shop", "edge", adoptAnnotation))
				r.Settle(time.Hour)
				if free == 3 {
					if n := r.Emulator.Calls().CountMutating(); n > 0 || !strings.Contains(r.eventTexts(), "it needs 1 more than the 50 that AWS allows; remove tags") {
						t.Errorf("%d changes\n%s", n, r.eventTexts())
					}
					return
				}
				r.expectOwner(model.ALBGateway, "adopt")
				annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run=true")
				r.Settle(time.Hour)
				r.expectOwner(model.Ingress, "back")
				if d := cmp.Diff(before, r.State()); d != "" {
					t.Errorf("not as before:\n%s", d)
				}
			})
		})
	}
}
