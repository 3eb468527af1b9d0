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

// TestRevocationIsCompletedAfterAKillOrALostResponse checks that a revocation is completed: by the next process if
// the process is killed at the first mutating call, or by the same process if the response is lost.
func TestRevocationIsCompletedAfterAKillOrALostResponse(t *testing.T) {
	t.Parallel()
	for _, c := range interruptions() {
		t.Run(fmt.Sprintf("%s/lost %t", c.authorityCase, c.last.Lose), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := authorities[c.kind]
				r := a.begin(t)
				a.ways[c.way](r)
				r.Settle(time.Minute)
				first := true
				r.Emulator.Faults().SetHook(func(call fault.Call) fault.Action {
					if !call.Mutating || !first {
						return fault.Action{}
					}
					if first = false; c.last.Reset {
						r.Kill()
					}
					return c.last
				})
				a.edges[c.edge](r)
				r.Settle(time.Second)
				if first {
					t.Fatal("nothing was called")
				}
				if r.Dead() {
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

// interruption is an authorityCase with the fault of the first mutating call of a withdrawal.
type interruption struct {
	authorityCase
	last fault.Action
}

// interruptions returns a selection in which each two values of kind, edge, way and fault occur together, as
// authorityCases does.
func interruptions() []interruption {
	var all []interruption
	for _, kind := range slices.Sorted(maps.Keys(authorities)) {
		for _, edge := range slices.Sorted(maps.Keys(authorities[kind].edges)) {
			for _, way := range []string{"not held", "class missing"} {
				if authorities[kind].ways[way] == nil {
					continue
				}
				for _, last := range []fault.Action{{Reset: true}, {Lose: true}} {
					all = append(all, interruption{authorityCase{kind, edge, way}, last})
				}
			}
		}
	}
	return seeds.Pairs(all, func(c interruption) []string { return append(c.values(), fmt.Sprint(c.last.Lose)) })
}
