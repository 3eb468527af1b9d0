package harness

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// TestRevocationIsCompletedAfterAKillOrALostResponse checks that traffic stops after a permission is withdrawn, even
// if the process is killed at the first mutating call or does not receive its response.
func TestRevocationIsCompletedAfterAKillOrALostResponse(t *testing.T) {
	t.Parallel()
	for _, c := range interruptions() {
		t.Run(fmt.Sprintf("%s/lost %t", c.consentCase, c.fault.Lose), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := consentScenarios[c.kind]
				r := a.startServing(t)
				a.holdCauses[c.holdCause](r)
				r.Settle(time.Minute)
				first := true
				r.Emulator.Faults().SetHook(func(call fault.Call) fault.Action {
					if !call.Mutating || !first {
						return fault.Action{}
					}
					if first = false; c.fault.Reset {
						r.Kill()
					}
					return c.fault
				})
				a.withdrawals[c.event](r)
				r.Settle(time.Second)
				if first {
					t.Fatal("the withdrawal causes no mutating call")
				}
				if r.WasKilled() {
					r.Start()
				}
				r.Settle(10 * time.Second)
				if got := a.serving(r); len(got) > 0 {
					t.Errorf("requests get %s", got)
				}
			})
		})
	}
}

// interruption is a consentCase and the fault of the first mutating call after the withdrawal.
type interruption struct {
	consentCase
	fault fault.Action
}

// interruptions returns a selection of cases in which each pair of values of kind, withdrawal, hold cause and fault
// occurs.
func interruptions() []interruption {
	var all []interruption
	for _, kind := range slices.Sorted(maps.Keys(consentScenarios)) {
		for _, edge := range slices.Sorted(maps.Keys(consentScenarios[kind].withdrawals)) {
			for _, way := range []string{"not held", "class missing"} {
				if consentScenarios[kind].holdCauses[way] == nil {
					continue
				}
				for _, last := range []fault.Action{{Reset: true}, {Lose: true}} {
					all = append(all, interruption{consentCase{kind, edge, way}, last})
				}
			}
		}
	}
	return seeds.Pairs(all, func(c interruption) []string { return append(c.values(), fmt.Sprint(c.fault.Lose)) })
}
