package rig

import (
	"fmt"
	"net/http"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
)

// threadCPU is the CPU time that the calling thread has used: real time, also where the clock is virtual.
func threadCPU(t testing.TB) time.Duration {
	var u syscall.Rusage
	const thread = 1 // RUSAGE_THREAD
	if err := syscall.Getrusage(thread, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// metered counts the CPU time that the emulated AWS takes, which is not the controller's.
type metered struct {
	t    testing.TB
	next http.RoundTripper
	used *time.Duration
}

func (m metered) RoundTrip(req *http.Request) (*http.Response, error) {
	start := threadCPU(m.t)
	defer func() { *m.used += threadCPU(m.t) - start }()
	return m.next.RoundTrip(req)
}

// event is something that happens in the cluster, and how its cost may grow from the smallest to the
// largest size.
type costlyEvent struct {
	name string
	goal string
	do   func(r *Rig)
}

var costlyEvents = []costlyEvent{
	{"restart", "10 from 100 to 1000", func(r *Rig) { r.Start() }},
	{"one route edited", "1.5 from 10 to 1000", func(r *Rig) {
		r.Apply(strings.Replace(ingressNumber(3, ""), "path: /api,", "path: /edited,", 1))
	}},
	{"one Namespace changed without effect", "1.5 from 10 to 1000", func(r *Rig) {
		r.Apply("apiVersion: v1\nkind: Namespace\nmetadata: {name: shop, annotations: {seen: by-nobody}}\n")
	}},
	{"the class changed without effect", "1.5 from 10 to 1000", func(r *Rig) {
		r.Apply(strings.Replace(shop[:strings.Index(shop, "---")], "name: alb", "name: alb, labels: {seen: by-nobody}", 1))
	}},
	{"all stacks looked at again", "linear", func(r *Rig) {
		obj, err := r.Store.Get(cluster.Ref{Kind: cluster.KindIngressClass, Name: "alb"})
		if err != nil {
			r.T.Fatal(err)
		}
		class := obj.DeepCopyObject().(*networkingv1.IngressClass)
		class.Annotations = map[string]string{"ingressclass.kubernetes.io/is-default-class": "true"}
		if err := r.Store.Put(class); err != nil {
			r.T.Fatal(err)
		}
	}},
}

// TestCost measures the CPU time that the controller takes for an event in clusters of different sizes:
// real time of the one thread that all is done by, without the emulated AWS.
func TestCost(t *testing.T) {
	if os.Getenv("FULCRUM_BENCH") == "" {
		t.Skip("a measurement, for make bench")
	}
	took := map[string][]string{}
	for _, n := range []int{10, 100, 1000} {
		synctest.Test(t, func(t *testing.T) {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			var emulated time.Duration
			r := fleetOf(t, n, Options{
				Cloud:     func(c *cloud.Config) { c.Paces = []cloud.Pace{} },
				Transport: func(next http.RoundTripper) http.RoundTripper { return metered{t, next, &emulated} },
			})
			r.Emulator.Faults().SetLimits(fault.Limits{})
			r.Emulator.Faults().SetHook(nil)
			r.rest(time.Hour)
			for _, e := range costlyEvents {
				runtime.GC()
				emulated = 0
				start := threadCPU(t)
				e.do(r)
				r.rest(5 * time.Second)
				used := threadCPU(t) - start - emulated
				took[e.name] = append(took[e.name], fmt.Sprintf("%.1f ms", used.Seconds()*1000))
				t.Logf("BENCH CPU with %4d load balancers, %s: %.1f ms", n, e.name, used.Seconds()*1000)
			}
		})
	}
	for _, e := range costlyEvents {
		t.Logf("BENCH CPU at 10, 100 and 1000 load balancers, %s: %s; goal: at most times %s", e.name, strings.Join(took[e.name], ", "), e.goal)
	}
}
