package harness

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
)

func TestTmp(t *testing.T) {
	for name, act := range map[string]fault.Action{"denied": {Deny: true}, "throttled": {Throttle: true}} {
		for _, plain := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				n, of, ops := 0, map[string]int{}, map[string]int{}
				r := adoptHarness(t, Options{Checkpoints: true, Ran: func(what string, err error) { k := fmt.Sprint(what, err); of[k]++; x := of[k]; if x > 100 { t.Log(time.Now(), what, n, ops) }; if x > 105 { t.FailNow() } }})
				r.Apply(adoptedGroup, adoptingRoutes)
				r.Settle(time.Hour)


				r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
					ops[c.Operation]++
					if c.Operation != "AddTags" {
						return fault.Action{}
					}
					if n++; name == "denied" && n%2 == 0 {
						return fault.Action{} // one resource of two
					}
					return act
				})
				if plain {
					r.edit("a", func(o *networkingv1.Ingress) { o.Annotations["alb.ingress.kubernetes.io/tags"] = "a=b" })
				} else {
					r.Apply(gatewayOf("shop", "edge", adoptsGroup))
				}
				clear(of)
				clear(ops)
				r.Settle(5 * time.Minute)
				t.Log(name, plain, of, ops)
				if name == "denied" && !plain {
					for _, l := range r.carrying("stack") {
						t.Log(l[:20], l[max(0, len(l)-300):])
					}
					t.Log(r.warnings())
				}
			})
		}
	}
}
