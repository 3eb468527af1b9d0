package owners

import (
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/draft"
	"github.com/fulcrum-lb/fulcrum/internal/plan/overlap"
	"github.com/fulcrum-lb/fulcrum/internal/plan/resolved"
)

var webIngress = finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "web"}

func hostRule(host string, actions ...model.Action) model.Rule {
	return model.Rule{Conditions: []model.Condition{model.HostHeader{Values: []string{host}}}, Actions: actions}
}

func forwardAction(arn string) model.Action {
	return model.Forward{Groups: []model.WeightedTargetGroup{{Group: model.TargetGroupRef{ARN: arn}}}}
}

// TestHeldMemberKeepsOnlyItsRules checks that an existing rule is retained for a held member only if the rule belongs
// to that member. It is not retained if another namespace owns the host, if an accepted member or another rule uses it, or
// if it forwards to a target group that was created for another object.
func TestHeldMemberKeepsOnlyItsRules(t *testing.T) {
	answer := model.FixedResponse{Status: "200", ContentType: "text/plain", Body: "ok"}
	all := model.HeldMember{Member: webIngress, All: true}
	does := func(actions ...model.Action) model.HeldMember {
		return model.HeldMember{Member: webIngress, Rules: []model.Rule{hostRule("a.example.com", actions...)}}
	}
	for name, c := range map[string]struct {
		live     model.Action // the action of the existing rule for host "a.example.com"
		held     model.HeldMember
		foreign  []string // hosts of other namespaces
		accepted []model.Rule
		taken    bool // whether another rule already uses the existing rule
		stays    bool
	}{
		"target group of the member":                              {live: forwardAction("own"), held: all, stays: true},
		"target group of another object":                          {live: forwardAction("of another"), held: all},
		"target group of a namespace with the same prefix":        {live: forwardAction("of shopping"), held: all},
		"a host of another namespace":                             {live: forwardAction("own"), held: all, foreign: []string{"a.example.com"}},
		"a host within a wildcard of another":                     {live: forwardAction("own"), held: all, foreign: []string{"*.example.com"}},
		"another host of another namespace":                       {live: forwardAction("own"), held: all, foreign: []string{"b.example.com"}, stays: true},
		"host of a rule of an accepted member":                    {live: forwardAction("own"), held: all, accepted: []model.Rule{hostRule("a.example.com", answer)}},
		"an accepted rule for another host":                       {live: forwardAction("own"), held: all, accepted: []model.Rule{hostRule("b.example.com", answer)}, stays: true},
		"rule is used for another rule":                           {live: forwardAction("own"), held: all, taken: true},
		"same action as the rule of the member":                   {live: answer, held: does(answer), stays: true},
		"different action than the rule of the member":            {live: model.FixedResponse{Status: "404"}, held: does(answer)},
		"same action, for a host of another namespace":            {live: answer, held: does(answer), foreign: []string{"a.example.com"}},
		"target group by ARN that belongs to no member":           {live: forwardAction("elsewhere"), held: does(forwardAction("elsewhere")), stays: true},
		"target group by ARN of another object":                   {live: forwardAction("of another"), held: does(forwardAction("of another"))},
		"target group by ARN of a namespace with the same prefix": {live: forwardAction("of shopping"), held: does(forwardAction("of shopping"))},
	} {
		t.Run(name, func(t *testing.T) {
			c.held.ForeignHosts = c.foreign
			d := &draft.Draft{
				Want: model.Stack{ID: model.StackID{Kind: model.Ingress, Name: "edge"}, Held: model.HeldParts{Members: []model.HeldMember{c.held}}},
				Have: observed.Stack{TargetGroups: []observed.TargetGroup{
					{ARN: "own", ResourceID: "shop/web-app:80"}, {ARN: "of another", ResourceID: "shop/other-app:80"}, {ARN: "of shopping", ResourceID: "shopping/web-app:80"},
				}},
			}
			l := &resolved.Listener{Live: &observed.Listener{Rules: []observed.Rule{
				{ARN: "rule", Priority: 1, Conditions: hostRule("a.example.com").Conditions, Actions: []model.Action{c.live}},
			}}}
			for _, r := range c.accepted {
				l.Rules = append(l.Rules, resolved.Rule{Desired: r})
			}
			NewRetention(NewTargetGroups(d), ConditionKeys{}).RetainRules(l, map[string]bool{"rule": c.taken})
			if stays := len(l.Rules) > len(c.accepted); stays != c.stays {
				t.Errorf("rule is retained: %t, want %t", stays, c.stays)
			}
		})
	}
}

// TestForeignHostsAreCompiledOnceForEachNamespace checks that held members of two namespaces in turn do not multiply the cost
// of the hosts of other namespaces.
func TestForeignHostsAreCompiledOnceForEachNamespace(t *testing.T) {
	lists := [2][]string{{"*.a.example.com"}, {"*.b.example.com"}}
	d := &draft.Draft{}
	for i := range 100 {
		d.Want.Held.Members = append(d.Want.Held.Members, model.HeldMember{Member: webIngress, All: true, ForeignHosts: lists[i%2]})
	}
	shapes := map[*overlap.Shape]bool{}
	for _, s := range NewRetention(NewTargetGroups(d), ConditionKeys{}).foreignHosts {
		shapes[s] = true
	}
	if len(shapes) != 2 {
		t.Errorf("%d shapes", len(shapes))
	}
}
