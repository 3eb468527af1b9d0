package harness

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/ratelimit"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
)

// Values of the parameter who of cpuTime, which is that of getrusage(2).
const (
	usageOfProcess = syscall.RUSAGE_SELF
	usageOfThread  = 1
)

// cpuTime returns the CPU time used so far by the process or thread. It is real even if the clock is virtual.
func cpuTime(t testing.TB, who int) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(who, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// meteredTransport adds the CPU time of the emulator to used. This time does not count as the controller's.
type meteredTransport struct {
	t    testing.TB
	next http.RoundTripper
	used *atomic.Int64
}

func (m meteredTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := cpuTime(m.t, usageOfThread)
	defer func() { m.used.Add(int64(cpuTime(m.t, usageOfThread) - start)) }()
	return m.next.RoundTrip(req)
}

// costlyEvent is an event in the cluster whose CPU cost is measured. do causes it for the i-th time. goal describes
// how the cost may grow with the number of load balancers.
type costlyEvent struct {
	name, goal string
	do         func(r *Harness, i int)
}

// selectiveClass is an IngressClass that admits Ingresses by the labels of their namespace. All stacks therefore
// depend on the Namespace and the class.
const selectiveClass = `
apiVersion: networking.k8s.io/v1
kind: IngressClass
metadata: {name: alb}
spec: {controller: ingress.k8s.aws/alb, parameters: {apiGroup: elbv2.k8s.aws, kind: IngressClassParams, name: alb}}
---
apiVersion: v1
kind: Namespace
metadata: {name: shop, labels: {served: by-alb}}
---
apiVersion: elbv2.k8s.aws/v1beta1
kind: IngressClassParams
metadata: {name: alb}
spec: {namespaceSelector: {matchLabels: {served: by-alb}}}
`

var costlyEvents = []costlyEvent{
	{"restart", "at most times 10 from 100 to 1000", func(r *Harness, _ int) { r.Start() }},
	{"one route edited", "at most times 1.5 from 10 to 1000", func(r *Harness, i int) {
		r.Apply(strings.Replace(numberedIngress(3, ""), "path: /api,", fmt.Sprintf("path: /edited%d,", i), 1))
	}},
	{"one Namespace changed without effect", "at most times 1.5 from 10 to 1000", func(r *Harness, i int) {
		namespace := selectiveClass[strings.Index(selectiveClass, "---"):]
		r.Apply(strings.Replace(namespace, "labels:", fmt.Sprintf("annotations: {seen: by-none-%d}, labels:", i), 1))
	}},
	{"the class changed without effect", "at most times 1.5 from 10 to 1000", func(r *Harness, i int) {
		class := selectiveClass[:strings.Index(selectiveClass, "---")]
		r.Apply(strings.Replace(class, "name: alb", fmt.Sprintf("name: alb, labels: {seen: by-none-%d}", i), 1))
	}},
	{"all stacks compared again after a change of the class", "linear", func(r *Harness, i int) {
		obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindIngressClass, Name: "alb"})
		if err != nil {
			r.T.Fatal(err)
		}
		class := obj.DeepCopyObject().(*networkingv1.IngressClass)
		// All Ingresses in this test name a class, so the default class has no effect.
		class.Annotations = map[string]string{"ingressclass.kubernetes.io/is-default-class": fmt.Sprint(i%2 == 0)}
		if err := r.Store.Put(class); err != nil {
			r.T.Fatal(err)
		}
	}},
}

// benchmarkSizes returns the numbers of load balancers for which the test measures, from the environment variable
// FULCRUM_BENCH_SIZES.
func benchmarkSizes(t *testing.T) (out []int) {
	for _, s := range strings.Split(cmp.Or(os.Getenv("FULCRUM_BENCH_SIZES"), "10,100,1000"), ",") {
		n, err := strconv.Atoi(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, n)
	}
	return out
}

// TestCost measures the CPU time that the controller needs for stacks after an event, without that of the emulator, in
// clusters of different sizes.
func TestCost(t *testing.T) {
	if os.Getenv("FULCRUM_BENCH") == "" {
		t.Skip("a measurement, for make bench")
	}
	took := map[string][]string{}
	for _, n := range benchmarkSizes(t) {
		synctest.Test(t, func(t *testing.T) {
			var emulated atomic.Int64
			r := harnessWithLoadBalancers(t, n, Options{
				StacksOnly: true,
				Cloud:      func(c *cloud.Config) { c.TokenBuckets = []ratelimit.TokenBucket{} },
				Transport:  func(next http.RoundTripper) http.RoundTripper { return meteredTransport{t, next, &emulated} },
			})
			r.Emulator.Faults().SetLimits(fault.Limits{})
			r.Emulator.Faults().SetHook(nil)
			r.opt.Checkpoints = false // so that work is not deferred after a start
			r.Apply(selectiveClass)
			r.runFor(time.Hour)
			for _, e := range costlyEvents {
				used := time.Hour
				for i := range 3 { // the minimum is least affected by other work on the machine
					runtime.GC()
					usual := debug.SetGCPercent(-1) // excludes the work of the garbage collector
					emulated.Store(0)
					start := cpuTime(t, usageOfProcess)
					e.do(r, i)
					r.runFor(5 * time.Second)
					used = min(used, cpuTime(t, usageOfProcess)-start-time.Duration(emulated.Load()))
					debug.SetGCPercent(usual)
				}
				took[e.name] = append(took[e.name], fmt.Sprintf("%.1f ms", used.Seconds()*1000))
			}
		})
	}
	for _, e := range costlyEvents {
		t.Logf("BENCH CPU at %v load balancers, %s: %s; goal: %s", benchmarkSizes(t), e.name, strings.Join(took[e.name], ", "), e.goal)
	}
}
