package rig

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// A security group that somebody attached elsewhere is in use for ever: it is asked for less and less
// often, and the user is told what keeps the Ingress from going.
func TestWhatStaysInUseIsToldAndNotAskedForWithoutEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, pods("web", podAddresses[0]), ingressOf("", "/=web"))
		r.Settle(10 * time.Minute)
		tries, held := 0, true
		r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
			if c.Operation != "DeleteSecurityGroup" || !held {
				return fault.Action{}
			}
			tries++
			return fault.Action{Error: &store.Error{Code: "DependencyViolation", Message: "resource sg-1 has a dependent object"}}
		})
		ref := cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "web"}
		if err := r.Store.Delete(ref); err != nil {
			t.Fatal(err)
		}
		r.Settle(24 * time.Hour)
		if tries < 100 || tries > 1000 {
			t.Errorf("asked %d times in a day", tries)
		}
		told := warnings(r)["web"]
		if len(told) == 0 || len(told) > 3 || !strings.Contains(told[0], "has a dependent object") {
			t.Errorf("told %q", told)
		}
		held = false
		r.Settle(10 * time.Minute)
		if obj, _ := r.Store.Get(ref); obj != nil {
			t.Error("the Ingress is left")
		}
	})
}
