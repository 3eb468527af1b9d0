package properties

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/document"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/test/enginetest"
	"github.com/fulcrum-lb/fulcrum/internal/test/seeds"
)

// TestDocumentIsConstantWhilePlanIsApplied checks that the document of a desired state does not change while its plan is
// applied, and does not depend on the order of the Kubernetes objects.
func TestDocumentIsConstantWhilePlanIsApplied(t *testing.T) {
	t.Parallel()
	seeds.Each(t, randomIngressGroupCount/2, func(t *testing.T, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 4))
		s := randomShape(r)
		have := emptyState()
		have.Facts.BackendSecurityGroup = &observed.SecurityGroup{ID: "sg-backend", Tags: naming.BackendSecurityGroupTags("rig", nil)}
		for range 2 {
			objs := s.newObjects(r)
			want, _ := translateIngressGroup(t, newStore(t, objs), s.id())
			planWithAllAnswers(t, want, &have, alwaysHealthy)
			first := planner.Describe(want, have, planOptions, plan.Memory{})
			end, moments := converge(t, want, have, pick(r, []string{"", "/web", "api", "a-web"}))
			if hasAmbiguousHeldRule(want, have) {
				return
			}
			moves := len(want.Held.Members) > 0 && hasRuleReordering(moments)
			for range min(4, len(moments)) {
				m := pick(r, moments)
				if moves {
					continue
				}
				if now := planner.Describe(want, m.have, planOptions, plan.Memory{}); !reflect.DeepEqual(first, now) {
					t.Errorf("seed %d: after %s:\n%s\n%s", seed, m.step, cmp.Diff(documentLines(first), documentLines(now)), describeObjects(objs))
					return
				}
			}
			r.Shuffle(len(objs), func(i, j int) { objs[i], objs[j] = objs[j], objs[i] })
			again, _ := translateIngressGroup(t, enginetest.NewShuffledSource(newStore(t, objs), r.Uint64()), s.id())
			if now := planner.Describe(again, end, planOptions, plan.Memory{}); !moves && documentLines(first) != documentLines(now) {
				t.Errorf("seed %d: at the end, and in another order:\n%s\n%s", seed, cmp.Diff(documentLines(first), documentLines(now)), describeObjects(objs))
				return
			}
			have = end
		}
	})
}

// hasAmbiguousHeldRule reports whether a member or rule is held while several rules in AWS have the same conditions.
// Only the first of these rules gets requests, and the observed state does not show which of them must be kept.
func hasAmbiguousHeldRule(want model.Stack, have observed.Stack) bool {
	held := len(want.Held.Members) > 0
	if want.LoadBalancer != nil {
		for _, l := range want.LoadBalancer.Listeners {
			held = held || slices.ContainsFunc(l.Rules, func(r model.Rule) bool { return r.Held != 0 })
		}
	}
	if lb := have.LiveLoadBalancer(model.LoadBalancerID); held && lb != nil {
		for _, l := range lb.Listeners {
			places := map[string]bool{}
			for _, r := range l.Rules {
				place := fmt.Sprint(r.Conditions)
				if places[place] {
					return true
				}
				places[place] = true
			}
		}
	}
	return false
}

// hasRuleReordering reports whether a step changes the order of listener rules. Held rules of a member with an unknown
// position in the IngressGroup keep their position in AWS. This position differs after other rules have moved.
func hasRuleReordering(moments []stepState) bool {
	return slices.ContainsFunc(moments, func(m stepState) bool { return strings.HasPrefix(string(m.step), "order ") })
}

// documentLines returns the JSON of a document with a line for each resource, or "" if d is nil.
func documentLines(d *document.Document) string {
	if d == nil {
		return ""
	}
	return strings.ReplaceAll(d.JSON(), "}},", "}},\n")
}
