package harness

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// podChurn is a set of Services with many pods. Each Service has a separate target group.
type podChurn struct {
	r         *Harness
	pods      [][]int // numbers of pods by Service, oldest first
	nextPod   int
	addedAt   map[string]time.Time // by address: when it was added to the EndpointSlice
	removedAt map[string]time.Time // by address: when it was removed from the EndpointSlice
}

// newPodChurn creates groups Services with each pods, two Services for each load balancer, and waits until they are
// applied. After that, AWS has rate limits and latency.
func newPodChurn(t *testing.T, groups, each int, opt Options) *podChurn {
	t.Helper()
	free := true
	opt.Cloud = func(c *cloud.Config) {
		if free {
			c.TokenBuckets = []ratelimit.TokenBucket{}
		}
	}
	r := New(t, opt)
	r.Emulator.Store().Lock()
	r.Emulator.Store().Config.Quotas["application-load-balancers"] = 1000
	r.Emulator.Store().Unlock()
	var all []string
	for i := range 2500 {
		all = append(all, podAddress(i))
	}
	if err := AssignPodAddresses(t.Context(), AWSConfig(r.Emulator), r.Seeded.Instances[0], all...); err != nil {
		t.Fatal(err)
	}
	r.Apply(shop)
	h := &podChurn{r: r, pods: make([][]int, groups), addedAt: map[string]time.Time{}, removedAt: map[string]time.Time{}}
	for g := range groups {
		s := churnServiceName(g)
		r.Apply(fmt.Sprintf(`
apiVersion: v1
kind: Service
metadata: {name: %[1]s, namespace: shop, uid: uid-%[1]s}
spec: {selector: {app: %[1]s}, ports: [{port: 80, targetPort: 8080}]}
`, s))
		for range each {
			h.addPod(g)
		}
		h.writeEndpointSlice(g)
	}
	for i := range (groups + 1) / 2 {
		r.Apply(numberedIngress(i, ""))
	}
	r.runFor(10 * time.Minute)
	free = false
	r.Start()
	r.runFor(time.Minute)
	r.Emulator.Faults().SetLimits(fault.DocumentedLimits(1))
	r.Emulator.Faults().SetHook(func(fault.Call) fault.Action { return fault.Action{Latency: latency} })
	return h
}

func churnServiceName(g int) string { return []string{"web", "api"}[g%2] + fmt.Sprint(g/2) }

// addPod creates a ready pod of the Service with number g.
func (h *podChurn) addPod(g int) {
	n := h.nextPod
	h.nextPod++
	h.pods[g] = append(h.pods[g], n)
	h.r.Apply(fmt.Sprintf(`
apiVersion: v1
kind: Pod
metadata: {name: pod-%[1]d, namespace: shop, uid: pod-%[1]d, labels: {app: %[2]s}}
spec: {nodeName: node-0, containers: [{name: c, ports: [{containerPort: 8080}]}]}
status: {podIP: %[3]s, phase: Running, conditions: [{type: Ready, status: "True"}, {type: ContainersReady, status: "True"}]}
`, n, churnServiceName(g), podAddress(n)))
}

// writeEndpointSlice writes the EndpointSlice of the Service with number g.
func (h *podChurn) writeEndpointSlice(g int) { h.writeEndpointSliceWithPort(g, 8080) }

func (h *podChurn) writeEndpointSliceWithPort(g, port int) {
	var b strings.Builder
	fmt.Fprintf(&b, `
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: %[1]s-1, namespace: shop, labels: {kubernetes.io/service-name: %[1]s}}
addressType: IPv4
ports: [{name: "", port: %[2]d, protocol: TCP}]
endpoints:`, churnServiceName(g), port)
	for _, n := range h.pods[g] {
		fmt.Fprintf(&b, `
- {addresses: [%[1]s], conditions: {ready: true}, targetRef: {kind: Pod, namespace: shop, name: pod-%[2]d, uid: pod-%[2]d}}`, podAddress(n), n)
	}
	h.r.Apply(b.String() + "\n")
}

// replacePod replaces the oldest pod of the Service with number g by a new pod.
func (h *podChurn) replacePod(g int) {
	old := h.pods[g][0]
	h.pods[g] = h.pods[g][1:]
	h.addPod(g)
	h.removedAt[podAddress(old)], h.addedAt[podAddress(h.nextPod-1)] = time.Now(), time.Now()
	h.writeEndpointSlice(g)
	if err := h.r.Store.Delete(cluster.Ref{Kind: cluster.KindPod, Namespace: "shop", Name: fmt.Sprintf("pod-%d", old)}); err != nil {
		h.r.T.Error(err)
	}
}

// replacePodsRandomly replaces pods for about the duration d, at random times with a mean rate per second. The pods
// belong to the given Services, or to all Services if none are given.
func (h *podChurn) replacePodsRandomly(rate int, d time.Duration, services ...int) {
	random := rand.New(rand.NewPCG(1, 2))
	for range int(d.Seconds()) * rate {
		g := random.IntN(len(h.pods))
		if len(services) > 0 {
			g = services[random.IntN(len(services))]
		}
		h.replacePod(g)
		time.Sleep(time.Duration(random.ExpFloat64() * float64(time.Second) / float64(rate)))
	}
}

// registrationDelays returns how long added pods waited for registration and removed pods for deregistration, in
// ascending order. It fails the test if one of them is missing.
func (h *podChurn) registrationDelays(t *testing.T) (in, out []time.Duration) {
	t.Helper()
	asked, left := h.addedAt, h.removedAt
	for _, e := range h.r.Emulator.Calls().Entries() {
		if e.Code != "" {
			continue
		}
		at := e.Time.Add(latency)
		switch call := e.Input.(type) {
		case *elb.RegisterTargetsInput:
			for _, x := range call.Targets {
				if since, ok := asked[aws.ToString(x.Id)]; ok {
					in = append(in, at.Sub(since))
					delete(asked, aws.ToString(x.Id))
				}
			}
		case *elb.DeregisterTargetsInput:
			for _, x := range call.Targets {
				if since, ok := left[aws.ToString(x.Id)]; ok {
					out = append(out, at.Sub(since))
					delete(left, aws.ToString(x.Id))
				}
			}
		}
	}
	if len(asked) > 0 || len(left) > 0 {
		t.Errorf("%d new targets were never registered, %d old ones never deregistered", len(asked), len(left))
	}
	slices.Sort(in)
	slices.Sort(out)
	return in, out
}

// quantile returns the quantile q of durations, which must be in ascending order.
func quantile(ds []time.Duration, q float64) time.Duration {
	if len(ds) == 0 {
		return 0
	}
	return ds[min(int(q*float64(len(ds))), len(ds)-1)].Round(time.Millisecond)
}

// TestOnePodReplaced checks that the replacement of one pod takes two calls besides the reads of target health.
func TestOnePodReplaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newPodChurn(t, 2, 3, Options{Workers: 3})
		h.replacePod(0)
		time.Sleep(time.Minute) // the process reads facts that it then caches
		h.r.Emulator.Calls().Reset()
		h.replacePod(0)
		time.Sleep(time.Minute)
		counts := h.r.Emulator.Calls().Counts()
		health := counts["elasticloadbalancing:DescribeTargetHealth"]
		logCalls(t, h.r, "one pod replaced", 1)
		t.Logf("BENCH one pod replaced: %d calls and %d reads of target health, goal 2 and the reads (4)", h.r.Emulator.Calls().Total()-health, health)
		if n := h.r.Emulator.Calls().Total() - health; n != 2 {
			t.Errorf("%d calls besides DescribeTargetHealth, want 2", n)
		}
	})
}

// bound has the upper limits for the median and the 99th percentile of a delay.
type bound struct{ p50, p99 time.Duration }

func (b bound) String() string { return fmt.Sprintf("goal p50 %v, p99 %v", b.p50, b.p99) }

// isExceededBy reports whether delays in ascending order exceed the bound.
func (b bound) isExceededBy(ds []time.Duration) bool {
	return quantile(ds, 0.5) > b.p50 || quantile(ds, 0.99) > b.p99
}

// TestPodChurn measures, in virtual time and with the documented rate limits of AWS, how long new pods wait for
// registration and how long addresses of deleted pods stay registered.
func TestPodChurn(t *testing.T) {
	t.Parallel()
	const s, ms = time.Second, time.Millisecond
	type rate struct {
		name    string
		rate    int
		restart bool // the controller starts again at the first replacement
		one     bool // all replaced pods belong to one target group, as in a rolling update
		in, out bound
	}
	for _, c := range seeds.Spread(measurementSize(1, 2), []rate{
		{"1 a second", 1, false, false, bound{80 * ms, s}, bound{s, 30 * s}},
		{"2 a second", 2, false, false, bound{s, s}, bound{15 * s, 30 * s}},
		{"4 a second", 4, false, false, bound{10 * s, 10 * s}, bound{45 * s, 45 * s}},
		{"1 a second during a restart", 1, true, false, bound{80 * ms, 3 * s}, bound{s, 30 * s}},
		{"4 a second during a restart", 4, true, false, bound{10 * s, 10 * s}, bound{45 * s, 45 * s}},
		{"2 a second of one target group", 2, false, true, bound{s, 2 * s}, bound{2 * s, 2 * s}},
		{"4 a second of one target group", 4, false, true, bound{s, 2 * s}, bound{2 * s, 2 * s}},
	}) {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newPodChurn(t, measurementSize(50, 10), 20, Options{Workers: 3, Checkpoints: true})
				h.r.Emulator.Calls().Reset()
				if c.restart {
					h.r.Start()
				}
				var services []int
				span := time.Duration(measurementSize(300, 20)) * s
				if c.one {
					services, span = []int{0}, 25*s
				}
				h.replacePodsRandomly(c.rate, span, services...)
				busy := h.r.Emulator.Calls().Counts()
				time.Sleep(5 * time.Minute)
				throttled := 0
				for _, n := range h.r.Emulator.Faults().ThrottledCalls() {
					throttled += n
				}
				in, out := h.registrationDelays(t)
				logCalls(t, h.r, t.Name(), len(in))
				t.Logf("BENCH %d pods replaced at %s: registered after p50 %v, p99 %v (%v); deregistered after p50 %v, p99 %v (%v); %d and %d calls while busy, %d throttled",
					len(in), c.name, quantile(in, 0.5), quantile(in, 0.99), c.in, quantile(out, 0.5), quantile(out, 0.99), c.out,
					busy["elasticloadbalancing:RegisterTargets"], busy["elasticloadbalancing:DeregisterTargets"], throttled)
				if c.in.isExceededBy(in) {
					t.Error("registrations are late")
				}
				if c.out.isExceededBy(out) {
					t.Error("deregistrations are late")
				}
			})
		})
	}
}

// TestRegistrationSecondsMetricIsCorrect compares the metric with the delays of the calls in AWS, while
// deregistrations wait for the rate limiter.
func TestRegistrationSecondsMetricIsCorrect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := controller.NewMetrics()
		h := newPodChurn(t, 20, 5, Options{Workers: 3, Metrics: m})
		before, _ := registrationSeconds(t, m)
		h.r.Emulator.Calls().Reset()
		h.replacePodsRandomly(4, 40*time.Second)
		time.Sleep(5 * time.Minute)
		in, out := h.registrationDelays(t)
		var seen time.Duration
		for _, d := range in {
			seen += d
		}
		if quantile(out, 0.5) < 10*time.Second {
			t.Errorf("the median wait for deregistrations is only %v, too short for this test", quantile(out, 0.5))
		}
		// A call that registers several pods counts once, from the first of their changes.
		after, count := registrationSeconds(t, m)
		if sum := after - before; sum > seen.Seconds()+0.1 || count == 0 {
			t.Errorf("%.1f s in the metric, %.1f s seen for %d pods", sum, seen.Seconds(), len(in))
		}
	})
}

// registrationSeconds returns the sum and the count of the metric fulcrum_registration_seconds.
func registrationSeconds(t *testing.T, m *controller.Metrics) (sum float64, count uint64) {
	t.Helper()
	reg := prometheus.NewRegistry()
	if err := m.Register(reg); err != nil {
		t.Fatal(err)
	}
	families, err := reg.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == "fulcrum_registration_seconds" {
			for _, x := range f.GetMetric() {
				sum, count = sum+x.GetHistogram().GetSampleSum(), count+x.GetHistogram().GetSampleCount()
			}
		}
	}
	return sum, count
}

// TestPodChurnOfOneTenantDelaysNoOther checks that a tenant that replaces pods far faster than AWS can register them
// does not delay a tenant that rarely replaces a pod.
func TestPodChurnOfOneTenantDelaysNoOther(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newPodChurn(t, measurementSize(25, 10), 20, Options{Workers: 3, Checkpoints: true})
		victim := func(ips ...string) {
			h.r.Apply(inNamespace("victim", readyPods("web", ips...)))
		}
		var own []string
		for i := range measurementSize(40, 7) {
			own = append(own, fmt.Sprintf("10.0.143.%d", i+1))
		}
		if err := AssignPodAddresses(t.Context(), AWSConfig(h.r.Emulator), h.r.Seeded.Instances[0], own...); err != nil {
			t.Fatal(err)
		}
		h.r.Apply(inNamespace("victim", strings.SplitN(shop, "---", 2)[1], webIngress("", "/=web")))
		victim(own[0])
		time.Sleep(10 * time.Minute)
		h.r.Emulator.Calls().Reset()
		mine := &podChurn{r: h.r, addedAt: map[string]time.Time{}, removedAt: map[string]time.Time{}}
		for i := range own[1:] {
			h.replacePodsRandomly(16, 3*time.Second)
			mine.addedAt[own[i+1]], mine.removedAt[own[i]] = time.Now(), time.Now()
			victim(own[i+1])
		}
		time.Sleep(10 * time.Minute)
		in, out := mine.registrationDelays(t)
		t.Logf("BENCH %d pods replaced while another tenant replaces 16 a second: registered after p50 %v, p99 %v, goal p99 1s; deregistered after p50 %v, p99 %v, goal p99 30s",
			len(in), quantile(in, 0.5), quantile(in, 0.99), quantile(out, 0.5), quantile(out, 0.99))
		if quantile(in, 0.99) > time.Second || quantile(out, 0.99) > 30*time.Second {
			t.Error("the replaced pods of one tenant delay another tenant")
		}
	})
}

// TestPodChurnWithFailingCalls checks that all new pods are registered and all old pods deregistered in the end,
// although every fifth call fails.
func TestPodChurnWithFailingCalls(t *testing.T) {
	t.Parallel()
	for name, failure := range map[string]*store.Error{
		"throttled": {Code: "Throttling", Message: "Rate exceeded", Status: 400},
		"broken":    {Code: "InternalFailure", Message: "an error on the server", Status: 500},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newPodChurn(t, 10, 20, Options{Workers: 3})
				calls := 0
				h.r.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
					a := fault.Action{Latency: latency}
					if strings.HasSuffix(c.Operation, "gisterTargets") {
						if calls++; calls%5 == 0 {
							a.Error = failure
						}
					}
					return a
				})
				h.r.Emulator.Calls().Reset()
				h.replacePodsRandomly(4, 20*time.Second)
				time.Sleep(10 * time.Minute)
				in, out := h.registrationDelays(t)
				t.Logf("registered after p50 %v, p99 %v; deregistered after p50 %v, p99 %v",
					quantile(in, 0.5), quantile(in, 0.99), quantile(out, 0.5), quantile(out, 0.99))
			})
		})
	}
}
