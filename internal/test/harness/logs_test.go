package harness

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
)

// jsonLog collects the log of a controller as JSON lines.
type jsonLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *jsonLog) logger() logr.Logger {
	return funcr.NewJSON(func(line string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.lines = append(l.lines, line)
	}, funcr.Options{})
}

// takeLines returns the lines since the last call of takeLines.
func (l *jsonLog) takeLines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	out := l.lines
	l.lines = nil
	return out
}

// linesWith returns the lines that contain all of the texts.
func linesWith(lines []string, texts ...string) (out []string) {
	for _, line := range lines {
		all := true
		for _, t := range texts {
			all = all && strings.Contains(line, t)
		}
		if all {
			out = append(out, line)
		}
	}
	return out
}

// errorLines returns the lines of level error. These have no level number.
func errorLines(lines []string) (out []string) {
	for _, l := range lines {
		if !strings.Contains(l, `"level":`) {
			out = append(out, l)
		}
	}
	return out
}

// newShopWithWorkers returns a harness whose controller has workers, with Services "web" and "api" and their pods, and its
// log. It replaces opt.Workers and opt.Log.
func newShopWithWorkers(t *testing.T, opt Options) (*Harness, *jsonLog) {
	log := &jsonLog{}
	opt.Workers, opt.Log = 2, log.logger()
	r := shopWith(t, opt)
	r.Apply(shop, readyPods("web", podAddresses[:3]...), readyPods("api", podAddresses[3:]...))
	return r, log
}

// TestEachFaultIsLoggedOnce checks that a change that AWS rejects is logged as one error of the step and one error of
// the finding, even if the step is repeated for hours. "applied plan" is logged only if AWS matches the objects.
func TestEachFaultIsLoggedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, log := newShopWithWorkers(t, Options{})
		r.Apply(webIngress("", "/=web"))
		time.Sleep(10 * time.Minute)
		lines := log.takeLines()
		if got := errorLines(lines); len(got) > 0 {
			t.Errorf("errors without a fault: %v", got)
		}
		if got := linesWith(lines, "applied plan", `"stack":"shop/web"`); len(got) == 0 {
			t.Errorf("no line of success: %v", lines)
		}
		for _, path := range []string{"healthz", "other"} {
			r.Apply(webIngress(ingressAnnotations("healthcheck-path", path), "/=web"))
			time.Sleep(3 * time.Hour)
			lines = log.takeLines()
			if got := linesWith(errorLines(lines), `"stack":"shop/web"`, "failed to update target group health check", "Ingress shop/web"); len(got) != 1 {
				t.Errorf("%d errors of the step in %v", len(got), lines)
			}
			if got := linesWith(errorLines(lines), `"stack":"shop/web"`, "reported fault", "RejectedByAWS", path); len(got) != 1 {
				t.Errorf("%d errors of the finding in %v", len(got), lines)
			}
			if got := errorLines(lines); len(got) != 2 {
				t.Errorf("%d errors in all: %v", len(got), got)
			}
			if got := linesWith(lines, "applied plan"); len(got) > 0 {
				t.Errorf("success is logged while a change is held: %v", got)
			}
		}
		r.Apply(webIngress(ingressAnnotations("healthcheck-path", "/healthz"), "/=web"))
		time.Sleep(10 * time.Minute)
		lines = log.takeLines()
		if len(linesWith(lines, "applied plan")) == 0 || len(errorLines(lines)) > 0 {
			t.Errorf("after the correction: %v", lines)
		}
	})
}

// TestRepeatedlyFailedRunIsLoggedOnce checks that a stack whose runs all fail is logged as one error in two hours.
func TestRepeatedlyFailedRunIsLoggedOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, log := newShopWithWorkers(t, Options{})
		r.Emulator.Faults().Add(fault.Rule{Service: "elasticloadbalancing", Operation: "DescribeLoadBalancers", Action: fault.Action{Error: &store.Error{Code: "AccessDenied", Message: "not for you", Status: 403}}})
		r.Apply(webIngress("", "/=web"))
		time.Sleep(2 * time.Hour)
		lines := log.takeLines()
		if got := linesWith(errorLines(lines), "Reconciler error", `"stack":"shop/web"`); len(got) != 1 {
			t.Errorf("%d errors of the run in %v", len(got), lines)
		}
		if got := errorLines(lines); len(got) > 3 {
			t.Errorf("%d errors: %v", len(got), got)
		}
	})
}

// TestControllerRateLimitIsNotLoggedAsError checks that nothing is logged as an error if calls wait for the rate limiter of
// the controller.
func TestControllerRateLimitIsNotLoggedAsError(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		limits, err := ratelimit.ParseTokenBuckets("Elastic Load Balancing v2:.*=2:2,EC2:.*=2:2")
		if err != nil {
			t.Fatal(err)
		}
		r, log := newShopWithWorkers(t, Options{Cloud: func(c *cloud.Config) { c.TokenBuckets = limits }})
		for n := range 8 {
			r.Apply(strings.Replace(webIngress("", "/=web"), "name: web\n", fmt.Sprintf("name: web%d\n", n), 1))
		}
		time.Sleep(time.Hour)
		lines := log.takeLines()
		if got := errorLines(lines); len(got) > 0 {
			t.Errorf("errors: %v", got)
		}
		if got := linesWith(lines, "applied plan"); len(got) < 8 {
			t.Errorf("%d of 8 load balancers: %v", len(got), lines)
		}
	})
}

// TestClientSecretsAreNotLogged checks that an OIDC client secret that AWS quotes in an error is neither in the log nor
// in events.
func TestClientSecretsAreNotLogged(t *testing.T) {
	t.Parallel()
	const secret = "s3cr3t-of-shop"
	synctest.Test(t, func(t *testing.T) {
		r, log := newShopWithWorkers(t, Options{})
		r.Emulator.Faults().Add(fault.Rule{Service: "elasticloadbalancing", Operation: "CreateRule", Count: 1, Action: fault.Action{
			Error: &store.Error{Code: "ValidationError", Message: "Value '" + secret + "' at 'actions.1.member.authenticateOidcConfig.clientSecret' is not valid", Status: 400},
		}})
		r.Apply(`
apiVersion: v1
kind: Secret
metadata: {name: oidc, namespace: shop}
stringData: {clientID: id-of-shop, clientSecret: `+secret+`}
`, webIngress(ingressAnnotations("listen-ports", `[{"HTTPS":443}]`, "certificate-arn", r.Seeded.Certs["example.com"], "auth-type", "oidc",
			"auth-idp-oidc", `{"issuer":"https://i.example.com","authorizationEndpoint":"https://i.example.com/a","tokenEndpoint":"https://i.example.com/t","userInfoEndpoint":"https://i.example.com/u","secretName":"oidc"}`), "/=web"))
		time.Sleep(10 * time.Minute)
		lines := log.takeLines()
		if len(linesWith(lines, "authenticateOidcConfig")) == 0 {
			t.Errorf("the rejected call is not logged: %v", lines)
		}
		if got := linesWith(lines, secret); len(got) > 0 {
			t.Errorf("the log contains the client secret: %v", got)
		}
		if got := strings.Join(warningsByObject(r)["web"], "\n"); strings.Contains(got, secret) || !strings.Contains(got, "authenticateOidcConfig") {
			t.Errorf("events: %s", got)
		}
	})
}

// recentEvents returns the events of an object whose message contains a text, and that were written within the last
// hour. The API server of a real cluster deletes older events.
func recentEvents(r *Harness, name, text string) (out []*corev1.Event) {
	for _, o := range r.Store.All("Event") {
		e := o.(*corev1.Event)
		if e.InvolvedObject.Name == name && strings.Contains(e.Message, text) && time.Since(e.LastTimestamp.Time) < time.Hour {
			out = append(out, e)
		}
	}
	return out
}

// TestEventOfHeldIngressIsRepeated checks that the event of a held Ingress is emitted again, as the same Event object
// with a higher count, so that it always exists. It is no longer emitted after the Ingress is corrected.
func TestEventOfHeldIngressIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r, _ := newShopWithWorkers(t, Options{})
		r.Apply(webIngress(ingressAnnotations("scheme", "public"), "/=web"))
		time.Sleep(time.Minute)
		first := recentEvents(r, "web", "scheme")
		if len(first) != 1 || first[0].Count != 1 {
			t.Fatalf("events at first: %v", first)
		}
		r.Emulator.Calls().Reset()
		for range 10 {
			time.Sleep(33 * time.Minute)
			if got := recentEvents(r, "web", "scheme"); len(got) != 1 || got[0].Name != first[0].Name {
				t.Fatalf("events after %s: %v", time.Since(first[0].FirstTimestamp.Time), got)
			}
		}
		if got := recentEvents(r, "web", "scheme")[0]; got.Count != 9 || !got.FirstTimestamp.Equal(&first[0].FirstTimestamp) {
			t.Errorf("after five and a half hours: count %d since %s", got.Count, got.FirstTimestamp)
		}
		if n := r.Emulator.Calls().Total(); n > 10 { // the rules of node security groups are compared once an hour
			t.Errorf("emitting events made %d calls to AWS: %v", n, r.Emulator.Calls().Counts())
		}
		r.Apply(webIngress(ingressAnnotations("scheme", "internal"), "/=web"))
		time.Sleep(2 * time.Hour)
		if got := recentEvents(r, "web", "scheme"); len(got) > 0 {
			t.Errorf("an event about the corrected annotation: %v", got)
		}
	})
}
