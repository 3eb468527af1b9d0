package harness

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
)

func TestSlowExperiment(t *testing.T) {
	for _, slow := range []time.Duration{time.Second, 11 * time.Second, 25 * time.Second, 50 * time.Second} {
		t.Run(fmt.Sprint(slow), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{Workers: 3})
				r.Emulator.Faults().SetHook(func(fault.Call) fault.Action { return fault.Action{Latency: slow} })
				r.Apply(shop, pods("web", podAddresses[:3]...), ingressOf("", "/=web"))
				begin := time.Now()
				for time.Since(begin) < 3*time.Hour && (!hasRule(r.State(), "/*") || len(statusNames(r, "web")) == 0) {
					r.during(10*time.Second)
				}
				t.Log("served after", time.Since(begin), r.Emulator.Calls().Counts())
				for _, e := range r.Emulator.Calls().Entries() {
					t.Log(e.Time.Sub(begin), e.Operation, e.Fault, e.Code)
				}
				t.Log(warnings(r))
			})
		})
	}
}
