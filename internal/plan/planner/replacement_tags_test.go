package planner_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// TestReplacementDoesNotExceedTheTagLimit checks that, while a load balancer with the maximum number of user tags is
// replaced, its tags do not exceed the limit of AWS, and that in the end all user tags are on the new load balancer.
func TestReplacementDoesNotExceedTheTagLimit(t *testing.T) {
	t.Parallel()
	tagged := func(scheme model.Scheme) model.Stack {
		s := withDesiredScheme(scheme, withFinalizers(stackWithRules(forwardRule("/*", "g1"))))
		s.LoadBalancer.Tags = map[string]string{}
		for i := range naming.MaxTags - 3 { // the remaining tags are those of the controller
			s.LoadBalancer.Tags[fmt.Sprintf("user-%02d", i)] = "a"
		}
		return s
	}
	r := newReplacementTest(observed.Stack{Facts: publicFacts()})
	r.run(t, tagged(model.Internal), time.Minute)
	replaced := false
	r.afterStep = func(p plan.Plan, step plan.StepID) {
		for _, lb := range r.have.LoadBalancers {
			replaced = replaced || lb.Tags[naming.ReplacedTag] != ""
			if len(lb.Tags) > naming.MaxTags {
				t.Fatalf("after %s %s has %d tags\n%s", step, lb.Name, len(lb.Tags), p.Text())
			}
		}
	}
	p := r.run(t, tagged(model.InternetFacing), time.Hour)
	if !p.Empty() || !replaced || len(r.have.LoadBalancers) != 1 || len(r.have.LoadBalancers[0].Tags) != naming.MaxTags {
		t.Errorf("replaced: %v, load balancers: %+v\n%s", replaced, r.have.LoadBalancers, p.Text())
	}
}
