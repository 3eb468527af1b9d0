package bindings_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/durations"
)

// interleavingAWS is a fakeAWS that calls runOther during calls, so that runs of other bindings interleave, and checkRevoked
// for each revoked rule.
type interleavingAWS struct {
	*fakeAWS
	runOther     func()
	checkRevoked func(group string, r model.IngressRule)
}

func (a *interleavingAWS) TargetGroupsOf(account bindings.Account) bindings.TargetGroups {
	a.fakeAWS.TargetGroupsOf(account)
	return a
}

func (a *interleavingAWS) ENIs(ctx context.Context, q bindings.ENIQuery) (bindings.ENIs, error) {
	out, err := a.fakeAWS.ENIs(ctx, q)
	a.runOther()
	return out, err
}

func (a *interleavingAWS) TargetHealth(ctx context.Context, arn string, age time.Duration) (observed.Health, error) {
	out, err := a.fakeAWS.TargetHealth(ctx, arn, age)
	a.runOther()
	return out, err
}

func (a *interleavingAWS) Register(ctx context.Context, arn string, priority bindings.CallPriority, add []bindings.Target) error {
	a.runOther()
	return a.fakeAWS.Register(ctx, arn, priority, add)
}

func (a *interleavingAWS) Deregister(ctx context.Context, arn string, priority bindings.CallPriority, out []*observed.Target) error {
	a.runOther()
	return a.fakeAWS.Deregister(ctx, arn, priority, out)
}

func (a *interleavingAWS) ChangeEndpointRules(ctx context.Context, group string, authorize, revoke []model.IngressRule) error {
	err := a.fakeAWS.ChangeEndpointRules(ctx, group, authorize, revoke)
	for _, r := range revoke {
		a.checkRevoked(group, r)
	}
	return err
}

// ruleSafetyTest makes random changes for four bindings. The first and the last binding share a target group.
type ruleSafetyTest struct {
	*harness
	r *rand.Rand
	// pods are the pod numbers of each Service. Pods of the first and the last Service have the same addresses.
	pods            [4][]int
	missingServices map[string]time.Time // the time since which a Service is missing, by the name of its binding
	running         map[string]bool
	revokedRules    int // number of rules that were revoked so far
	enqueued        enqueuedBindings
}

var safetyBindings = []string{"a", "b", "c", "d"}

func newRuleSafetyTest(t *testing.T, seed uint64) *ruleSafetyTest {
	s := &ruleSafetyTest{harness: rulesHarness(t), r: rand.New(rand.NewPCG(seed, 17)), missingServices: map[string]time.Time{}, running: map[string]bool{}}
	s.conf.Queue = &s.enqueued
	s.conf.Cloud = &interleavingAWS{fakeAWS: s.aws, runOther: s.runOtherBinding, checkRevoked: s.checkRevokedRule}
	s.restart()
	for k, name := range safetyBindings {
		s.putObjects(serviceDoc("s"+name, "ClusterIP"))
		s.putBinding(k)
	}
	return s
}

// putBinding creates or replaces binding k. Its port is always the same.
func (s *ruleSafetyTest) putBinding(k int) {
	name, arn := safetyBindings[k], safetyBindings[k%3]
	doc := strings.ReplaceAll(bindingDoc(name, "s"+name, "ip", 8080+k%3), "arn/"+name, "arn/"+arn)
	if k%3 == 0 {
		doc += "  multiClusterTargetGroup: true\n"
	}
	s.putObjects(doc)
}

func (s *ruleSafetyTest) putPods(k int, pods ...int) {
	s.pods[k] = pods
	var all []pod
	for _, i := range pods {
		all = append(all, pod{name: fmt.Sprintf("%s-%d", safetyBindings[k%3], i), ip: ruleAddress(k%3, i), node: []string{"n1", "n2"}[i%2]})
	}
	s.putObjects(podDocs("s"+safetyBindings[k], all...))
}

// runOtherBinding runs a random binding at random. It is called during runs of other bindings.
func (s *ruleSafetyTest) runOtherBinding() {
	name := safetyBindings[s.r.IntN(4)]
	if s.r.IntN(3) == 0 && len(s.running) < 3 && !s.running[name] {
		s.tryRunOnce(name)
	}
}

// tryRunOnce runs a binding, unless it is already running. Errors are ignored, because failed runs are retried.
func (s *ruleSafetyTest) tryRunOnce(name string) {
	if s.running[name] {
		return
	}
	s.running[name] = true
	_, _ = s.reconciler.Reconcile(s.t.Context(), keyOf(name))
	delete(s.running, name)
}

// checkRevokedRule fails the test if a registered target of a binding needs the revoked rule r.
func (s *ruleSafetyTest) checkRevokedRule(group string, r model.IngressRule) {
	s.revokedRules++
	for k, name := range safetyBindings {
		b := s.binding(name)
		since, missing := s.missingServices[name]
		if b == nil || b.DeletionTimestamp != nil || missing && s.now.Sub(since) >= durations.FirstBackOff {
			continue
		}
		for _, i := range s.pods[k] {
			registered := slices.ContainsFunc(s.aws.targetsByGroup["arn/"+safetyBindings[k%3]], func(t *observed.Target) bool { return t.ID == ruleAddress(k%3, i) })
			if registered && group == []string{"sg-node", "sg-other"}[i%2] && r.From == int32(8080+k%3) {
				s.t.Fatalf("the rule of port %d in %s is taken away, which target %s of binding %s needs", r.From, group, ruleAddress(k%3, i), name)
			}
		}
	}
}

// makeRandomEvent makes a random change in the cluster or in AWS, or restarts the process.
func (s *ruleSafetyTest) makeRandomEvent() {
	k := s.r.IntN(4)
	name := safetyBindings[k]
	some := s.r.Perm(6)[:s.r.IntN(4)]
	switch s.r.IntN(12) {
	case 0:
		if _, missing := s.missingServices[name]; !missing {
			s.deleteObject(cluster.KindService, "s"+name)
			s.missingServices[name] = s.now
		}
	case 1, 2:
		s.putObjects(serviceDoc("s"+name, "ClusterIP"))
		delete(s.missingServices, name)
	case 3:
		if b := s.binding(name); b != nil && b.DeletionTimestamp == nil {
			s.deleteObject(cluster.KindBinding, name)
		}
	case 4, 5:
		if b := s.binding(name); b == nil || b.DeletionTimestamp == nil {
			s.putBinding(k)
		}
	case 6:
		if len(s.running) == 0 {
			s.restart()
		}
	case 7:
		s.setAddressesVisible(s.r.IntN(2), s.r.IntN(3) > 0)
	case 8: // the pods move from binding "a" to binding "d", which has the same target group
		s.putPods(3, append(slices.Clone(s.pods[0]), s.pods[3]...)...)
		s.putPods(0)
	case 9:
		s.aws.setAllStates("arn/"+safetyBindings[k%3], "healthy")
	default:
		if k%3 == 0 { // a pod must not belong to both Services of the shared target group
			some = slices.DeleteFunc(some, func(i int) bool { return slices.Contains(s.pods[3-k], i) })
		}
		s.putPods(k, some...)
	}
}

// TestNoRuleOfARegisteredTargetIsRevoked changes Services, pods, bindings and the addresses that AWS returns at random,
// while runs of several bindings interleave. It checks that no rule of a registered target is revoked while the Service of
// the target exists or has been missing for less than five seconds. At the end, only the rules that bindings need must
// exist.
func TestNoRuleOfARegisteredTargetIsRevoked(t *testing.T) {
	taken := 0
	for seed := range uint64(60) {
		s := newRuleSafetyTest(t, seed)
		for range 60 {
			s.makeRandomEvent()
			for range s.r.IntN(4) {
				s.tryRunOnce(safetyBindings[s.r.IntN(4)])
			}
			s.now = s.now.Add(time.Duration(s.r.IntN(3000)) * time.Millisecond)
		}
		for n := range 2 {
			s.setAddressesVisible(n, true)
		}
		for k, name := range safetyBindings {
			s.putObjects(serviceDoc("s"+name, "ClusterIP"))
			s.putPods(k, s.pods[k]...)
		}
		clear(s.missingServices)
		for range 8 {
			s.enqueued = nil
			for _, k := range s.r.Perm(4) {
				s.tryRunOnce(safetyBindings[k])
			}
			for _, name := range safetyBindings[:3] {
				s.aws.setAllStates("arn/"+name, "healthy")
			}
			s.now = s.now.Add(2 * time.Minute)
		}
		// SyncRules is also called regularly in the controller, because a binding may have been deleted while no process
		// ran.
		if err := s.reconciler.SyncRules(t.Context()); err != nil {
			t.Fatal(err)
		}
		if len(s.enqueued) > 0 {
			t.Fatalf("seed %d: %d runs are asked for without a change", seed, len(s.enqueued))
		}
		s.aws.takeLog()
		if err := bindings.New(s.conf).SyncRules(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := s.aws.takeLog(); left != "" {
			t.Fatalf("seed %d: in the end a computation for all bindings leads to: %s", seed, left)
		}
		taken += s.revokedRules
	}
	if taken < 100 {
		t.Errorf("only %d rules were taken away", taken)
	}
}
