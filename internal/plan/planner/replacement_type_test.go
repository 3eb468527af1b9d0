package planner_test

import (
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// TestTypeChangeCreatesTheNewLoadBalancerFirst checks that, if the type of the load balancer changes, the new load balancer
// is also created before the previous one is deleted.
func TestTypeChangeCreatesTheNewLoadBalancerFirst(t *testing.T) {
	t.Parallel()
	network := networkStack(model.Internal, map[int32]model.BaseProtocol{80: model.TCP})
	application := withFinalizers(stackWithRules(forwardRule("/*", "g1")))
	application.ID = network.ID
	for _, desires := range [][]model.Stack{{network, application}, {application, network}} {
		r := newReplacementTest(observed.Stack{Facts: frontendFacts()})
		r.run(t, desires[0], time.Minute)
		old := r.have.LoadBalancers[0].ARN
		var switched, deleted time.Time
		r.afterStep = func(p plan.Plan, _ plan.StepID) {
			switch there := len(withOnlyLoadBalancer(r.have, old).LoadBalancers) > 0; {
			case p.ShownARNs[loadBalancerAddress] != "" && !switched.IsZero():
				t.Fatal("the status shows the old load balancer again")
			case p.ShownARNs[loadBalancerAddress] == "" && switched.IsZero():
				switched = r.have.Facts.Now
			case !there && deleted.IsZero():
				deleted = r.have.Facts.Now
			}
		}
		if p := r.run(t, desires[1], time.Hour); !p.Empty() || len(r.have.LoadBalancers) != 1 || r.have.LoadBalancers[0].ARN == old {
			t.Errorf("%d load balancers\n%s", len(r.have.LoadBalancers), p.Text())
		}
		if kept := deleted.Sub(switched); kept < deletionDelay || kept > deletionDelay+time.Minute {
			t.Errorf("the old load balancer is deleted after %s", kept)
		}
	}
}

// TestLoadBalancerStaysIfAnotherTypeCannotBeCreated checks that, if a load balancer of another type cannot be created, the
// existing load balancer is retained unchanged, because it cannot have the desired listeners.
func TestLoadBalancerStaysIfAnotherTypeCannotBeCreated(t *testing.T) {
	t.Parallel()
	network := networkStack(model.Internal, map[int32]model.BaseProtocol{80: model.TCP})
	application := withFinalizers(stackWithRules(forwardRule("/*", "g1")))
	application.ID = network.ID
	for _, desires := range [][]model.Stack{{network, application}, {application, network}} {
		r := newReplacementTest(observed.Stack{Facts: frontendFacts()})
		r.run(t, desires[0], time.Minute)
		desires[1].Held.Replacement = true
		if p := r.plan(t, desires[1]); !p.Empty() || !r.reportedReasons[finding.ReplacementHeld] {
			t.Errorf("reported: %v\n%s", r.reportedReasons, p.Text())
		}
	}
}
