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

// hookedAdoption is a harness that counts mutating calls to AWS and writes to Kubernetes while isCounting is set. It
// runs act when the count reaches actAt.
type hookedAdoption struct {
	*adoptionHarness
	watch            *adoptionWatch
	callCount, actAt int
	act              func(r *adoptionHarness) fault.Action
	actsAfterWrite   bool // act after a write to Kubernetes instead of before
	isCounting       bool
	reachedCall      string
	userAction       func()
}

func (h *hookedAdoption) countCall(what string) (out fault.Action) {
	if !h.isCounting {
		return fault.Action{}
	}
	if h.callCount++; h.callCount == h.actAt {
		h.reachedCall = what
		return h.act(h.adoptionHarness)
	}
	return fault.Action{}
}

func newHookedAdoption(t *testing.T, at int, after bool, act func(r *adoptionHarness) fault.Action) *hookedAdoption {
	h := &hookedAdoption{watch: &adoptionWatch{}, actAt: at, act: act, actsAfterWrite: after}
	h.adoptionHarness = newAdoptionHarness(t, Options{Checkpoints: true, Transport: h.watch.wrap, API: func(api kube.API) kube.API {
		return apiHook{api, func(after bool) {
			if after == h.actsAfterWrite {
				h.countCall("write")
			}
		}}
	}})
	h.watch.r = h.adoptionHarness
	h.Emulator.Faults().SetHook(func(c fault.Call) fault.Action {
		if !c.Mutating {
			return fault.Action{}
		}
		return h.countCall(c.Operation)
	})
	h.isCounting = true
	return h
}

// TestAdoptionsSurviveKillAtAnyCall checks adoptions and returns that are interrupted at any call or write: the
// process is killed or does not receive the response of AWS. The next process completes them, and requests are
// answered as before all the time.
func TestAdoptionsSurviveKillAtAnyCall(t *testing.T) {
	t.Parallel()
	total := 0
	synctest.Test(t, func(t *testing.T) {
		h := newHookedAdoption(t, 0, false, nil)
		checkAdoptionRound(t, h.adoptionHarness, h.watch)
		total = h.callCount
	})
	if total < 40 {
		t.Fatalf("%d calls and writes", total)
	}
	first := 0 // differs for each way of interruption, so that they interrupt different calls
	for _, name := range []string{"killed", "lost"} {
		act := map[string]func(r *adoptionHarness) fault.Action{
			"killed": func(r *adoptionHarness) fault.Action { r.Kill(); return fault.Action{} },
			"lost":   func(*adoptionHarness) fault.Action { return fault.Action{Lose: true} },
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
							h := newHookedAdoption(t, at, after, act)
							defer func() {
								if t.Failed() {
									t.Logf("%s at %d of %d, %s", name, at, total, h.reachedCall)
								}
							}()
							checkAdoptionRound(t, h.adoptionHarness, h.watch)
						})
					})
				}
			})
		}
	}
}

// adoptionUserActions are actions of users during an adoption.
var adoptionUserActions = map[string]func(r *adoptionHarness){
	"members deleted":    func(r *adoptionHarness) { r.deleteAll(cluster.KindIngress) },
	"one member deleted": func(r *adoptionHarness) { r.deleteIfExists(cluster.KindIngress, "shop", "a") },
	"gateway deleted":    func(r *adoptionHarness) { r.deleteAll(cluster.KindGateway) },
	"annotation off":     func(r *adoptionHarness) { r.annotateIfExists("shop", "edge", "fulcrum.dev/adopt-") },
	"annotation and members off": func(r *adoptionHarness) {
		r.annotateIfExists("shop", "edge", "fulcrum.dev/adopt-")
		r.deleteAll(cluster.KindIngress)
	},
	"members and gateway": func(r *adoptionHarness) { r.deleteAll(cluster.KindIngress); r.deleteAll(cluster.KindGateway) },
	"gateway and members": func(r *adoptionHarness) { r.deleteAll(cluster.KindGateway); r.deleteAll(cluster.KindIngress) },
	"dry-run":             func(r *adoptionHarness) { r.annotateIfExists("shop", "edge", "gateway.k8s.aws/dry-run=true") },
	"class deleted":       func(r *adoptionHarness) { r.deleteIfExists(cluster.KindGatewayClass, "", "alb") },
	"another name":        func(r *adoptionHarness) { r.annotateIfExists("shop", "edge", "fulcrum.dev/adopt=ingress-group/other") },
	"routes deleted":      func(r *adoptionHarness) { r.deleteAll(cluster.KindHTTPRoute) },
	"another scheme":      func(r *adoptionHarness) { r.configure("shop", "edge", "{scheme: internet-facing}") },
}

func (r *adoptionHarness) deleteAll(kind cluster.Kind) {
	for _, o := range r.Store.All(kind) {
		if o.GetDeletionTimestamp() == nil {
			r.deleteObject(kind, o.GetNamespace(), o.GetName())
		}
	}
}

func (r *adoptionHarness) deleteIfExists(kind cluster.Kind, namespace, name string) {
	if obj, _ := r.Store.Get(cluster.Ref{Kind: kind, Namespace: namespace, Name: name}); obj != nil {
		r.deleteObject(kind, namespace, name)
	}
}

func (r *adoptionHarness) annotateIfExists(namespace, name string, annotations ...string) {
	if obj, _ := r.Store.Get(cluster.Ref{Kind: cluster.KindGateway, Namespace: namespace, Name: name}); obj != nil {
		annotateGateway(r.Harness, namespace, name, annotations...)
	}
}

// TestDeletionDuringAdoptionLeavesNothing checks that nothing remains after all objects are deleted, whatever users do
// during an adoption or a return, with or without a restart.
func TestDeletionDuringAdoptionLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, back := range []bool{false, true} {
		total := 0
		synctest.Test(t, func(t *testing.T) {
			h := newHookedAdoption(t, 0, false, nil)
			deleteDuringAdoption(t, h, back)
			total = h.callCount
		})
		if total < 10 {
			t.Fatalf("%d calls and writes", total)
		}
		first := 0 // differs for each action, so that together the actions cover each call
		for _, name := range slices.Sorted(maps.Keys(adoptionUserActions)) {
			event := adoptionUserActions[name]
			for _, kill := range []bool{false, true} {
				first++
				t.Run(fmt.Sprintf("back %t, %s, kill %t", back, name, kill), func(t *testing.T) {
					t.Parallel()
					step := seeds.Step(12)
					for at := 1 + first%step; at <= total; at += step {
						t.Run(fmt.Sprint(at), func(t *testing.T) {
							synctest.Test(t, func(t *testing.T) {
								h := newHookedAdoption(t, at, true, nil)
								done := false
								h.act = func(r *adoptionHarness) fault.Action {
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
										t.Logf("%s at %d of %d, %s\n%s", name, at, total, h.reachedCall, h.eventTexts())
									}
								}()
								h.userAction = func() {
									if !done {
										event(h.adoptionHarness)
									}
								}
								deleteDuringAdoption(t, h, back)
							})
						})
					}
				})
			}
		}
	}
}

// deleteDuringAdoption runs an adoption and, if back is true, a return, and deletes all objects at the end. It counts
// only the calls of the return or, if back is false, of the adoption.
func deleteDuringAdoption(t *testing.T, h *hookedAdoption, back bool) {
	t.Helper()
	r := h.adoptionHarness
	h.isCounting = false
	empty := r.State()
	r.Apply(adoptedIngressGroup, adoptingRoutes)
	r.settleWithRestarts(time.Hour)
	r.Apply(gatewayOf("shop", "edge", adoptAnnotation))
	h.isCounting = !back
	r.Settle(time.Hour)
	if back {
		h.isCounting = true
		annotateGateway(r.Harness, "shop", "edge", "gateway.k8s.aws/dry-run=true")
		r.Settle(time.Hour)
	}
	h.isCounting = false
	if r.WasKilled() {
		if h.userAction != nil {
			h.userAction()
		}
		r.Start()
		r.Settle(time.Hour)
	}
	h.check(t)
	r.Apply(gatewayClassALB)
	r.Settle(time.Hour)
	r.deleteAllAndCheck(empty)
}

// check fails the test if there are more than two load balancers, or two while a resource still has the tag that
// records an adoption.
func (h *hookedAdoption) check(t *testing.T) {
	t.Helper()
	r := h.adoptionHarness
	if n := len(r.arns()); n > 1 {
		if n > 2 || len(r.stateWithTag(naming.AdoptedTag)) > 0 {
			t.Fatalf("%d load balancers: %v\n%s", n, r.State(), r.eventTexts())
		}
	}
}
