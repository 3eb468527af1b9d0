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

// interleaved is the small AWS, in which other bindings have their runs while a run waits for an answer, and which looks at
// each rule that is taken away.
type interleaved struct {
	*aws
	meanwhile func()
	revoked   func(group string, r model.IngressRule)
}

func (a *interleaved) TargetGroupsOf(account bindings.Account) bindings.TargetGroups {
	a.aws.TargetGroupsOf(account)
	return a
}

func (a *interleaved) ENIs(ctx context.Context, q bindings.ENIQuery) (bindings.ENIs, error) {
	out, err := a.aws.ENIs(ctx, q)
	a.meanwhile()
	return out, err
}

func (a *interleaved) TargetHealth(ctx context.Context, arn string, age time.Duration) (observed.Health, error) {
	out, err := a.aws.TargetHealth(ctx, arn, age)
	a.meanwhile()
	return out, err
}

func (a *interleaved) Register(ctx context.Context, arn string, turn bindings.CallPriority, add []bindings.Target) error {
	a.meanwhile()
	return a.aws.Register(ctx, arn, turn, add)
}

func (a *interleaved) Deregister(ctx context.Context, arn string, turn bindings.CallPriority, out []*observed.Target) error {
	a.meanwhile()
	return a.aws.Deregister(ctx, arn, turn, out)
}

func (a *interleaved) ChangeEndpointRules(ctx context.Context, group string, authorize, revoke []model.IngressRule) error {
	err := a.aws.ChangeEndpointRules(ctx, group, authorize, revoke)
	for _, r := range revoke {
		a.revoked(group, r)
	}
	return err
}

// safety is a history of four bindings, of which the first and the last share a target group.
type safety struct {
	*harness
	r       *rand.Rand
	pods    [4][]int             // of each Service, by number; those of the first and the last have the same addresses
	gone    map[string]time.Time // Services that are not there, and since when
	running map[string]bool
	taken   int // rules that were taken away
	again   runAgain
}

var safetyNames = []string{"a", "b", "c", "d"}

func newSafety(t *testing.T, seed uint64) *safety {
	s := &safety{harness: rulesHarness(t), r: rand.New(rand.NewPCG(seed, 17)), gone: map[string]time.Time{}, running: map[string]bool{}}
	s.conf.Queue = &s.again
	s.conf.Cloud = &interleaved{aws: s.aws, meanwhile: s.meanwhile, revoked: s.mayGo}
	s.restart()
	for k, name := range safetyNames {
		s.put(serviceDoc("s"+name, "ClusterIP"))
		s.bind(k)
	}
	return s
}

// bind makes a binding, or edits it. Its port does not change.
func (s *safety) bind(k int) {
	name, arn := safetyNames[k], safetyNames[k%3]
	doc := strings.ReplaceAll(bindingDoc(name, "s"+name, "ip", 8080+k%3), "arn/"+name, "arn/"+arn)
	if k%3 == 0 {
		doc += "  multiClusterTargetGroup: true\n"
	}
	s.put(doc)
}

func (s *safety) place(k int, pods ...int) {
	s.pods[k] = pods
	var all []pod
	for _, i := range pods {
		all = append(all, pod{name: fmt.Sprintf("%s-%d", safetyNames[k%3], i), ip: ruleAddress(k%3, i), node: []string{"n1", "n2"}[i%2]})
	}
	s.put(podDocs("s"+safetyNames[k], all...))
}

// meanwhile has another binding run, which a single worker for each binding allows.
func (s *safety) meanwhile() {
	name := safetyNames[s.r.IntN(4)]
	if s.r.IntN(3) == 0 && len(s.running) < 3 && !s.running[name] {
		s.try(name)
	}
}

// try runs a binding, which may fail and is tried again.
func (s *safety) try(name string) {
	if s.running[name] {
		return
	}
	s.running[name] = true
	_, _ = s.rec.Reconcile(s.t.Context(), keyOf(name))
	delete(s.running, name)
}

// mayGo fails if a rule that is taken away is one that a registered target of a binding needs.
func (s *safety) mayGo(group string, r model.IngressRule) {
	s.taken++
	for k, name := range safetyNames {
		b := s.binding(name)
		since, missing := s.gone[name]
		if b == nil || b.DeletionTimestamp != nil || missing && s.now.Sub(since) >= durations.FirstBackOff {
			continue
		}
		for _, i := range s.pods[k] {
			registered := slices.ContainsFunc(s.aws.groups["arn/"+safetyNames[k%3]], func(t *observed.Target) bool { return t.ID == ruleAddress(k%3, i) })
			if registered && group == []string{"sg-node", "sg-other"}[i%2] && r.From == int32(8080+k%3) {
				s.t.Fatalf("the rule of port %d in %s is taken away, which target %s of binding %s needs", r.From, group, ruleAddress(k%3, i), name)
			}
		}
	}
}

// event is something that happens to the cluster, to AWS, or to the process.
func (s *safety) event() {
	k := s.r.IntN(4)
	name := safetyNames[k]
	some := s.r.Perm(6)[:s.r.IntN(4)]
	switch s.r.IntN(12) {
	case 0:
		if _, missing := s.gone[name]; !missing {
			s.drop(cluster.KindService, "s"+name)
			s.gone[name] = s.now
		}
	case 1, 2:
		s.put(serviceDoc("s"+name, "ClusterIP"))
		delete(s.gone, name)
	case 3:
		if b := s.binding(name); b != nil && b.DeletionTimestamp == nil {
			s.drop(cluster.KindBinding, name)
		}
	case 4, 5:
		if b := s.binding(name); b == nil || b.DeletionTimestamp == nil {
			s.bind(k)
		}
	case 6:
		if len(s.running) == 0 {
			s.restart()
		}
	case 7:
		s.showAddresses(s.r.IntN(2), s.r.IntN(3) > 0)
	case 8: // the pods go over to the other binding of the target group
		s.place(3, append(slices.Clone(s.pods[0]), s.pods[3]...)...)
		s.place(0)
	case 9:
		s.aws.setAll("arn/"+safetyNames[k%3], "healthy")
	default:
		if k%3 == 0 { // a pod is behind one of the two
			some = slices.DeleteFunc(some, func(i int) bool { return slices.Contains(s.pods[3-k], i) })
		}
		s.place(k, some...)
	}
}

// TestNoRuleOfARegisteredTargetIsRevoked lets Services, pods, bindings and what AWS shows of addresses come and go at random,
// while runs of several bindings interleave: at no time is a rule taken away that a registered target of a binding needs whose
// Service is there, or has been missing for less than five seconds. In the end only the rules that are asked for are there.
func TestNoRuleOfARegisteredTargetIsRevoked(t *testing.T) {
	taken := 0
	for seed := range uint64(60) {
		s := newSafety(t, seed)
		for range 60 {
			s.event()
			for range s.r.IntN(4) {
				s.try(safetyNames[s.r.IntN(4)])
			}
			s.now = s.now.Add(time.Duration(s.r.IntN(3000)) * time.Millisecond)
		}
		for n := range 2 {
			s.showAddresses(n, true)
		}
		for k, name := range safetyNames {
			s.put(serviceDoc("s"+name, "ClusterIP"))
			s.place(k, s.pods[k]...)
		}
		clear(s.gone)
		for range 8 {
			s.again = nil
			for _, k := range s.r.Perm(4) {
				s.try(safetyNames[k])
			}
			for _, name := range safetyNames[:3] {
				s.aws.setAll("arn/"+name, "healthy")
			}
			s.now = s.now.Add(2 * time.Minute)
		}
		if err := s.rec.SyncRules(t.Context()); err != nil { // as is done once an hour: a binding may have gone with an earlier process
			t.Fatal(err)
		}
		if len(s.again) > 0 {
			t.Fatalf("seed %d: %d runs are asked for without a change", seed, len(s.again))
		}
		s.aws.take()
		if err := bindings.New(s.conf).SyncRules(t.Context()); err != nil {
			t.Fatal(err)
		}
		if left := s.aws.take(); left != "" {
			t.Fatalf("seed %d: in the end a computation for all bindings leads to: %s", seed, left)
		}
		taken += s.taken
	}
	if taken < 100 {
		t.Errorf("only %d rules were taken away", taken)
	}
}
