package plan

import (
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

func TestForwardsAreComparedByTheSharesOfTargetGroups(t *testing.T) {
	type share struct {
		arn    string
		weight int32
	}
	forward := func(list ...share) model.Forward {
		var f model.Forward
		for _, s := range list {
			f.Groups = append(f.Groups, model.WeightedGroup{Group: model.GroupRef{ARN: s.arn}, Weight: &s.weight})
		}
		return f
	}
	arn := func(g model.GroupRef) string { return g.ARN }
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
		"a group that is not made yet":        {forward(share{"", 1}), forward(share{"a", 1}), false},
	} {
		if got := sameForward(c.want, c.have, arn); got != c.same {
			t.Errorf("%s: %t", name, got)
		}
	}
}
