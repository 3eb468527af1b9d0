package planner_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
)

// TestNotFoundRulesPrecedeTheRuleOfTheMember checks that rules that answer 404 for hostnames of other namespaces are placed
// directly before the rule of the member that may not use them, and that the other rules keep their order.
func TestNotFoundRulesPrecedeTheRuleOfTheMember(t *testing.T) {
	for name, c := range map[string]struct {
		live    []int32          // priorities of the existing rules
		foreign map[int32]int    // number of hostnames by the priority of the rule
		made    []int32          // priorities of new rules
		moved   map[string]int32 // new priorities of moved rules
	}{
		"nothing is foreign":     {[]int32{1, 2}, nil, nil, nil},
		"there is room":          {[]int32{1, 9}, map[int32]int{9: 1}, []int32{2}, nil},
		"of the first rule":      {[]int32{4}, map[int32]int{4: 3}, []int32{1, 2, 3}, nil},
		"no room":                {[]int32{1, 2, 3, 9}, map[int32]int{2: 1}, []int32{2}, map[string]int32{"r2": 3, "r3": 4}},
		"too little room":        {[]int32{3, 5, 6}, map[int32]int{5: 3}, []int32{4, 5, 6}, map[string]int32{"r5": 7, "r6": 8}},
		"of two rules":           {[]int32{1, 2}, map[int32]int{1: 1, 2: 1}, []int32{1, 3}, map[string]int32{"r1": 2, "r2": 4}},
		"listed out of order":    {[]int32{7, 1}, map[int32]int{7: 1}, []int32{2}, nil},
		"no priority above":      {[]int32{49998, 49999, 50000}, map[int32]int{49999: 2}, []int32{2, 3}, map[string]int32{"r49998": 1, "r49999": 4, "r50000": 5}},
		"a rule that moves last": {[]int32{1, 3}, map[int32]int{1: 2}, []int32{1, 2}, map[string]int32{"r1": 3, "r3": 4}},
	} {
		t.Run(name, func(t *testing.T) {
			l := observed.Listener{ARN: "l", Port: 80, Protocol: "HTTP"}
			withdrawn := model.Withdrawn{}
			for _, p := range c.live {
				arn := fmt.Sprintf("r%d", p)
				l.Rules = append(l.Rules, observed.Rule{ARN: arn, Priority: p, Conditions: []model.Condition{model.PathPattern{Values: []string{"/*"}}}, Actions: weightedForward("tg", 1)})
				for n := range c.foreign[p] {
					withdrawn.Hostnames = append(withdrawn.Hostnames, model.ForeignHostname{
						Rule: arn, Host: model.HostHeader{Values: []string{fmt.Sprintf("h%d-%d.example.com", p, n)}},
						Withdrawal: model.Withdrawal{Object: testMember, Field: "f", Reason: finding.RouteNotAdmitted, Message: "m"},
					})
				}
			}
			have := observed.Stack{Facts: testFacts(), LoadBalancers: []observed.LoadBalancer{{ARN: "lb", ResourceID: model.LoadBalancerID, Type: "application", Listeners: []observed.Listener{l}}}}
			have.Facts.Withdrawn = &withdrawn
			want := model.Stack{ID: testStackID, Members: []model.Member{{Ref: testMember, Finalizer: "f", Claimed: true}}}
			want.Held.AllResources = true
			p, found := planner.Make(want, have, testOptions, plan.Memory{})
			var made []int32
			moved := map[string]int32{}
			for _, s := range p.Steps {
				switch do := s.Do.(type) {
				case plan.CreateRule:
					made = append(made, do.Priority)
					if !s.IsRevocation || len(do.Rule.Actions) != 1 || !plan.IsErrorResponse(do.Rule.Actions) || len(c.moved) > 0 != (len(s.After) == 1) {
						t.Errorf("step %+v", s)
					}
				case plan.SetPriorities:
					for a, to := range do.Priorities {
						moved[a.ID] = to
					}
				default:
					t.Errorf("step %+v", s)
				}
			}
			if !slices.Equal(made, c.made) || fmt.Sprint(moved) != fmt.Sprint(c.moved) && len(moved)+len(c.moved) > 0 {
				t.Errorf("made %v, moved %v; want %v, %v", made, moved, c.made, c.moved)
			}
			told := slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Object == testMember && f.Reason == finding.RouteNotAdmitted })
			if told != (len(withdrawn.Hostnames) > 0) {
				t.Errorf("findings: %v", found)
			}
		})
	}
}
