package harness

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// adoptHooked is a harness whose hook counts mutating calls to AWS and writes to Kubernetes, and runs act at one of
// them.
type adoptHooked struct {
	*adopting
	watch   *adoptWatch
	n, at   int
	act     func(r *adopting) fault.Action
	after   bool // act after a write to Kubernetes instead of before
	counts  bool
	reached string
	event   func()
}

func (h *adoptHooked) note(what string) (out fault.Action) {
	if !h.counts {
		return fault.Action{}
	}
	if h.n++; h.n == h.at {
		h.reached = what
		return h.act(h.adopting)
	}
	return fault.Action{}
}

func newAdoptHooked(t *testing.T, at int, after bool, act func(r *adopting) fault.Action) *adoptHooked {
	h := &adoptHooked{watch: &adoptWatch{}, at: at, act: act, after: after}
	h.adopting = adoptHarness(t, Options{Checkpoints: true, Transport: h.watch.wrap, API: func(api kube.API) kube.API {
		return apiHook{api, func(after bool) {
			if after == h.after {
				h.note("write")
			}
		}}
	}})
	h.watch.r = h.adopting
	h.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
		if !c.Mutating {
			return fault.Action{}
		}
		return h.note(c.Operation)
	})
	h.counts = true
	return h
}

// TestAdoptionsSurviveKillAtAnyCall checks that the next process completes an adoption or a return when a process
// dies at any call or write, or does not receive the response of AWS, and that no request is answered differently
// meanwhile.
func TestAdoptionsSurviveKillAtAnyCall(t *testing.T) {
	t.Parallel()
	total := 0
	synctest.Test(t, func(t *testing.T) {
		h := newAdoptHooked(t, 0, false, nil)
		adoptRound(t, h.adopting, h.watch)
		total = h.n
	})
	if total < 40 {
		t.Fatalf("%d calls and writes", total)
	}
	first := 0 // tries each call about once, in one of the ways
	for _, name := range []string{"killed", "lost"} {
		act := map[string]func(r *adopting) fault.Action{
			"killed": func(r *adopting) fault.Action { r.Kill(); return fault.Action{} },
			"lost":   func(*adopting) fault.Action { return fault.Action{Lose: true} },
		}[name]
		for _, after := range []bool{false, true} {
			if name == "lost" && after {
				continue
			}
			first++
			t.Run(fmt.Sprint(name, after), func(t *testing.T) {
				t.Parallel()
				for at := min(first, seeds.Step(9)); at <= total; at += seeds.Step(9) {
					t.Run(fmt.Sprint(at), func(t *testing.T) {
						synctest.Test(t, func(t *testing.T) {
							h := newAdoptHooked(t, at, after, act)
							defer func() {
								if t.Failed() {
									t.Logf("%s at %d of %d, %s", name, at, total, h.reached)
								}
							}()
							adoptRound(t, h.adopting, h.watch)
						})
					})
				}
			})
		}
	}
}

// adoptEvents are actions of users in the middle of an adoption.
var adoptEvents = map[string]func(r *adopting){
	"members deleted":            func(r *adopting) { r.dropAll(cluster.KindIngress) },
	"one member deleted":         func(r *adopting) { r.dropIf(cluster.KindIngress, "shop", "a") },
	"gateway deleted":            func(r *adopting) { r.dropAll(cluster.KindGateway) },
	"annotation off":             func(r *adopting) { r.annotateIf("shop", "edge", "fulcrum.dev/adopt-") },
	"annotation and members off": func(r *adopting) { r.annotateIf("shop", "edge", "fulcrum.dev/adopt-"); r.dropAll(cluster.KindIngress) },
	"members and gateway":        func(r *adopting) { r.dropAll(cluster.KindIngress); r.dropAll(cluster.KindGateway) },
	"gateway and members":        func(r *adopting) { r.dropAll(cluster.KindGateway); r.dropAll(cluster.KindIngress) },
	"dry-run":                    func(r *adopting) { r.annotateIf("shop", "edge", "gateway.k8s.aws/dry-run=true") },
	"class deleted":              func(r *adopting) { r.dropIf(cluster.KindGatewayClass, "", "alb") },
	"another name":               func(r *adopting) { r.annotateIf("shop", "edge", "fulcrum.dev/adopt=ingress-group/other") },
	"routes deleted":             func(r *adopting) { r.dropAll(cluster.KindHTTPRoute) },
	"another scheme":             func(r *adopting) { r.configure("shop", "edge", "{scheme: internet-facing}") },
}

func (r *adopting) dropAll(kind cluster.Kind) {
	for _, o := range r.Store.All(kind) {
		if o.GetDeletionTimestamp() == nil {
			r.drop(kind, o.GetNamespace(), o.GetName())
		}
	}
}

func (r *adopting) dropIf(kind cluster.Kind, namespace, name string) {
	if obj, _ := r.Store.Get(cluster.Ref{Kind: kind, Namespace: namespace, Name: name}); obj != nil {
		r.drop(kind, namespace, name)
	}
}

func (r *adopting) annotateIf(namespace, name string, annotations ...string) {
	if obj, _ := r.Store.Get(cluster.Ref{Kind: cluster.KindGateway, Namespace: namespace, Name: name}); obj != nil {
		annotateGateway(r.Harness, namespace, name, annotations...)
	}
}

// TestDeletionDuringAdoptionLeavesNothing checks that nothing remains after all objects are deleted, whatever users
// do at any call of an adoption or a return, with or without a restart.
func TestDeletionDuringAdoptionLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, back := range []bool{false, true} {
		total := 0
		synctest.Test(t, func(t *testing.T) {
			h := newAdoptHooked(t, 0, false, nil)
			adoptMiddle(t, h, back)
			total = h.n
		})
		if total < 10 {
			t.Fatalf("%d calls and writes", total)
		}
		first := 0 // offsets the events, so that together they cover each call
		for _, name := range slices.Sorted(maps.Keys(adoptEvents)) {
			event := adoptEvents[name]
			for _, kill := range []bool{false, true} {
				first++
				t.Run(fmt.Sprintf("back %t, %s, kill %t", back, name, kill), func(t *testing.T) {
					t.Parallel()
					step := seeds.Step(12)
					for at := 1 + first%step; at <= total; at += step {
						t.Run(fmt.Sprint(at), func(t *testing.T) {
							synctest.Test(t, func(t *testing.T) {
								h := newAdoptHooked(t, at, true, nil)
								done := false
								h.act = func(r *adopting) fault.Action {
									if kill {
										r.Kill()
										return fault.Action{}
									}
									done = true
									event(r)
									return fault.Action{}
								}
								defer func() {
									if t.Failed() {
										t.Logf("%s at %d of %d, %s\n%s", name, at, total, h.reached, h.warnings())
									}
								}()
								h.event = func() {
									if !done {
										event(h.adopting)
									}
								}
								adoptMiddle(t, h, back)
							})
						})
					}
				})
			}
		}
	}
}

// adoptMiddle counts the calls of an adoption or, if back is true, of a return. Then it deletes all objects.
func adoptMiddle(t *testing.T, h *adoptHooked, back bool) {
	t.Helper()
	r := h.adopting
	h.counts = false
	empty := r.State()
	r.Apply(adoptedGroup, adoptingRoutes)
	r.alive(time.Hour)
	r.Apply(gatewayOf("shop", "edge", adoptsGroup))
	h.counts = !back
	r.Settle(time.Hour)
	if back {
		h.counts = true
		annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run=true")
		r.Settle(time.Hour)
	}
	h.counts = false
	if r.Dead() {
		if h.event != nil {
			h.event()
		}
		r.Start()
		r.Settle(time.Hour)
	}
	h.check(t)
	r.Apply(gatewayClassALB)
	r.Settle(time.Hour)
	r.expectRemoval(empty)
}

// check verifies the state at rest after any event: there is one load balancer, or there are two and no resource has
// the tag that records an adoption.
func (h *adoptHooked) check(t *testing.T) {
	t.Helper()
	r := h.adopting
	if n := len(r.arns()); n > 1 {
		if n > 2 || len(r.stateWithTag(naming.AdoptedTag)) > 0 {
			t.Fatalf("%d load balancers: %v\n%s", n, r.State(), r.warnings())
		}
	}
}
