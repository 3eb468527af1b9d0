package harness

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan/targets"
	gateways "github.com/fulcrum-lb/fulcrum/internal/translate/gateway"
)

// revertedEdits are edits that change AWS, each with the edit that reverts it.
var revertedEdits = map[string]struct{ edit, back func(r *Harness) }{
	"a path is added": {
		edit: func(r *Harness) { r.Apply(webIngress("", "/=web", "/admin=web")) },
		back: func(r *Harness) { r.Apply(webIngress("", "/=web")) },
	},
	"a path goes to another Service": {
		edit: func(r *Harness) { r.Apply(readyPods("api", podAddresses[1]), webIngress("", "/=api")) },
		back: func(r *Harness) { r.Apply(webIngress("", "/=web")) },
	},
	"another source is admitted": {
		edit: func(r *Harness) {
			r.Apply(webIngress(`, alb.ingress.kubernetes.io/inbound-cidrs: 192.0.2.0/24`, "/=web"))
		},
		back: func(r *Harness) { r.Apply(webIngress("", "/=web")) },
	},
	"a route is attached": {
		edit: func(r *Harness) {
			r.Apply(routeOf("more", "b.example.com", "filters: [{type: RequestRedirect, requestRedirect: {hostname: c.example.com}}]"))
		},
		back: func(r *Harness) { r.deleteObject(cluster.KindHTTPRoute, "shop", "more") },
	},
	"a route is deleted": {
		edit: func(r *Harness) { r.deleteObject(cluster.KindHTTPRoute, "shop", "one") },
		back: func(r *Harness) { r.Apply(routeOf("one", "a.example.com", "backendRefs: [{name: web, port: 80}]")) },
	},
}

// shopWithRoute returns a harness with an Ingress, a Gateway and a route that are fully applied and whose checkpoints
// are stored.
func shopWithRoute(t *testing.T, opt Options) *Harness {
	t.Helper()
	opt.Checkpoints = true
	opt.Gateway = func(o *gateways.Options) { o.DefaultTargetType = model.IPTargets }
	r := shopWith(t, opt)
	r.Apply(shop, readyPods("web", podAddresses[0]), webIngress("", "/=web"))
	r.Apply(edgeGateway, routeOf("one", "a.example.com", "backendRefs: [{name: web, port: 80}]"))
	r.runFor(10 * time.Minute)
	r.process.saveCheckpoints()
	return r
}

// TestRevertedEditIsUndoneAtNextStart checks a process that is killed after any call of an edit, before it stores its
// checkpoints again. If a user then reverts the edit, the next process undoes it within a minute.
func TestRevertedEditIsUndoneAtNextStart(t *testing.T) {
	t.Parallel()
	for name, c := range revertedEdits {
		for _, found := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, found at a start %t", name, found), func(t *testing.T) {
				t.Parallel()
				for at, over := 1, false; !over; at++ {
					synctest.Test(t, func(t *testing.T) { over = killAndRevert(t, c.edit, c.back, found, at) })
				}
			})
		}
	}
}

// forEachRevertedEdit runs test as a subtest in virtual time for each entry of revertedEdits.
func forEachRevertedEdit(t *testing.T, test func(t *testing.T, edit, back func(r *Harness))) {
	for name, c := range revertedEdits {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { test(t, c.edit, c.back) })
		})
	}
}

// killAfter kills the process after the mutating call with number at. The result points to the number of mutating
// calls so far.
func killAfter(r *Harness, at int) (n *int) {
	n = new(int)
	r.Emulator.Faults().SetHook(func(call fault.Call) fault.Action {
		if countMutation(call, n); call.Mutating && *n == at {
			return fault.Action{After: r.Kill}
		}
		return fault.Action{}
	})
	return n
}

// killAndRevert kills the process after the mutating call of an edit with number at, reverts the edit, and checks the
// state after the next start. It returns true if the edit has fewer calls. If found is true, the process starts after
// the edit.
func killAndRevert(t *testing.T, edit, back func(r *Harness), found bool, at int) (over bool) {
	r := shopWithRoute(t, Options{})
	before, n := r.State(), killAfter(r, at)
	if found {
		r.Kill()
	}
	edit(r)
	if found {
		r.Start()
	}
	r.Settle(20 * time.Second)
	if over = !r.WasKilled(); over && *n == 0 {
		t.Fatal("the edit changes nothing in AWS")
	}
	r.Kill()
	r.Emulator.Faults().SetHook(nil)
	back(r)
	expectStateAfterStart(t, r, before, fmt.Sprintf("ended after call %d; ", at))
	return over
}

// expectStateAfterStart starts a process and checks that the state in AWS equals before 50 seconds later. By then, stacks
// whose checkpoint is unchanged are not compared with AWS yet.
func expectStateAfterStart(t *testing.T, r *Harness, before []string, when string) {
	t.Helper()
	r.Start()
	if r.opt.Workers > 0 {
		time.Sleep(50 * time.Second)
	} else {
		r.Settle(50 * time.Second)
	}
	if d := cmp.Diff(before, r.State()); d != "" {
		t.Errorf("%sin AWS (-before +50 seconds after the start):\n%s", when, d)
	}
}

// TestWorkersUndoRevertedEditAtNextStart checks, with concurrent workers, that the next process undoes a reverted edit
// of a killed process within a minute.
func TestWorkersUndoRevertedEditAtNextStart(t *testing.T) {
	t.Parallel()
	forEachRevertedEdit(t, func(t *testing.T, edit, back func(r *Harness)) {
		r := shopWithRoute(t, Options{Workers: 3})
		time.Sleep(time.Minute)
		before := r.State()
		r.Emulator.Faults().SetHook(func(fault.Call) fault.Action { return fault.Action{Latency: latency} })
		edit(r)
		time.Sleep(5 * time.Second)
		if fmt.Sprint(before) == fmt.Sprint(r.State()) {
			t.Fatal("the edit changes nothing in AWS")
		}
		r.Kill()
		back(r)
		expectStateAfterStart(t, r, before, "")
	})
}

// TestRevertedEditIsUndoneWithUnreadableCheckpoints checks that the next process undoes a reverted edit even if the
// killed process could not read the stored checkpoints at its start, and had none in memory.
func TestRevertedEditIsUndoneWithUnreadableCheckpoints(t *testing.T) {
	t.Parallel()
	forEachRevertedEdit(t, func(t *testing.T, edit, back func(r *Harness)) {
		server := &checkpointServer{}
		r := shopWithRoute(t, Options{API: func(api kube.API) kube.API { server.API = api; return server }})
		before := r.State()
		r.Kill()
		server.setHandler(func() error { return errors.New("no leader") })
		r.Start()
		server.setHandler(nil)
		r.Settle(2 * time.Second)
		killAfter(r, 1)
		edit(r)
		r.Settle(20 * time.Second)
		if !r.WasKilled() {
			t.Fatal("the edit changes nothing in AWS")
		}
		r.Emulator.Faults().SetHook(nil)
		back(r)
		expectStateAfterStart(t, r, before, "")
	})
}

// TestRunsDuringShutdownInvalidateCheckpoints checks that runs that are reading AWS when the process is stopped may
// finish, and that the checkpoints of the stacks that they change become invalid.
func TestRunsDuringShutdownInvalidateCheckpoints(t *testing.T) {
	t.Parallel()
	forEachRevertedEdit(t, func(t *testing.T, edit, back func(r *Harness)) {
		r := shopWithRoute(t, Options{Workers: 3})
		time.Sleep(time.Minute)
		before := r.State()
		r.Kill()
		r.Emulator.Faults().SetHook(func(fault.Call) fault.Action { return fault.Action{Latency: 10 * latency} })
		edit(r)
		r.Start()
		time.Sleep(latency)
		r.process.stopWorkers()
		if fmt.Sprint(before) == fmt.Sprint(r.State()) {
			t.Fatal("the edit changes nothing in AWS")
		}
		r.Kill()
		back(r)
		expectStateAfterStart(t, r, before, "")
	})
}

// TestInterruptedRepairContinuesAtNextStart checks a process that is killed after any call of a repair of deleted
// resources. The next process completes the repair within a minute, and the status shows the load balancer.
func TestInterruptedRepairContinuesAtNextStart(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"load balancer deleted", "listener deleted", "all rules deleted", "target group deleted"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for at, over := 1, false; !over; at++ {
				synctest.Test(t, func(t *testing.T) { over = killDuringRepair(t, drifts[name], at) })
			}
		})
	}
}

// killDuringRepair kills the process after the mutating call of a repair with number at, and checks the state after
// the next start. It returns true if the repair has fewer calls.
func killDuringRepair(t *testing.T, drift func(externalActor), at int) (over bool) {
	r := newSettledShop(t, Options{Checkpoints: true, Drift: true})
	r.process.saveCheckpoints()
	before := r.State()
	s := newExternalActor(t, r)
	drift(s)
	n := killAfter(r, at)
	r.Settle(15 * time.Minute)
	if over = !r.WasKilled(); over && *n == 0 {
		t.Fatal("the repair makes no mutating call")
	}
	r.Kill()
	r.Emulator.Faults().SetHook(nil)
	expectStateAfterStart(t, r, before, fmt.Sprintf("ended after call %d; ", at))
	if shown, live := ingressStatusHostname(r), *s.loadBalancer().DNSName; shown != live {
		t.Errorf("ended after call %d; the status shows %s, AWS has %s", at, shown, live)
	}
	return over
}

// staleCheckpointSource is a source that returns TargetGroupBindings without a checkpoint while *isStale is true, as a
// cache that lags behind.
type staleCheckpointSource struct {
	cluster.Source
	isStale *bool
}

func (s staleCheckpointSource) Get(ref cluster.Ref) (cluster.Object, error) {
	obj, err := s.Source.Get(ref)
	return s.withoutCheckpoint(obj), err
}

func (s staleCheckpointSource) List(q cluster.Query) ([]cluster.Object, error) {
	list, err := s.Source.List(q)
	out := make([]cluster.Object, len(list))
	for i := range list {
		out[i] = s.withoutCheckpoint(list[i])
	}
	return out, err
}

func (s staleCheckpointSource) withoutCheckpoint(obj cluster.Object) cluster.Object {
	b, ok := obj.(*elbv2.TargetGroupBinding)
	if !ok || !*s.isStale {
		return obj
	}
	b = b.DeepCopy()
	b.Annotations[targets.CheckpointAnnotation] = ""
	return b
}

// TestReturnedTargetIsRegisteredAtNextStart checks a process that is killed after it deregisters a pod. If the pod
// becomes ready again, the next process registers it within a minute, even if the cache of the killed process did not
// show the last checkpoint of the TargetGroupBinding.
func TestReturnedTargetIsRegisteredAtNextStart(t *testing.T) {
	t.Parallel()
	for _, late := range []bool{false, true} {
		t.Run(fmt.Sprintf("the cache is behind %t", late), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				behind := false
				r := shopWith(t, Options{Checkpoints: true, Source: func(s cluster.Source) cluster.Source { return staleCheckpointSource{s, &behind} }})
				r.Apply(shop, readyPods("web", podAddresses[:3]...), webIngress("", "/=web"))
				r.runFor(10 * time.Minute)
				before := r.State()
				behind = late
				killAfter(r, 1)
				r.Apply(readyPods("web", podAddresses[:2]...))
				r.Settle(20 * time.Second)
				if !r.WasKilled() || fmt.Sprint(before) == fmt.Sprint(r.State()) {
					t.Fatal("no target is deregistered")
				}
				behind = false
				r.Emulator.Faults().SetHook(nil)
				r.Apply(readyPods("web", podAddresses[:3]...))
				expectStateAfterStart(t, r, before, "")
			})
		})
	}
}
