package cases

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"
	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan/handover"
	"github.com/fulcrum-lb/fulcrum/internal/test/harness"
	"github.com/fulcrum-lb/fulcrum/internal/test/reference"
)

// takeoverCases are cases in whose adoption the reference controller takes over the cluster. They differ in security groups,
// namespaces, listeners and certificates, and some have rules that a Gateway orders differently.
var takeoverCases = []string{
	"ingress-group-namespaces", "ingress-group-tls", "ingress-security-groups", "ingress-security-groups-managed", "ingress-ssl-redirect", "ingress-hosts",
}

// recordMoments runs a case through adoption, return, second adoption and release, and returns the moments of these steps.
func recordMoments(t *testing.T, name string) (*adoption, *desiredStates, []moment) {
	t.Helper()
	a := &adoption{t: t}
	rec := &momentRecorder{a: a}
	a.r = NewHarness(t, harness.Options{Transport: rec.transport, API: func(api kube.API) kube.API { rec.API = api; return rec }})
	empty := harness.SnapshotOf(a.r)
	applyCaseFunc(t, name)(a.r)
	a.settle("ingress")
	time.Sleep(controllerRunTime) // until all targets are healthy
	before := a.r.State()
	result := translateIngresses(t, a.r)
	a.ingressGroups = result.IngressGroups
	a.recordOriginalLoadBalancers()
	rec.beginStep("ingress")
	a.applyDryRunGateways(result)
	rec.beginStep("shadow")
	docs := &desiredStates{t: t, emptyAWS: empty.AWS, documentCache: map[string][]byte{}, snapshot: harness.SnapshotOf(a.r)}
	for _, step := range []struct {
		name string
		do   func()
	}{{"adopt", a.adopt}, {"give back", func() { a.returnToIngresses(before) }}, {"adopt again", a.adopt}, {"delete the Ingresses", a.deleteIngresses}, {"finish", a.removeAdoptAnnotations}} {
		rec.beginStep(step.name)
		step.do()
	}
	rec.beginStep("end")
	rec.isRecording = false
	return a, docs, rec.moments
}

// reconcileOrder is the order in which the reference controller reconciles the stacks. If interruptAtChange is not 0, it
// reconciles all other stacks before this change of the first stack.
type reconcileOrder struct {
	isReversed        bool
	interruptAtChange int
}

// reconcileOrders returns the order with index i modulo the number of orders, or all orders with FULCRUM_ADOPTIONS=all.
func reconcileOrders(i int) []reconcileOrder {
	all := []reconcileOrder{{false, 0}, {true, 0}, {false, 1}, {true, 1}, {false, 3}, {true, 3}, {false, 6}, {true, 6}}
	if os.Getenv("FULCRUM_ADOPTIONS") == "all" {
		return all
	}
	return all[i%len(all) : i%len(all)+1]
}

func (s *referenceControllerRun) stackOrder(w reconcileOrder) []int {
	out := s.stackIndexes()
	if w.isReversed {
		slices.Reverse(out)
	}
	return out
}

// TestOtherControllerTakesOverDuringAdoption lets the reference controller take over the cluster after changes of an
// adoption, a return and a release. The result must be as docs/migration.md documents it for the state that "fulcrum migrate
// status" shows at that moment. The test covers the first change of each kind in each direction, or all changes in all
// orders with FULCRUM_ADOPTIONS=all.
func TestOtherControllerTakesOverDuringAdoption(t *testing.T) {
	t.Parallel()
	seen := map[handover.State]int{}
	for c, name := range takeoverCases {
		synctest.Test(t, func(t *testing.T) {
			a, docs, moments := recordMoments(t, name)
			for i, m := range sampleMoments(moments, map[string]bool{}) {
				for _, w := range reconcileOrders(i + c) {
					seen[a.checkTakeoverAt(m, docs, w)]++
				}
				if t.Failed() {
					return
				}
			}
		})
	}
	for _, state := range []handover.State{handover.StateNotRequested, handover.StateShadow, handover.StateAdopting, handover.StateAdopted, handover.StateGivingBack, handover.StateReleased} {
		if seen[state] < 6 && !t.Failed() {
			t.Errorf("state %s was met %d times", state, seen[state])
		}
	}
	t.Log(seen)
}

// checkTakeoverAt lets the reference controller take over at a moment, checks the outcome, and returns the state at that
// moment.
func (a *adoption) checkTakeoverAt(m moment, docs *desiredStates, w reconcileOrder) handover.State {
	a.t.Helper()
	s := a.restoreMoment(m, docs)
	state := s.handoverStates()[0]
	s.handOverToReferenceController()
	out := s.reconcileAllStacks(s.stackOrder(w), w.interruptAtChange)
	fault := func(what string, args ...any) {
		a.t.Helper()
		a.t.Errorf("%s, %s, %s, %+v: %s\n%v\n%v", a.ingressGroups[0].ID, m, state, w, fmt.Sprintf(what, args...), s.changeLog, out)
	}
	if s.deletionFault != "" {
		fault("a resource that serves requests was deleted %s", s.deletionFault)
	}
	halfway := state == handover.StateAdopting || state == handover.StateGivingBack
	if s.lostAnswers != "" && !halfway {
		fault("requests get other answers %s", s.lostAnswers)
	}
	ingress, gateway := out[s.ingressGroups[0].ID], out[gatewayStack(s.ingressGroups[0].Gateway.Namespace, s.ingressGroups[0].Gateway.Name)]
	switch state {
	case handover.StateNotRequested, handover.StateShadow:
		if s.r.Emulator.Calls().CountMutating() > 0 || ingress.Err != nil || gateway.Err != nil || !gateway.IsDryRun && state == handover.StateShadow {
			fault("the reference controller changes something or fails")
		}
	case handover.StateAdopted:
		if gateway.Err != nil || !s.hasDeletedIngress() && (ingress.Err == nil || !strings.Contains(ingress.Err.Error(), "Duplicate")) {
			fault("the Gateway fails, or the Ingresses do not fail with a duplicate name")
		}
		s.checkIngressDeletion(fault)
	case handover.StateReleased:
		if s.r.Emulator.Calls().CountMutating() > s.countTagRemovals() || gateway.Err != nil || ingress.Err != nil {
			fault("the reference controller changes resources of the Gateway, or fails")
		}
	}
	if !halfway {
		s.checkOutcome(ingress)
		s.checkOutcome(gateway)
	}
	return state
}

// checkOutcome checks that the outcome shows the original load balancer, if it shows one.
func (s *referenceControllerRun) checkOutcome(o reference.Outcome) {
	s.t.Helper()
	if o.DNSName != "" {
		s.checkHostname(0, o.DNSName)
	}
}

// hasDeletedIngress reports whether an Ingress is being deleted or is deleted.
func (s *referenceControllerRun) hasDeletedIngress() bool {
	return slices.ContainsFunc(s.ingressGroups[0].Members, func(m finding.Ref) bool {
		obj, _ := s.r.Store.Get(cluster.Ref{Kind: cluster.KindIngress, Namespace: m.Namespace, Name: m.Name})
		return obj == nil || obj.GetDeletionTimestamp() != nil
	})
}

// countTagRemovals returns the number of calls that have removed the tags of an adoption. The reference controller removes
// them, because it does not know them.
func (s *referenceControllerRun) countTagRemovals() (n int) {
	for _, e := range s.r.Emulator.Calls().Entries() {
		if in, ok := e.Input.(*elb.RemoveTagsInput); ok && slices.Equal(in.TagKeys, []string{naming.AdoptedTag, naming.AdoptedNamespacesTag}) {
			n++
		}
	}
	return n
}

// deleteIngresses deletes the Ingresses and runs the reference controller.
func (s *referenceControllerRun) deleteIngresses(order []int) map[model.StackID]reference.Outcome {
	for _, g := range s.ingressGroups {
		for _, m := range g.Members {
			if err := s.r.Store.Delete(cluster.Ref{Kind: cluster.KindIngress, Namespace: m.Namespace, Name: m.Name}); err != nil && !apierrors.IsNotFound(err) {
				s.t.Fatal(err)
			}
		}
	}
	return s.reconcileAllStacks(order, 0)
}

// checkIngressDeletion deletes the Ingresses after the Gateway has adopted all resources, and checks that their deletion
// completes and changes nothing.
func (s *referenceControllerRun) checkIngressDeletion(fault func(string, ...any)) {
	s.t.Helper()
	before := s.r.State()
	n := len(s.changeLog)
	s.deleteIngresses(s.stackIndexes())
	if left := s.r.Store.All(cluster.KindIngress); len(left) > 0 {
		fault("%d Ingresses are not deleted", len(left))
	}
	for _, c := range s.changeLog[n:] {
		// If the security groups belong to users, the Ingresses may have created target groups before they failed because a
		// name is in use.
		if c.Operation != "DeleteTargetGroup" {
			fault("the deletion of the Ingresses changes something")
		}
	}
	idle := func(line string) bool {
		return strings.HasPrefix(line, "target-group ") && strings.Contains(line, `"ingress.k8s.aws/stack"`)
	}
	if diff := cmp.Diff(slices.DeleteFunc(before, idle), s.r.State()); diff != "" || s.lostAnswers != "" {
		fault("the deletion of the Ingresses changes something: %s%s", diff, s.lostAnswers)
	}
}

// TestOtherControllerDeletesTaggedResourcesDuringAdoption checks the warning in docs/migration.md: if an Ingress is deleted
// while the reference controller runs in the middle of an adoption, all resources that still have its tags are deleted.
func TestOtherControllerDeletesTaggedResourcesDuringAdoption(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, docs, moments := recordMoments(t, takeoverCases[0])
		taken := map[handover.State]int{}
		for i, m := range moments {
			if i%3 > 0 {
				continue
			}
			s := a.restoreMoment(m, docs)
			state := s.handoverStates()[0]
			s.handOverToReferenceController()
			s.deleteIngresses(s.stackIndexes())
			s.recordLostAnswers()
			if s.deletionFault != "" {
				taken[state]++
			}
		}
		if taken[handover.StateAdopting] == 0 || taken[handover.StateGivingBack] == 0 {
			t.Errorf("no resources are deleted in the middle of an adoption or a return: %v", taken)
		}
		if taken[handover.StateAdopted]+taken[handover.StateReleased] > 0 {
			t.Errorf("resources of the Gateway are deleted: %v", taken)
		}
		t.Log(taken)
	})
}
