package dataplane

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// checkedTargetGroup returns a target group with health checks every 10 ms.
func checkedTargetGroup(arn string, backends ...*backend) TargetGroup {
	g := targetGroupOf(arn, backends...)
	g.HealthCheck = HealthCheck{
		Path: "/healthz", Matcher: "200-299", Interval: 10 * time.Millisecond, Timeout: conditionTimeout,
		HealthyThreshold: 3, UnhealthyThreshold: 2,
	}
	for i := range g.Targets {
		g.Targets[i].State = StateInitial
	}
	return g
}

// answerHealthChecks makes a backend answer health checks with the current value of status. seen counts the health checks.
func answerHealthChecks(status *atomic.Int64, seen *atomic.Int64) func(*backend) {
	return func(b *backend) {
		b.handle = func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/healthz" {
				seen.Add(1)
				w.WriteHeader(int(status.Load()))
				return
			}
			b.echo(w, r)
		}
	}
}

func TestUnhealthyTargetsGetNoTraffic(t *testing.T) {
	var okStatus, status, okSeen, seen atomic.Int64
	okStatus.Store(200)
	status.Store(204)
	good, bad := startBackend(t, "good", answerHealthChecks(&okStatus, &okSeen)), startBackend(t, "bad", answerHealthChecks(&status, &seen))
	var got healthResults
	p := startPlane(t, func(o *Options) { o.ReportHealth = got.add })
	cfg := albConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, checkedTargetGroup("g", good, bad))
	apply(t, p, cfg)

	eventually(t, "both healthy", func() bool { return len(got.list()) == 2 })
	for _, r := range got.list() {
		if r.State != StateHealthy || r.Reason != "" {
			t.Errorf("want healthy, got %+v", r)
		}
	}
	status.Store(500)
	eventually(t, "unhealthy", func() bool { return len(got.list()) == 3 })
	want := HealthResult{
		TargetGroup: "g", ID: "127.0.0.1", Port: bad.addr.Port(), State: StateUnhealthy,
		Reason: "Target.ResponseCodeMismatch", Description: "Health checks failed with these codes: [500]",
	}
	if diff := cmp.Diff(want, got.list()[2]); diff != "" {
		t.Errorf("verdict (-want +got):\n%s", diff)
	}
	for range 6 {
		if name := get(t, p, "x.org", "/").parseEcho(t).Name; name != "good" {
			t.Errorf("request went to the unhealthy target %s", name)
		}
	}

	before := seen.Load()
	status.Store(200)
	eventually(t, "healthy again", func() bool { return len(got.list()) == 4 })
	if n := seen.Load() - before; n < 3 {
		t.Errorf("healthy again after %d good checks, threshold is 3", n)
	}
	names := map[string]int{}
	for range 4 {
		names[get(t, p, "x.org", "/").parseEcho(t).Name]++
	}
	if diff := cmp.Diff(map[string]int{"good": 2, "bad": 2}, names); diff != "" {
		t.Errorf("round robin (-want +got):\n%s", diff)
	}
}

func TestAllUnhealthyFailsOpen(t *testing.T) {
	var status, seen atomic.Int64
	status.Store(404)
	b := startBackend(t, "b", answerHealthChecks(&status, &seen))
	var got healthResults
	p := startPlane(t, func(o *Options) { o.ReportHealth = got.add })
	apply(t, p, albConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, checkedTargetGroup("g", b)))
	eventually(t, "unhealthy", func() bool { return len(got.list()) == 1 })
	if r := get(t, p, "x.org", "/"); r.StatusCode != 200 {
		t.Errorf("want the target to be tried, got %d", r.StatusCode)
	}
}

func TestInitialTargetsGetNoTraffic(t *testing.T) {
	hold := make(chan struct{})
	b := startBackend(t, "b", func(b *backend) {
		b.handle = func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/healthz" {
				<-hold
				return
			}
			b.echo(w, r)
		}
	})
	var got healthResults
	p := startPlane(t, func(o *Options) { o.ReportHealth = got.add })
	apply(t, p, albConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, checkedTargetGroup("g", b)))
	if r := get(t, p, "x.org", "/"); r.StatusCode != 503 {
		t.Errorf("before the first verdict: want 503, got %d", r.StatusCode)
	}
	close(hold)
	eventually(t, "healthy", func() bool { return len(got.list()) > 0 && get(t, p, "x.org", "/").StatusCode == 200 })
}

func TestHealthCheckFailuresHaveReasons(t *testing.T) {
	refused := startBackend(t, "refused")
	_ = refused.srv.Close()
	hold := make(chan struct{})
	defer close(hold)
	silent := startBackend(t, "silent", func(b *backend) {
		b.handle = func(_ http.ResponseWriter, r *http.Request) {
			select {
			case <-hold:
			case <-r.Context().Done():
			}
		}
	})
	var got healthResults
	p := startPlane(t, func(o *Options) { o.ReportHealth = got.add })
	g, h := checkedTargetGroup("g", refused), checkedTargetGroup("h", silent)
	h.HealthCheck.Timeout = brief
	apply(t, p, albConfig(Listener{DefaultRule: Rule{Action: forwardTo("g", "h")}}, g, h))
	eventually(t, "two verdicts", func() bool { return len(got.list()) == 2 })
	reasons := map[uint16]string{}
	for _, r := range got.list() {
		reasons[r.Port] = r.Reason + ": " + r.Description
	}
	want := map[uint16]string{
		refused.addr.Port(): "Target.FailedHealthChecks: Health checks failed",
		silent.addr.Port():  "Target.Timeout: Request timed out",
	}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Errorf("reasons (-want +got):\n%s", diff)
	}
}

func TestUnreferencedTargetGroupsAreNotChecked(t *testing.T) {
	var status, seen atomic.Int64
	status.Store(200)
	b := startBackend(t, "b", answerHealthChecks(&status, &seen))
	var got healthResults
	p := startPlane(t, func(o *Options) { o.ReportHealth = got.add })
	cfg := albConfig(Listener{DefaultRule: Rule{Action: FixedResponse{Status: 404}}}, checkedTargetGroup("g", b))
	apply(t, p, cfg)
	if p.targetGroups["g"].view.Load().members[0].stop != nil {
		t.Error("a target group without a rule is checked")
	}
	cfg.LoadBalancers[0].Listeners[0].DefaultRule = Rule{Action: forwardTo("g")}
	apply(t, p, cfg)
	eventually(t, "verdict after attachment", func() bool { return len(got.list()) == 1 })
}

func TestNewEpochResetsHealth(t *testing.T) {
	var status, seen atomic.Int64
	status.Store(200)
	b := startBackend(t, "b", answerHealthChecks(&status, &seen))
	var got healthResults
	p := startPlane(t, func(o *Options) { o.ReportHealth = got.add })
	cfg := albConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, checkedTargetGroup("g", b))
	apply(t, p, cfg)
	eventually(t, "first verdict", func() bool { return len(got.list()) == 1 })
	apply(t, p, cfg)
	cfg.TargetGroups[0].Targets[0].Epoch = "2"
	apply(t, p, cfg)
	eventually(t, "second verdict", func() bool { return len(got.list()) == 2 })
	if e := got.list()[1].Epoch; e != "2" {
		t.Errorf("epoch %q", e)
	}
}

func TestFrequentChangesDoNotStopChecks(t *testing.T) {
	var status, seen atomic.Int64
	status.Store(200)
	b := startBackend(t, "b", answerHealthChecks(&status, &seen))
	p := startPlane(t)
	g := checkedTargetGroup("g", b)
	g.HealthCheck = HealthCheck{Path: "/healthz", Interval: 40 * time.Millisecond} // defaults apply to the other settings
	cfg := albConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, g)
	eventually(t, "four checks", func() bool {
		apply(t, p, cfg)
		return seen.Load() >= 4
	})
}

func TestNewIntervalTakesEffectAtOnce(t *testing.T) {
	var status, seen atomic.Int64
	status.Store(200)
	b := startBackend(t, "b", answerHealthChecks(&status, &seen))
	p := startPlane(t)
	cfg := albConfig(Listener{DefaultRule: Rule{Action: forwardTo("g")}}, checkedTargetGroup("g", b))
	cfg.TargetGroups[0].HealthCheck.Interval = time.Hour
	apply(t, p, cfg)
	eventually(t, "first check", func() bool { return seen.Load() == 1 })
	cfg.TargetGroups[0].HealthCheck.Interval = 10 * time.Millisecond
	apply(t, p, cfg)
	eventually(t, "more checks", func() bool { return seen.Load() >= 3 })
}

func TestCodeMatcher(t *testing.T) {
	for _, c := range []struct {
		text string
		code int
		want bool
	}{
		{"200", 200, true}, {"200", 201, false}, {"200,202", 202, true}, {"200-299", 250, true}, {"200-299,404", 404, true}, {"0-99", 12, true},
	} {
		m, err := parseCodeMatcher(c.text)
		if err != nil || m.has(c.code) != c.want {
			t.Errorf("%s has %d: want %v, error %v", c.text, c.code, c.want, err)
		}
	}
	for _, bad := range []string{"", "a", "300-200", "200-"} {
		if _, err := parseCodeMatcher(bad); err == nil {
			t.Errorf("%q should not be accepted", bad)
		}
	}
}
