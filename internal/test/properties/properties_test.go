package properties

import (
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/test/goldentest"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
	"github.com/fulcrum-lb/fulcrum/internal/translate/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/translate/ingress"
)

// randomIngressGroupCount is the number of random IngressGroups for a test. Slower tests use a part of it.
const randomIngressGroupCount = 1400

func newIngressFrontend() *ingress.Frontend {
	return ingress.New(ingress.Options{Options: assemble.Options{Cluster: "rig"}, Class: "alb"})
}

func translateIngressGroup(t *testing.T, src cluster.Source, id model.StackID) (model.Stack, finding.List) {
	t.Helper()
	v := cluster.NewView(&cluster.ReducedSource{Source: src})
	s, found := newIngressFrontend().Translate(v, id, nil)
	if err := v.Err(); err != nil {
		t.Fatal(err)
	}
	return s, found
}

func TestTranslationDoesNotDependOnInputOrder(t *testing.T) {
	t.Parallel()
	seeds.Each(t, randomIngressGroupCount, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		s := randomShape(r)
		objs := s.newObjects(r)
		want, wantFound := translateIngressGroup(t, newStore(t, objs), s.id())
		r.Shuffle(len(objs), func(i, j int) { objs[i], objs[j] = objs[j], objs[i] })
		got, gotFound := translateIngressGroup(t, enginetest.NewShuffledSource(newStore(t, objs), r.Uint64()), s.id())
		if diff := cmp.Diff(goldentest.Dump(want), goldentest.Dump(got)); diff != "" {
			t.Errorf("seed %d: the stack differs:\n%s\n%s", seed, diff, describeObjects(objs))
		}
		if diff := cmp.Diff(wantFound, gotFound); diff != "" {
			t.Errorf("seed %d: the findings differ:\n%s\n%s", seed, diff, describeObjects(objs))
		}
	})
}

// TestFindingsNameObjectFieldAndRemedy checks that every finding names an object of the IngressGroup, a field of that
// object and a fix.
func TestFindingsNameObjectFieldAndRemedy(t *testing.T) {
	t.Parallel()
	seeds.Each(t, randomIngressGroupCount, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 2))
		s := randomShape(r)
		objs := s.newObjects(r)
		src := newStore(t, objs)
		_, found := translateIngressGroup(t, src, s.id())
		for _, f := range found {
			obj, err := src.Get(cluster.Ref{Kind: cluster.Kind(f.Object.Kind), Namespace: f.Object.Namespace, Name: f.Object.Name})
			if err != nil || obj == nil || f.Field == "" || f.Reason == "" || f.Message == "" || f.Fix == "" {
				t.Errorf("seed %d: %s\n%s", seed, f, describeObjects(objs))
			}
		}
	})
}

// TestEveryStepIsSafeAndPlansConverge checks plans that create a random IngressGroup, and plans that change it to a second
// version. At the end no steps are left. After each step of the change, each request must get its answer from before the
// change, its answer from the end, or its answer from an IngressGroup with only some members changed, because members do
// not wait for each other. A request that had no answer may get an error.
func TestEveryStepIsSafeAndPlansConverge(t *testing.T) {
	t.Parallel()
	seeds.Each(t, randomIngressGroupCount/2, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 3))
		s := randomShape(r)
		first := s.newObjects(r)
		want, _ := translateIngressGroup(t, newStore(t, first), s.id())
		have, _ := converge(t, want, emptyState(), "")
		checkNamesAndTags(t, seed, want, have)
		second := s.newObjects(r)
		wanted := want
		want, _ = translateIngressGroup(t, newStore(t, second), s.id())
		sick := pick(r, []string{"", "/web", "api", "a-web"})
		end, moments := converge(t, want, have, sick)
		checkNamesAndTags(t, seed, want, end)
		if p := planWithAllAnswers(t, want, &end, alwaysHealthy); !hasOnlyUserWaits(p) {
			t.Errorf("seed %d: steps are left at the end:\n%s", seed, p.Text())
		}
		targets := servicesByTargetGroup(have)
		for _, m := range moments {
			for arn, service := range servicesByTargetGroup(m.have) {
				if before, known := targets[arn]; known && before != service {
					t.Errorf("seed %d: target group %s changes from Service %s to Service %s", seed, arn, before, service)
				}
				targets[arn] = service
			}
		}
		was, will := requestAnswers(have), requestAnswers(end)
		var last seeds.LastValueCache[[]observed.Listener, []string]
		var between [][]string // answers if only some members are changed, computed when needed
		for _, m := range moments {
			now := last.Get(listenersOf(m.have), func() []string { return requestAnswers(m.have) })
			for i, is := range now {
				if is == was[i] || is == will[i] {
					continue
				}
				// A new load balancer or listener is not checked: it may answer with an error first.
				if was[i] == noAnswer && (have.LiveLoadBalancer(model.LoadBalancerID) == nil || strings.Contains(is, "FixedResponse")) {
					continue
				}
				// A request to unhealthy targets has no valid answer that a step could lose.
				if sick != "" && strings.Contains(was[i], sick) || isAnswerOfOtherMember(want, end, i, is) || isAnswerOfPreviousState(wanted, want, have, i, is) {
					continue
				}
				if between == nil {
					for _, objs := range mixedVersions(first, second) {
						want, _ := translateIngressGroup(t, newStore(t, objs), s.id())
						mixed, _ := converge(t, want, have, "")
						between = append(between, requestAnswers(mixed))
					}
				}
				if slices.ContainsFunc(between, func(mixed []string) bool { return is == mixed[i] }) {
					continue
				}
				t.Errorf("seed %d: %v is answered by\n  %q, before by\n  %q, at the end by\n  %q\nafter %s of\n%s\nfirst:\n%s\nsecond:\n%s",
					seed, requests[i], is, was[i], will[i], m.step, m.plan.Text(), describeObjects(first), describeObjects(second))
				return
			}
		}
	})
}

// isAnswerOfOtherMember reports whether an answer (is) comes from a rule in the final state that matches the request,
// but belongs to another member than the first matching rule. Such a rule may be created before the first matching rule.
func isAnswerOfOtherMember(want model.Stack, end observed.Stack, request int, is string) bool {
	q := requests[request]
	for _, l := range end.LiveLoadBalancer(model.LoadBalancerID).Listeners {
		i := slices.IndexFunc(want.LoadBalancer.Listeners, func(w model.Listener) bool { return w.Port == q.port })
		if l.Port != q.port || i < 0 {
			continue
		}
		var first finding.Ref
		members := membersOf(want.LoadBalancer.Listeners[i], l.Rules)
		for j, r := range l.Rules {
			if _, meets := model.FirstMatchingRule([]model.Rule{{Conditions: r.Conditions}}, q.model()); !meets {
				continue
			}
			if first.IsZero() {
				first = members[j]
			}
			if members[j] != first && actionsText(r.Transforms, r.Actions) == is {
				return true
			}
		}
	}
	return false
}

// isAnswerOfPreviousState reports whether an answer (is) comes from a matching rule in the previous state, and the first
// matching rule belongs to another namespace, or the rule itself moves to another namespace. Then the first matching
// rule may be deleted before this rule is changed. A default action counts only if its namespace changes.
func isAnswerOfPreviousState(first, second model.Stack, have observed.Stack, request int, is string) bool {
	q := requests[request]
	for _, l := range have.LiveLoadBalancer(model.LoadBalancerID).Listeners {
		if l.Port != q.port {
			continue
		}
		if actionsText(nil, l.Default) == is && defaultNamespace(first, l.Port) != defaultNamespace(second, l.Port) {
			return true
		}
		var met []string
		for _, r := range l.Rules {
			if _, meets := model.FirstMatchingRule([]model.Rule{{Conditions: r.Conditions}}, q.model()); !meets {
				continue
			}
			was, will := namespacesWithRule(first, l.Port, r.Conditions), namespacesWithRule(second, l.Port, r.Conditions)
			other := func(n string) bool { return !slices.Contains(was, n) }
			if met == nil {
				met = was
			}
			if actionsText(r.Transforms, r.Actions) == is && len(was) > 0 && (slices.ContainsFunc(will, other) || slices.ContainsFunc(met, other)) {
				return true
			}
		}
	}
	return false
}

// defaultNamespace returns the namespace of the member with the default backend of a port, or "" if there is none.
func defaultNamespace(s model.Stack, port int32) string {
	for _, l := range s.LoadBalancer.Listeners {
		if l.Port == port {
			return l.DefaultOf.Object.Namespace
		}
	}
	return ""
}

// namespacesWithRule returns the namespaces of the members that have a rule with the conditions on a port.
func namespacesWithRule(s model.Stack, port int32, conditions []model.Condition) []string {
	var out []string
	for _, l := range s.LoadBalancer.Listeners {
		for _, r := range l.Rules {
			if l.Port == port && (reflect.DeepEqual(r.Conditions, conditions) || reflect.DeepEqual(r.PlaceholderConditions, conditions)) {
				out = append(out, r.Member.Namespace)
			}
		}
	}
	return out
}

// membersOf returns the member of each rule in live, or a zero Ref if l has no rule with its conditions. Rules with the
// same conditions are assumed to have the same order in l and in live.
func membersOf(l model.Listener, live []observed.Rule) []finding.Ref {
	out := make([]finding.Ref, len(live))
	taken := map[int]bool{}
	for i, o := range live {
		for j, r := range l.Rules {
			if !taken[j] && (reflect.DeepEqual(r.Conditions, o.Conditions) || reflect.DeepEqual(r.PlaceholderConditions, o.Conditions)) {
				out[i], taken[j] = r.Member, true
				break
			}
		}
	}
	return out
}

// mixedVersions returns all mixtures of two versions of an IngressGroup that have Ingresses. In a mixture, each Ingress is
// as in first or as in second. Other objects are always those of second.
func mixedVersions(first, second []cluster.Object) (out [][]cluster.Object) {
	names := map[string][2]cluster.Object{}
	var others []cluster.Object
	for which, objs := range [][]cluster.Object{first, second} {
		for _, o := range objs {
			if _, ok := o.(*networkingv1.Ingress); ok {
				pair := names[o.GetNamespace()+"/"+o.GetName()]
				pair[which] = o
				names[o.GetNamespace()+"/"+o.GetName()] = pair
			} else if which == 1 {
				others = append(others, o)
			}
		}
	}
	keys := slices.Sorted(maps.Keys(names))
	for bits := range 1 << len(keys) {
		mixed := slices.Clone(others)
		for i, k := range keys {
			if o := names[k][bits>>i&1]; o != nil {
				mixed = append(mixed, o)
			}
		}
		if len(mixed) > len(others) {
			out = append(out, mixed)
		}
	}
	return out
}

// servicesByTargetGroup returns "namespace/name" of the Service of each TargetGroupBinding, by target group ARN.
func servicesByTargetGroup(have observed.Stack) map[string]string {
	out := map[string]string{}
	for _, b := range have.Bindings {
		out[b.ARN] = b.Namespace + "/" + b.Service.Service
	}
	return out
}
