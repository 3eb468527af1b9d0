package harness

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/ec2"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// TestRefusedRulesOfNodesHaveBackOff checks that a change of the rules of the security group of nodes that AWS refuses is
// repeated with back-off, regardless of the number of bindings, and that the rules exist six minutes after AWS accepts them.
func TestRefusedRulesOfNodesHaveBackOff(t *testing.T) {
	t.Parallel()
	// If the quota is reached, an attempt consists of three calls.
	for code, most := range map[string]int{"RulesPerSecurityGroupLimitExceeded": 3 * 13, "UnauthorizedOperation": 13, "InternalError": 13} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := newShop(t)
				calls, refused := 0, true
				r.Emulator.Faults().SetHook(func(c fault.Call) (a fault.Action) {
					in, ok := c.Input.(*ec2.AuthorizeSecurityGroupIngressInput)
					if !ok || aws.ToString(in.GroupId) != r.Seeded.NodeSG {
						return a
					}
					calls++
					if refused {
						a.Error = &store.Error{Code: code, Status: 400, Message: "no"}
					}
					return a
				})
				r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...), webIngress("", "/=web", "/api=api"))
				r.Settle(30 * time.Minute)
				before := calls
				r.Settle(time.Hour)
				if n := calls - before; n == 0 || n > most {
					t.Errorf("%d calls in an hour, want 1 to %d", n, most)
				}
				for _, b := range bindingsOf(r, "shop") {
					if len(warningsByObject(r)[b.Name]) == 0 {
						t.Errorf("no warning about %s", b.Name)
					}
				}
				refused = false
				before = calls
				r.Settle(6 * time.Minute)
				if calls != before+1 {
					t.Errorf("%d calls within six minutes after AWS accepts the rules, want 1", calls-before)
				}
			})
		})
	}
}
