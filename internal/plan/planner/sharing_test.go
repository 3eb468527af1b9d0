package planner_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/test/plantest"
)

// heldRule returns a held rule, whose action could not be determined.
func heldRule(path string) model.Rule {
	r := forwardRule(path, "")
	r.Actions, r.Held = nil, model.HeldInvalid
	return r
}

// refusedRule returns a rule that AWS refuses to create or change.
func refusedRule(path, group string) model.Rule {
	r := forwardRule(path, group)
	r.Held |= model.HeldRefused
	return r
}

// heldAndRefusedRule returns a held rule for which AWS also refuses the placeholder rule that answers 503.
func heldAndRefusedRule(path string) model.Rule {
	r := heldRule(path)
	r.Held |= model.HeldRefused
	return r
}

// ruleAnswers returns the answers of the rules of port 80, in order.
func ruleAnswers(have observed.Stack) (out []string) {
	for _, r := range have.LiveLoadBalancer(model.LoadBalancerID).Listeners[0].Rules {
		out = append(out, answerText(r.Actions))
	}
	return out
}

// TestHeldRuleIsOmittedForRuleWithTheSameConditions checks that, of several rules with the same conditions, in any order, a
// held rule is omitted if one of the rules is not held, and that the existing rules are retained if all are held. A second
// plan is empty.
func TestHeldRuleIsOmittedForRuleWithTheSameConditions(t *testing.T) {
	for name, c := range map[string]struct {
		before, after []model.Rule
		want          []string
	}{
		"a held one after a good one": {
			[]model.Rule{forwardRule("/a", "g1")}, []model.Rule{forwardRule("/a", "g1"), heldRule("/a")},
			[]string{"target-group/g1"},
		},
		"a held one before a good one takes nothing from it": {
			[]model.Rule{forwardRule("/a", "g1")}, []model.Rule{heldRule("/a"), forwardRule("/a", "g1")},
			[]string{"target-group/g1"},
		},
		"the second of two is held": {
			[]model.Rule{forwardRule("/a", "g1"), forwardRule("/a", "g2")}, []model.Rule{forwardRule("/a", "g1"), heldRule("/a")},
			[]string{"target-group/g1"},
		},
		"the first of two is held": {
			[]model.Rule{forwardRule("/a", "g1"), forwardRule("/a", "g2")}, []model.Rule{heldRule("/a"), forwardRule("/a", "g2")},
			[]string{"target-group/g2"},
		},
		"a new one beside one that is held": {
			[]model.Rule{forwardRule("/a", "g2")}, []model.Rule{forwardRule("/a", "g1"), heldRule("/a")},
			[]string{"target-group/g1"},
		},
		"two are held": {
			[]model.Rule{forwardRule("/a", "g1"), forwardRule("/a", "g2")}, []model.Rule{heldRule("/a"), heldRule("/a")},
			[]string{"target-group/g1", "target-group/g2"},
		},
		"AWS refuses to change the first of two": {
			[]model.Rule{forwardRule("/a", "g1"), forwardRule("/a", "g2")}, []model.Rule{refusedRule("/a", "g3"), forwardRule("/a", "g2")},
			[]string{"target-group/g1", "target-group/g2"},
		},
		"AWS refuses to make the first of two": {
			[]model.Rule{forwardRule("/a", "g2")}, []model.Rule{refusedRule("/a", "g3"), forwardRule("/a", "g2")},
			[]string{"target-group/g2"},
		},
		"AWS refuses the 503 too": {
			[]model.Rule{forwardRule("/b", "g2")}, []model.Rule{heldAndRefusedRule("/a"), forwardRule("/b", "g2")},
			[]string{"target-group/g2"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			have := converge(t, withFinalizers(stackWithRules(c.before...)), observed.Stack{Facts: testFacts()})
			desired := stackWithRules(c.after...)
			desired.TargetGroups = slices.DeleteFunc(desired.TargetGroups, func(g model.TargetGroup) bool { return g.ID == "" })
			have = converge(t, withFinalizers(desired), have)
			if diff := cmp.Diff(c.want, ruleAnswers(have)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTransformsAreSetWithTheirTargets checks that a new rule does not have its transforms while it still forwards to the
// target groups of the default action.
func TestTransformsAreSetWithTheirTargets(t *testing.T) {
	old := stackWithRules(forwardRule("/a", "g1"))
	old.LoadBalancer.Listeners[0].Default, old.LoadBalancer.Listeners[0].Rules = old.LoadBalancer.Listeners[0].Rules[0].Actions, nil
	have := converge(t, withFinalizers(old), observed.Stack{Facts: testFacts()})
	rule := forwardRule("/a", "g2")
	rule.Transforms = []model.Transform{{Kind: model.URLRewrite, Rewrites: []model.Rewrite{{Regex: "^/a", Replace: "/"}}}}
	want := stackWithRules(rule)
	want.TargetGroups = append(want.TargetGroups, old.TargetGroups...)
	want.LoadBalancer.Listeners[0].Default = old.LoadBalancer.Listeners[0].Default
	have.Facts.Health = map[string]observed.Health{}
	p := planUntilNoQuestions(t, withFinalizers(want), &have, func(arn string) string {
		if arn == "target-group/g1" {
			return "healthy"
		}
		return "initial"
	})
	now := plantest.Simulate(have, p.KnownIDs, stepsInOrder(p))
	r := now.LiveLoadBalancer(model.LoadBalancerID).Listeners[0].Rules[0]
	if answerText(r.Actions) != "target-group/g1" || len(r.Transforms) > 0 {
		t.Errorf("the rule does %v, %s", r.Transforms, answerText(r.Actions))
	}
	now = converge(t, withFinalizers(want), now)
	r = now.LiveLoadBalancer(model.LoadBalancerID).Listeners[0].Rules[0]
	if answerText(r.Actions) != "target-group/g2" || len(r.Transforms) != 1 {
		t.Errorf("in the end the rule does %v, %s", r.Transforms, answerText(r.Actions))
	}
}

// TestEqualTargetGroupIDsDoNotMoveTargets checks that an existing target group is matched with the Service whose targets it
// has. Different target groups may have the same ID: that of Service b-c of Ingress a, and that of Service c of Ingress a-b.
func TestEqualTargetGroupIDsDoNotMoveTargets(t *testing.T) {
	desired := func(id, name, service string) model.TargetGroup {
		return model.TargetGroup{
			ID: id, Name: name, Type: model.IPTargets, Port: 80, Protocol: "HTTP", AddressType: model.IPv4,
			Binding: &model.Binding{Namespace: "shop", Name: name, Service: service},
		}
	}
	live := observed.TargetGroup{ARN: "arn:c", ResourceID: "shop/a-b-c:80", Name: "k8s-shop-c-1", Type: model.IPTargets, Port: 80, Protocol: "HTTP", AddressType: model.IPv4}
	have := observed.Stack{
		TargetGroups: []observed.TargetGroup{live},
		Bindings:     []observed.Binding{{Namespace: "shop", Name: "k8s-shop-c-1", ARN: "arn:c", Service: model.Binding{Service: "c"}}},
	}
	other := desired("shop/a-b-c:80", "k8s-shop-bc-2", "b-c")
	for name, c := range map[string]struct {
		want []model.TargetGroup
		ids  map[string]string // ID of the desired target group to ARN
	}{
		"its own, by another name as after another controller": {[]model.TargetGroup{desired("shop/a-b-c:80", "k8s-shop-c-9", "c")}, map[string]string{"shop/a-b-c:80": "arn:c"}},
		"another that comes first":                             {[]model.TargetGroup{other, desired("shop/a-b-c:80:ffff", "k8s-shop-c-1", "c")}, map[string]string{"shop/a-b-c:80:ffff": "arn:c"}},
		"another in its place":                                 {[]model.TargetGroup{other}, map[string]string{}},
	} {
		t.Run(name, func(t *testing.T) {
			got := planner.LiveTargetGroupARNs(model.Stack{ID: testStackID, TargetGroups: c.want}, have, testOptions)
			if diff := cmp.Diff(c.ids, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
