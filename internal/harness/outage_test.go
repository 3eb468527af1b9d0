package harness

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// outages are the ways in which AWS does not answer.
var outages = map[string]fault.Action{
	"refused": {Reset: true},
	"hangs":   {Hang: true},
	"fails":   {Error: store.Errorf(store.Own, "ServiceUnavailable", "unavailable").WithStatus(503)},
}

// silences are the events on an object about AWS that does not answer.
func silences(r *Harness, object string) (out []string) {
	for _, text := range warnings(r)[object] {
		if strings.Contains(text, "AWS has not answered since ") {
			out = append(out, text)
		}
	}
	return out
}

// An object that is edited during an outage has one event about it within 15 s, and takes effect when the outage is over.
func TestAnOutageIsReportedOnAnEditedObjectWithin15Seconds(t *testing.T) {
	t.Parallel()
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				r := shopWith(t, Options{Workers: 3})
				r.Apply(shop, pods("web", podAddresses[:3]...), ingressOf("", "/=web"))
				r.untilServed(5 * time.Minute)
				r.during(10 * time.Minute)
				r.Emulator.Faults().SetHook(func(fault.Call) fault.Action { return outage })
				since := time.Now().UTC().Format(time.DateTime)
				r.Apply(ingressOf("", "/=web", "/new=web"))
				r.during(15 * time.Second)
				got := silences(r, "web")
				if len(got) != 1 || !strings.Contains(got[0], "since "+since[:len(since)-1]) || !strings.Contains(got[0], "what is live stays as it is") {
					t.Errorf("after 15 s: events %q, all %q, outage since %s", got, warnings(r), since)
				}
				r.during(5 * time.Minute)
				if got := silences(r, "web"); len(got) != 1 {
					t.Errorf("after 5 min: events %q", got)
				}
				r.Emulator.Faults().SetHook(nil)
				for begun := time.Now(); !hasRule(r.State(), "/new"); {
					if r.during(5 * time.Second); time.Since(begun) > 6*time.Minute {
						t.Fatal("the edit has not taken effect after the outage")
					}
				}
			})
		})
	}
}
