package harness

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
)

// podAddress returns the i-th pod address in the subnet of the first node.
func podAddress(i int) string { return fmt.Sprintf("10.0.%d.%d", 132+i/250, 1+i%250) }

// newPodAddress is a pod address in the subnet of the second node.
const newPodAddress = "10.0.148.200"

// measurementSize returns the size of a measurement: full for "make bench", and small in ordinary test runs, which only
// detect regressions.
func measurementSize(full, small int) int {
	if os.Getenv("FULCRUM_BENCH") != "" {
		return full
	}
	return small
}

// harnessWithLoadBalancers returns a harness with n load balancers, each with two target groups. They are created
// without rate limits. From then on, AWS has its documented limits, and the next process has its rate limiter.
func harnessWithLoadBalancers(t *testing.T, n int, opt Options) *Harness {
	t.Helper()
	free := true
	opt.Checkpoints = true
	edit := opt.Cloud
	opt.Cloud = func(c *cloud.Config) {
		if edit != nil {
			edit(c)
		}
		if free {
			c.TokenBuckets = []ratelimit.TokenBucket{}
		}
	}
	r := New(t, opt)
	r.Emulator.Store().Lock()
	r.Emulator.Store().Config.Quotas["application-load-balancers"] = 1000
	r.Emulator.Store().Config.Quotas["security-groups-per-region"] = 5000
	r.Emulator.Store().Unlock()
	r.Apply(shop)
	var all []string
	for i := range 2 * n {
		all = append(all, podAddress(i))
	}
	if err := AssignPodAddresses(t.Context(), AWSConfig(r.Emulator), r.Seeded.Instances[0], all...); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		for j, s := range []string{"web", "api"} {
			s = fmt.Sprintf("%s%d", s, i)
			r.Apply(fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: shop, uid: uid-%[1]s}
spec: {selector: {app: %[1]s}, ports: [{port: 80, targetPort: 8080}]}
`, s), readyPods(s, podAddress(2*i+j)))
		}
		r.Apply(numberedIngress(i, ""))
	}
	r.runFor(10 * time.Minute)
	free = false
	// The pod with newPodAddress is on the second node.
	if err := AssignPodAddresses(t.Context(), AWSConfig(r.Emulator), r.Seeded.Instances[1], newPodAddress); err != nil {
		t.Fatal(err)
	}
	r.Emulator.Faults().SetLimits(fault.DocumentedLimits(1))
	r.Emulator.Faults().SetHook(func(fault.Call) fault.Action { return fault.Action{Latency: latency} })
	return r
}

// numberedIngress returns YAML of Ingress "shop/ing<i>" with Services "web<i>" and "api<i>".
func numberedIngress(i int, annotations string) string {
	doc := webIngress(annotations, fmt.Sprintf("/=web%d", i), fmt.Sprintf("/api=api%d", i))
	return strings.Replace(doc, "name: web\n", fmt.Sprintf("name: ing%d\n", i), 1)
}

// runFor runs the controller for the duration d. Without workers, it returns as soon as no item is due within d, and a
// failed item ends the test.
func (r *Harness) runFor(d time.Duration) {
	r.T.Helper()
	if r.opt.Workers > 0 {
		time.Sleep(d)
		return
	}
	if failed := r.Settle(d); len(failed) > 0 {
		r.T.Fatal(failed)
	}
}

// timeUntilResponse returns the time from since until the first response to an operation, or -1 if there was none.
func (r *Harness) timeUntilResponse(operation string, since time.Time) time.Duration {
	for _, e := range r.Emulator.Calls().Entries() {
		if e.Operation == operation && !e.Time.Before(since) && e.Fault == "" {
			return e.Time.Sub(since) + latency
		}
	}
	return -1
}

// TestRestart checks that a restart with many load balancers makes few calls, and that an edit and a new pod in the
// first minute take effect within five seconds.
func TestRestart(t *testing.T) {
	t.Parallel()
	n := measurementSize(300, 60)
	t.Run("own tags", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) { checkRestart(t, n, 15+(3*n+19)/20, "", Options{Workers: 3}) })
	})
	t.Run("tagging service", func(t *testing.T) {
		byTags := func(c *cloud.Config) { c.TaggingAPI = true }
		synctest.Test(t, func(t *testing.T) {
			checkRestart(t, n, 20+(3*n+99)/100, " with EnableRGTAPI", Options{Workers: 3, Cloud: byTags})
		})
	})
}

// checkRestart checks that a restart over n load balancers makes at most limit calls in the first minute, and that an
// edit and a new pod then take effect within five seconds. how describes the case in the log.
func checkRestart(t *testing.T, n, limit int, how string, opt Options) {
	t.Helper()
	r := harnessWithLoadBalancers(t, n, opt)
	r.Emulator.Calls().Reset()
	r.Start()
	time.Sleep(20 * time.Second)
	if total := r.Emulator.Calls().Total(); total > 0 {
		logCalls(t, r, "before anything changes", n)
		t.Errorf("a start makes %d calls before anything changes", total)
	}
	edited := time.Now()
	r.Apply(numberedIngress(7, `, alb.ingress.kubernetes.io/load-balancer-attributes: idle_timeout.timeout_seconds=77`))
	time.Sleep(10 * time.Second)
	changed := time.Now()
	r.Apply(readyPods("web9", podAddress(2*9), newPodAddress))
	time.Sleep(30 * time.Second)
	edit, pod := r.timeUntilResponse("ModifyLoadBalancerAttributes", edited), r.timeUntilResponse("RegisterTargets", changed)
	total := r.Emulator.Calls().Total()
	logCalls(t, r, "the first minute after a restart", n)
	t.Logf("BENCH restart over %d load balancers%s, calls in the first minute: %d, goal 60 (15 to 24 for each load balancer before it is done)", n, how, total)
	t.Logf("BENCH an edit right after: %v, a new pod: %v, goal 5s (after all that)", edit, pod)
	if edit < 0 || edit > 5*time.Second || pod < 0 || pod > 5*time.Second {
		t.Error("the edit or the new pod takes effect too late")
	}
	if total > limit {
		t.Errorf("%d calls in the first minute", total)
	}
	r.Emulator.Calls().Reset()
	most, before := 0, 0
	for range 44 {
		time.Sleep(time.Minute)
		most, before = max(most, r.Emulator.Calls().Total()-before), r.Emulator.Calls().Total()
	}
	logCalls(t, r, "the rest of the slow ones", n)
	if looked := r.Emulator.Calls().Counts()["elasticloadbalancing:DescribeListeners"]; looked < n-5 {
		t.Errorf("only %d load balancers were compared with AWS within 45 minutes", looked)
	}
	t.Logf("at most %d calls in one minute", most)
}
