package equal

import (
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func TestForwardsWithTheSameSharesAreEqual(t *testing.T) {
	type share struct {
		arn    string
		weight int32
	}
	forward := func(list ...share) model.Forward {
		var f model.Forward
		for _, s := range list {
			f.Groups = append(f.Groups, model.WeightedTargetGroup{Group: model.TargetGroupRef{ARN: s.arn}, Weight: &s.weight})
		}
		return f
	}
	arn := func(g model.TargetGroupRef) string { return g.ARN }
	for name, c := range map[string]struct {
		want, have model.Forward
		same       bool
	}{
		"the same":                            {forward(share{"a", 1}, share{"b", 2}), forward(share{"b", 2}, share{"a", 1}), true},
		"another weight":                      {forward(share{"a", 1}, share{"b", 2}), forward(share{"a", 1}, share{"b", 3}), false},
		"a single group, another weight":      {forward(share{"a", 1}), forward(share{"a", 100}), true},
		"another group":                       {forward(share{"a", 1}), forward(share{"b", 1}), false},
		"a group beside with weight 0":        {forward(share{"a", 1}), forward(share{"a", 1}, share{"b", 0}), false},
		"a group named twice":                 {forward(share{"a", 20}, share{"a", 80}), forward(share{"a", 20}, share{"a", 80}), true},
		"a group named twice, shown once":     {forward(share{"a", 20}, share{"a", 80}), forward(share{"a", 100}), true},
		"one of two named twice":              {forward(share{"a", 1}, share{"b", 1}, share{"a", 1}), forward(share{"a", 2}, share{"b", 1}), true},
		"one of two named twice, other parts": {forward(share{"a", 1}, share{"b", 1}, share{"a", 1}), forward(share{"a", 1}, share{"b", 1}), false},
		"a group that is not created yet":     {forward(share{"", 1}), forward(share{"a", 1}), false},
	} {
		if got := sameForward(c.want, c.have, arn); got != c.same {
			t.Errorf("%s: %t", name, got)
		}
	}
}

func TestOrderOfConditionsDoesNotMatter(t *testing.T) {
	host := func(vs ...string) model.Condition { return model.HostHeader{Values: vs} }
	path := func(vs ...string) model.Condition { return model.PathPattern{Values: vs} }
	for name, c := range map[string]struct {
		a, b []model.Condition
		same bool
	}{
		"order of conditions":       {[]model.Condition{host("a"), path("/")}, []model.Condition{path("/"), host("a")}, true},
		"order and case of hosts":   {[]model.Condition{host("A", "b")}, []model.Condition{host("b", "a", "a")}, true},
		"case of paths":             {[]model.Condition{path("/A")}, []model.Condition{path("/a")}, false},
		"plain and regular":         {[]model.Condition{model.PathPattern{Values: []string{"a"}}}, []model.Condition{model.PathPattern{Regex: []string{"a"}}}, false},
		"one value and two":         {[]model.Condition{path("a 1:b")}, []model.Condition{path("a", "b")}, false},
		"pairs that look alike":     {[]model.Condition{model.QueryString{Pairs: []model.QueryPair{{Key: "a", Value: "1:b"}}}}, []model.Condition{model.QueryString{Pairs: []model.QueryPair{{Key: "a1:", Value: "b"}}}}, false},
		"name and value of headers": {[]model.Condition{model.HTTPHeader{Name: "a", Values: []string{"b"}}}, []model.Condition{model.HTTPHeader{Name: "ab"}}, false},
	} {
		if SameConditions(c.a, c.b) != c.same {
			t.Errorf("%s: same is %t", name, !c.same)
		}
	}
}
