package harness

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
)

// A process that dies at a call of a withdrawal leaves the rest to the next one; one that does not hear the answer goes on.
func TestAWithdrawalThatIsInterruptedIsCompleted(t *testing.T) {
	t.Parallel()
	for kind, a := range authorities {
		for edge, withdraw := range a.edges {
			for _, way := range []string{"not held", "class missing"} {
				for _, last := range []fault.Action{{Reset: true}, {Lose: true}} {
					if a.ways[way] == nil {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/%s/lost %t", kind, edge, way, last.Lose), func(t *testing.T) {
						t.Parallel()
						synctest.Test(t, func(t *testing.T) {
							r := a.begin(t)
							a.ways[way](r)
							r.Settle(time.Minute)
							first := true
							r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
								if !c.Mutating || !first {
									return fault.Action{}
								}
								if first = false; last.Reset {
									r.Kill()
								}
								return last
							})
							withdraw(r)
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
		}
	}
}
