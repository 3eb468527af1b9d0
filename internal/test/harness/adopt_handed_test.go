package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// TestIngressesOfAdoptedLoadBalancerAreNotPlanned checks that edits of Ingresses have no effect while a Gateway owns
// their load balancer: nothing is planned for the Ingresses except finalizers, and no mutating call is made.
func TestIngressesOfAdoptedLoadBalancerAreNotPlanned(t *testing.T) {
	t.Parallel()
	edit := func(from, to string) func(*adoptionHarness) {
		return func(r *adoptionHarness) { r.Apply(strings.Replace(adoptedIngressGroup, from, to, 1)) }
	}
	const groupName = "alb.ingress.kubernetes.io/group.name: g"
	for name, act := range map[string]func(r *adoptionHarness){
		"nothing":                    func(*adoptionHarness) {},
		"a path":                     edit("path: /b", "path: /c"),
		"a backend":                  edit("name: api, port", "name: web, port"),
		"a port":                     edit(groupName, groupName+`, alb.ingress.kubernetes.io/listen-ports: '[{"HTTP": 80}, {"HTTP": 8080}]'`),
		"tags":                       edit(groupName, groupName+", alb.ingress.kubernetes.io/tags: Owner=shop"),
		"scheme":                     edit(groupName, groupName+", alb.ingress.kubernetes.io/scheme: internet-facing"),
		"name":                       edit(groupName, groupName+", alb.ingress.kubernetes.io/load-balancer-name: other"),
		"client ranges":              edit(groupName, groupName+", alb.ingress.kubernetes.io/inbound-cidrs: 10.0.0.0/8"),
		"a security group of others": edit(groupName, groupName+", alb.ingress.kubernetes.io/security-groups: nodes"),
		"another member":             func(r *adoptionHarness) { r.Apply(adoptedMember("evil", "x", "/x", consentToEdge)) },
		"a restart":                  func(r *adoptionHarness) { r.Kill(); r.Start() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var planned []string
				r := adoptedShop(t, Options{OnPlan: func(d engine.Draft) {
					for _, s := range d.Plan.Steps {
						if d.Stack.ID.Kind == model.Ingress && s.Address.Kind != plan.Finalizer {
							planned = append(planned, string(s.Verb)+" "+s.Address.String())
						}
					}
				}}, true)
				before := r.State()
				planned = nil
				r.Emulator.Calls().Reset()
				act(r)
				r.Settle(3 * time.Hour)
				if len(planned) > 0 {
					t.Errorf("%d steps are planned for the Ingresses, the first one is %s", len(planned), planned[0])
				}
				if n := r.Emulator.Calls().CountMutating(); n > 0 {
					t.Errorf("%d changes: %v", n, r.Emulator.Calls().Counts())
				}
				if d := cmp.Diff(before, r.State()); d != "" {
					t.Errorf("AWS is changed (-before +after):\n%s", d)
				}
			})
		})
	}
}

// TestSecondGatewayCannotInterruptAdoption checks that a second Gateway gets no part of the load balancer while a
// denied call interrupts the adoption by the first Gateway, nor after the call is permitted.
func TestSecondGatewayCannotInterruptAdoption(t *testing.T) {
	t.Parallel()
	for _, denied := range []string{"RemoveTags", "DeleteTags", "ModifyRule", "CreateRule", "SetRulePriorities"} {
		t.Run(denied, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := adoptedShop(t, Options{}, false)
				r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action { return fault.Action{Deny: c.Operation == denied} })
				r.Apply(gatewayOf("shop", "edge", adoptAnnotation))
				r.Settle(time.Hour)
				r.Apply(gatewayOf("shop", "other", adoptAnnotation), routeTo("shop", "oa", "other", "/a", "web"), routeTo("shop", "ob", "other", "/b", "api"))
				for _, step := range []string{"denied", "permitted"} {
					r.Settle(3 * time.Hour)
					if of := r.stateWithTag("shop/other"); len(of) > 0 {
						t.Errorf("%s: the second Gateway has %s", step, strings.Join(of, "\n"))
					}
					if a, b := r.servicesOfPath("/a"), r.servicesOfPath("/b"); a != "web" || b != "api" || len(r.arns()) != 1 {
						t.Errorf("%s: /a is answered by %q, /b by %q, load balancers %v", step, a, b, r.arns())
					}
					r.Emulator.Faults().SetHook(nil)
				}
				r.expectOwner(model.ALBGateway, "permitted")
				if !strings.Contains(r.eventTexts(), "Gateway shop/edge has taken it over already") {
					t.Errorf("the second Gateway reports nothing of the first one:\n%s", r.eventTexts())
				}
			})
		})
	}
}
