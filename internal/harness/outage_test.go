package harness

import (
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// outages are ways in which AWS is out of reach.
var outages = map[string]fault.Action{
	"connections are refused": {Reset: true},
	"no call is answered":     {Hang: true},
}

// failing is an AWS that fails itself.
var failing = fault.Action{Error: store.Errorf(store.Own, "ServiceUnavailable", "unavailable").WithStatus(503)}

// whileAway is what users do while AWS is out of reach: an Ingress is made, one edited, one deleted, and
// pods are replaced.
func whileAway(r *Harness) {
	named := func(name string, paths ...string) string {
		return strings.Replace(ingressOf("", paths...), "name: web\n", "name: "+name+"\n", 1)
	}
	r.Apply(named("made", "/made=web"))
	r.during(time.Minute)
	r.Apply(everything(r, "/=web", "/edited=api"))
	if err := r.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: "shop", Name: "gone"}); err != nil {
		r.T.Fatal(err)
	}
	r.during(time.Minute)
	r.Apply(pods("web", podAddresses[1:4]...), pods("api", podAddresses[4:6]...))
	r.during(3 * time.Minute)
}

func beforeOutage(t *testing.T) *Harness {
	r := driftShop(t, Options{Workers: 3, Checkpoints: true, Drift: true})
	r.Apply(strings.Replace(ingressOf("", "/gone=api"), "name: web\n", "name: gone\n", 1))
	r.during(5 * time.Minute)
	return r
}

// AWS is out of reach for five minutes in which users go on. Nothing is lost.
func TestNothingIsLostWhileAWSIsOutOfReach(t *testing.T) {
	t.Parallel()
	var want []string
	synctest.Test(t, func(t *testing.T) {
		r := beforeOutage(t)
		whileAway(r)
		r.during(20 * time.Minute)
		want = r.State()
	})
	for name, outage := range outages {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := beforeOutage(t)
				var away atomic.Bool
				r.Emulator.Faults().SetHook(func(fault.Call) fault.Action {
					if away.Load() {
						return outage
					}
					return fault.Action{}
				})
				away.Store(true)
				whileAway(r)
				away.Store(false)
				back := time.Now()
				for !cmp.Equal(want, r.State()) && time.Since(back) < 30*time.Minute {
					r.during(time.Second)
				}
				if diff := cmp.Diff(want, r.State()); diff != "" {
					t.Errorf("-want +got:\n%s", diff)
				}
				t.Logf("BENCH AWS out of reach for 5 minutes (%s): all is as desired %s after it is back", name, time.Since(back))
				if reported := driftEvents(r, "DriftRepaired"); len(reported) > 0 {
					t.Errorf("drift without a change by others: %q", reported)
				}
			})
		})
	}
}

// While AWS is out of reach, the event on an edited object says so in plain words, once however often it is tried, and names
// nothing that its owner could mend.
func TestEventSaysThatAWSDoesNotAnswer(t *testing.T) {
	t.Parallel()
	ways := maps.Clone(outages)
	ways["each call fails"] = failing
	for name, outage := range ways {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := beforeOutage(t)
				r.Emulator.Faults().SetHook(func(fault.Call) fault.Action { return outage })
				since := "since " + time.Now().UTC().Format(time.DateTime) + " UTC"
				r.Apply(everything(r, "/=web", "/edited=api"))
				r.during(5 * time.Minute)
				texts := map[string]bool{}
				for _, text := range driftEvents(r, "FailedDeployModel") {
					if strings.HasPrefix(text, "Ingress ") {
						texts[text] = true
					}
				}
				if len(texts) != 1 {
					t.Errorf("%d texts: %v", len(texts), texts)
				}
				for text := range texts {
					if !strings.Contains(text, "AWS has not answered "+since) || !strings.Contains(text, "what is live stays as it is") || strings.Contains(text, "operation error") {
						t.Error(text)
					}
				}
			})
		})
	}
}
