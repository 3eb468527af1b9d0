package harness

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	accelerators "github.com/fulcrum-lb/fulcrum/internal/translate/accelerator"
)

// checkpointServer is an API server that calls handler before each request for the checkpoint Secret. If handler
// returns an error, the request fails with it.
type checkpointServer struct {
	kube.API

	mu      sync.Mutex
	handler func() error // called for each request; nil for none
	writes  int
}

// setHandler replaces the function that is called for each request, and resets the count of writes.
func (s *checkpointServer) setHandler(does func() error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.handler, s.writes = does, 0
}

// writeCount returns the number of writes since the last call of setHandler.
func (s *checkpointServer) writeCount() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

func (s *checkpointServer) handleRequest(obj cluster.Object, writes int) error {
	if obj.GetName() != kube.CheckpointsName {
		return nil
	}
	s.mu.Lock()
	does := s.handler
	s.writes += writes
	s.mu.Unlock()
	if does == nil {
		return nil
	}
	return does()
}

func (s *checkpointServer) Read(ctx context.Context, obj cluster.Object) error {
	if err := s.handleRequest(obj, 0); err != nil {
		return err
	}
	return s.API.Read(ctx, obj)
}

func (s *checkpointServer) Create(ctx context.Context, obj cluster.Object) error {
	if err := s.handleRequest(obj, 1); err != nil {
		return err
	}
	return s.API.Create(ctx, obj)
}

func (s *checkpointServer) Update(ctx context.Context, obj cluster.Object) error {
	if err := s.handleRequest(obj, 1); err != nil {
		return err
	}
	return s.API.Update(ctx, obj)
}

// delayRequests returns a handler that delays each request by d.
func delayRequests(d time.Duration) func() error {
	return func() error { time.Sleep(d); return nil }
}

const idleTimeoutAnnotation = `, alb.ingress.kubernetes.io/load-balancer-attributes: idle_timeout.timeout_seconds=%d`

// TestEditWaitsAtMost2sForCheckpoints checks that an edit waits for the checkpoint store only if the store is slower
// than AWS, and for at most 2 s. While writes fail, further edits do not wait.
func TestEditWaitsAtMost2sForCheckpoints(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		does        func() error
		least       time.Duration // minimum duration of an edit, which waits for the write
		first, then time.Duration // additional time that an edit may take because of the store
	}{
		"a quick store": {does: delayRequests(40 * time.Millisecond)},
		"a slow store":  {does: delayRequests(300 * time.Millisecond), least: 600 * time.Millisecond, first: 600 * time.Millisecond, then: 600 * time.Millisecond},
		"no answer":     {does: delayRequests(time.Hour), first: 2 * time.Second, then: 2 * time.Second},
		"failures":      {does: func() error { time.Sleep(10 * time.Millisecond); return errors.New("no space is left") }},
		"late failures": {does: func() error { time.Sleep(time.Second); return errors.New("no leader") }, first: time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &checkpointServer{}
				r := harnessWithLoadBalancers(t, 4, Options{Workers: 3, API: func(api kube.API) kube.API { server.API = api; return server }})
				edit := func(i, seconds int) time.Duration {
					r.Emulator.Calls().Reset()
					at := time.Now()
					r.Apply(numberedIngress(i, fmt.Sprintf(idleTimeoutAnnotation, seconds)))
					time.Sleep(10 * time.Second)
					return r.timeUntilResponse("ModifyLoadBalancerAttributes", at)
				}
				usual := edit(0, 73) // with a store that answers immediately
				server.setHandler(c.does)
				for i, most := range []time.Duration{c.first, c.then} {
					if took := edit(1+i, 73); took < c.least || took > usual+most+latency { // tolerates one call more or less
						t.Errorf("edit %d takes %v, usual is %v, at most %v more", i+1, took, usual, most)
					}
				}
				server.setHandler(nil) // the process does not wait for the store when it stops
			})
		})
	}
}

// TestFailedCheckpointWriteIsRepeated checks that a write that fails during an edit is repeated within seconds. Later
// edits then wait for their writes again.
func TestFailedCheckpointWriteIsRepeated(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := &checkpointServer{}
		r := harnessWithLoadBalancers(t, 3, Options{Workers: 3, API: func(api kube.API) kube.API { server.API = api; return server }})
		time.Sleep(time.Until(r.process.startTime.Add(time.Since(r.process.startTime).Truncate(30*time.Second) + 31*time.Second))) // right after a write
		server.setHandler(func() error { return errors.New("no leader") })
		r.Apply(numberedIngress(0, fmt.Sprintf(idleTimeoutAnnotation, 73)))
		time.Sleep(2 * time.Second)
		server.setHandler(nil)
		time.Sleep(5 * time.Second)
		if server.writeCount() == 0 {
			t.Error("the write is not repeated")
		}
		early := false
		r.Emulator.Faults().SetHook(func(call fault.Call) fault.Action {
			if call.Mutating {
				early = early || strings.Contains(string(checkpointsOf(r)["v1"]), "shop/ing1 ")
			}
			return fault.Action{Latency: latency}
		})
		r.Apply(numberedIngress(1, fmt.Sprintf(idleTimeoutAnnotation, 73)))
		time.Sleep(5 * time.Second)
		if early {
			t.Error("AWS is changed while the store has the old checkpoint")
		}
	})
}

// TestStackWithoutLoadBalancerHasNoCheckpoint checks that stacks without a load balancer are not stored in the
// checkpoint Secret. Otherwise a tenant could fill the Secret with objects that cost nothing.
func TestStackWithoutLoadBalancerHasNoCheckpoint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := shopWith(t, Options{Checkpoints: true})
		broken := func(name, key string) string {
			return strings.Replace(webIngress(ingressAnnotations(key, "nonsense"), "/=web"), "name: web\n", "name: "+name+"\n", 1)
		}
		r.Apply(shop, gatewayClassALB, webIngress("", "/=web"), broken("one", "scheme"), broken("two", "listen-ports"),
			gatewayOf("shop", "dry", naming.DryRunAnnotation+`: "true"`))
		r.runFor(10 * time.Minute)
		r.process.saveCheckpoints()
		text := string(checkpointsOf(r)["v1"])
		if !strings.HasPrefix(text, "Ingress shop/web ") || strings.Count(text, "\n") != 1 {
			t.Errorf("stored: %q", text)
		}
	})
}

// TestManyEditsShareCheckpointWrites checks many stacks that are edited at the same time. No stack is changed in AWS
// while the store still has its old checkpoint, there is about one write per edit at most, and the edits take no
// longer than with a failing store, for which no edit waits.
func TestManyEditsShareCheckpointWrites(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := measurementSize(1000, 60)
		server := &checkpointServer{}
		r := harnessWithLoadBalancers(t, n, Options{Workers: 3, API: func(api kube.API) kube.API { server.API = api; return server }})
		stored := func() string { return string(checkpointsOf(r)["v1"]) }
		if lines := strings.Count(stored(), "\n"); lines < n {
			t.Fatalf("%d of %d stacks are stored", lines, n)
		}
		edit := func(seconds int) (took time.Duration) {
			t.Helper()
			var mu sync.Mutex
			var early []string
			changed, at := 0, time.Now()
			r.Emulator.Faults().SetHook(func(call fault.Call) fault.Action {
				if call.Operation == "ModifyLoadBalancerAttributes" {
					mu.Lock()
					defer mu.Unlock()
					_, name, _ := strings.Cut(fmt.Sprintf("%+v", call.Input), "k8s-shop-ing")
					number, _, _ := strings.Cut(name, "-")
					if strings.Contains(stored(), "Ingress shop/ing"+number+" ") {
						early = append(early, number)
					}
					if changed++; changed == n*9/10 {
						took = time.Since(at) // the last ones wait for rate limits of AWS
					}
				}
				return fault.Action{Latency: latency}
			})
			for i := range n {
				r.Apply(numberedIngress(i, fmt.Sprintf(idleTimeoutAnnotation, seconds)))
			}
			time.Sleep(30 * time.Minute)
			mu.Lock()
			defer mu.Unlock()
			if changed != n {
				t.Errorf("%d of %d are changed", changed, n)
			}
			if seconds == 73 && len(early) > 0 {
				t.Errorf("changed while the store had a checkpoint: %v", early)
			}
			return took
		}
		server.setHandler(func() error { return errors.New("no space is left") })
		edit(71) // the first edit detects that the store fails
		without := edit(72)
		server.setHandler(delayRequests(10 * time.Millisecond))
		time.Sleep(time.Minute)
		took := edit(73)
		writes := server.writeCount()
		t.Logf("BENCH %d edits at once: nine tenths are made after %v with %d writes of checkpoints, after %v without", n, took, writes, without)
		if took > without+5*time.Second {
			t.Errorf("%d edits take %v, without checkpoints %v", n, took, without)
		}
		// Without sharing, each edit has a write of its own, and the periodic writes come in addition. In the measurement with
		// 1000 edits, the rate limits of AWS separate most edits, so that few of them can share a write.
		if most := measurementSize(n+n/10, n-1); writes > most {
			t.Errorf("%d writes for %d edits, want at most %d", writes, n, most)
		}
		server.setHandler(nil)
	})
}

// TestObjectWithoutAcceleratorHasNoCheckpoint checks that a GlobalAccelerator has a checkpoint only if its accelerator
// exists in AWS. An accelerator without listeners is enough.
func TestObjectWithoutAcceleratorHasNoCheckpoint(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := newAcceleratorHarness(t, Options{Checkpoints: true, Accelerator: func(o *accelerators.Options) { o.MaxPerNamespace = 1 }})
		r.Apply(edgeAccelerator(webListener))
		r.Settle(10 * time.Minute)
		r.Apply(accelerator("shop", "later", "listeners: ["+webListener+"]"), edgeNamespace, accelerator("edge", "front", "listeners: []"))
		r.runFor(10 * time.Minute)
		r.process.saveCheckpoints()
		text := string(checkpointsOf(r)["v1"])
		if !strings.HasPrefix(text, "GlobalAccelerator edge/front ") || !strings.Contains(text, "\nGlobalAccelerator shop/edge ") || !strings.Contains(text, "\nIngress shop/web ") || strings.Count(text, "\n") != 3 {
			t.Errorf("stored: %q", text)
		}
	})
}
