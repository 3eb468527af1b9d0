package planner_test

import (
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
	"github.com/fulcrum-lb/fulcrum/internal/plan/rules"
)

// TestDuplicateConditionsAreReported checks that, if a rule matches all requests of a later rule, the member of the later
// rule gets a finding that names the owner of the earlier rule.
func TestDuplicateConditionsAreReported(t *testing.T) {
	other := finding.Ref{Kind: "Ingress", Namespace: "n", Name: "other"}
	get := model.RequestMethod{Values: []string{"GET"}}
	at := func(r model.Rule, member finding.Ref, field string, more ...model.Condition) model.Rule {
		r.Member, r.Origin = member, finding.Origin{Object: member, Field: field}
		r.Conditions = append(more, r.Conditions...)
		return r
	}
	held := func(r model.Rule) model.Rule { r.Held = model.HeldInvalid; return r }
	for name, c := range map[string]struct {
		first, second model.Rule
		want          string
	}{
		"of one member":             {at(forwardRule("/a", "g1"), testMember, "one"), at(forwardRule("/a", "g2"), testMember, "two"), "one of the same object has the same conditions and comes first"},
		"of two members":            {at(forwardRule("/a", "g1"), other, "one"), at(forwardRule("/a", "g2"), testMember, "two"), "one of " + other.String() + " comes first"},
		"with more conditions":      {at(forwardRule("/a", "g1"), other, "one", get), at(forwardRule("/a", "g2"), testMember, "two", get), "one of " + other.String() + " comes first"},
		"with fewer conditions":     {at(forwardRule("/a", "g1"), testMember, "one", get), at(forwardRule("/a", "g2"), testMember, "two"), ""},
		"another path":              {at(forwardRule("/a", "g1"), testMember, "one"), at(forwardRule("/b", "g2"), testMember, "two"), ""},
		"a path below of one's own": {at(forwardRule("/a/*", "g1"), testMember, "one"), at(forwardRule("/a/b", "g2"), testMember, "two"), "one of the same object comes first and answers them"},
		"a header behind all":       {at(forwardRule("/*", "g1"), testMember, "one"), at(forwardRule("/*", "g2"), testMember, "two", get), "one of the same object comes first and answers them"},
		"the first is held":         {held(at(forwardRule("/a", "g1"), testMember, "one")), at(forwardRule("/a", "g2"), testMember, "two"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, found := planner.Make(withFinalizers(stackWithRules(c.first, c.second)), observed.Stack{Facts: testFacts()}, testOptions, plan.Memory{})
			var got []string
			for _, f := range found {
				if f.Reason == finding.RuleUnreachable {
					got = append(got, f.Object.String()+" "+f.Field+" "+f.Text())
				}
			}
			switch {
			case c.want == "" && len(got) > 0:
				t.Errorf("reported: %v", got)
			case c.want != "" && (len(got) != 1 || !strings.HasPrefix(got[0], testMember.String()+" two ") || !strings.Contains(got[0], c.want)):
				t.Errorf("want one with %q, got %v", c.want, got)
			}
		})
	}
}

// TestFixOfAnUnreachableRuleDependsOnTheKind checks that the fix names the order in the IngressGroup only for Ingresses,
// because other kinds have no such order.
func TestFixOfAnUnreachableRuleDependsOnTheKind(t *testing.T) {
	for kind, want := range map[string]bool{"Ingress": true, "HTTPRoute": false} {
		of := func(name string) model.Rule {
			return model.Rule{Member: finding.Ref{Kind: kind, Namespace: "shop", Name: name}}
		}
		f := rules.UnreachableRuleFinding(of("b"), of("a"))
		if got := strings.Contains(f.Message+f.Fix, "group"); got != want {
			t.Errorf("%s: %s", kind, f)
		}
	}
}
