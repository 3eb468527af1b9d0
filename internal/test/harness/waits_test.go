package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// TestSecurityGroupInUseIsReported checks that the controller tries 100 to 1000 times a day to delete a security group
// in use, and that a Warning event reports why the Ingress is not deleted.
func TestSecurityGroupInUseIsReported(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newShop(t)
		r.Apply(shop, readyPods("web", podAddresses[0]), webIngress("", "/=web"))
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
			t.Errorf("DeleteSecurityGroup was called %d times in a day", tries)
		}
		reported := warningsByObject(r)["web"]
		if len(reported) == 0 || len(reported) > 3 || !strings.Contains(reported[0], "has a dependent object") {
			t.Errorf("reported %q", reported)
		}
		held = false
		r.Settle(10 * time.Minute)
		if obj, _ := r.Store.Get(ref); obj != nil {
			t.Error("the Ingress is not deleted")
		}
	})
}
