package cloud_test

import (
	"fmt"
	"testing"
	"time"

	elb "github.com/aws/aws-sdk-go-v2/service/elasticloadbalancingv2"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
)

// fullStack returns a desired state whose creation makes nearly every kind of mutating call.
func fullStack() model.Stack {
	return desiredStack(webStack, func(s *model.Stack) {
		s.LoadBalancer.Attributes = map[string]string{"idle_timeout.timeout_seconds": "120"}
		s.TargetGroups[0].Attributes = map[string]string{"deregistration_delay.timeout_seconds": "10"}
		g := s.LoadBalancer.SecurityGroups.(model.SecurityGroupsManaged)
		g.Backend = true
		s.LoadBalancer.SecurityGroups = g
		s.BackendSecurityGroup = model.BackendSecurityGroupUse{Needed: true}
	})
}

// changedStack returns a desired state that differs from fullStack. The change from fullStack to changedStack makes nearly
// every other kind of mutating call.
func changedStack() model.Stack {
	s := fullStack()
	s.LoadBalancer.Tags = map[string]string{"cost": "7"}
	s.LoadBalancer.AddressType = model.DualStack
	s.TargetGroups[0].HealthCheck.Path = "/healthz"
	l := &s.LoadBalancer.Listeners[0]
	l.Default = []model.Action{model.FixedResponse{Status: "503", ContentType: "text/plain"}}
	l.Rules = []model.Rule{forwardRule(s.Members[0].Ref, "/new", "api"), l.Rules[1], l.Rules[0]}
	g := s.LoadBalancer.SecurityGroups.(model.SecurityGroupsManaged)
	g.Group.Ingress = g.Group.Ingress[:1]
	s.LoadBalancer.SecurityGroups = g
	return s
}

// advance advances the manual clock. If there is none, it sleeps, in virtual time.
func (r *harness) advance(d time.Duration) {
	if r.clock == nil {
		time.Sleep(d)
		return
	}
	r.clock.Advance(d)
}

// converge applies plans of a stack until no step is left. It returns an error after 8 plans.
func (r *harness) converge(want model.Stack) error {
	var last error
	for range 8 {
		questions := want.Questions()
		var p plan.Plan
		ok := false
		for range 5 {
			have, err := r.cloud.Observe(r.ctx, want.ID, questions)
			if err != nil {
				last = err
				break
			}
			if p, _ = planner.Make(want, have, r.planOptions(), plan.Memory{}); len(p.Questions) == 0 {
				ok = true
				break
			}
			questions = append(questions, p.Questions...)
		}
		if !ok {
			continue
		}
		todo := 0
		for _, s := range p.Steps {
			if !plan.WritesToKubernetes(s.Do) {
				todo++
			}
		}
		if todo == 0 && p.RetryAfter == 0 {
			return nil
		}
		if err := r.apply(p); err != nil {
			last = err
		}
		r.advance(max(time.Second, p.RetryAfter))
	}
	return fmt.Errorf("not reached; last error: %w", last)
}

// TestStackConvergesAfterAFailureOfAnyCall creates and changes a stack many times. In run n, only call n fails, once. The
// final state must be the same as without a failure.
func TestStackConvergesAfterAFailureOfAnyCall(t *testing.T) {
	throttled := &store.Error{Code: "Throttling", Message: "Rate exceeded", Status: 400}
	broken := &store.Error{Code: "InternalFailure", Message: "try again", Status: 500}
	actions := map[string]fault.Action{
		"lost answer": {Lose: true}, "lost call": {Reset: true}, "throttled": {Error: throttled}, "broken": {Error: broken},
	}
	for name, action := range actions {
		for _, attempts := range []int{1, 3} {
			if attempts > 1 && !action.Lose {
				continue // the SDK retries, and the controller does not see the failure
			}
			t.Run(fmt.Sprintf("%s, %d attempts", name, attempts), func(t *testing.T) {
				for n := 1; ; n++ {
					r := newHarness(t, func(c *cloud.Config) { c.MaxAttempts, c.MaxBackoff = attempts, time.Nanosecond })
					hit := false
					r.em.Faults().SetHook(func(c fault.Call) fault.Action {
						if c.Sequence == n {
							hit = true
							return action
						}
						return fault.Action{}
					})
					for i, want := range []model.Stack{fullStack(), changedStack(), fullStack()} {
						if err := r.converge(want); err != nil {
							t.Fatalf("call %d, state %d: %v", n, i, err)
						}
					}
					r.em.Faults().SetHook(nil)
					r.cloud.Forget()
					r.checkNoSteps(fullStack())
					r.checkCounts(1, 2)
					if !hit {
						break
					}
				}
			})
		}
	}
}

// checkCounts checks the numbers of load balancers and target groups in AWS, for example to find resources that were created
// twice.
func (r *harness) checkCounts(lbs, groups int) {
	r.t.Helper()
	l := must(r.elb.DescribeLoadBalancers(r.ctx, &elb.DescribeLoadBalancersInput{}))(r.t).LoadBalancers
	g := must(r.elb.DescribeTargetGroups(r.ctx, &elb.DescribeTargetGroupsInput{}))(r.t).TargetGroups
	if len(l) != lbs || len(g) != groups {
		r.t.Errorf("there are %d load balancers and %d target groups, want %d and %d", len(l), len(g), lbs, groups)
	}
}

func TestDeletionSucceedsAfterAFailureOfAnyCall(t *testing.T) {
	for name, action := range map[string]fault.Action{"lost answer": {Lose: true}, "lost call": {Reset: true}} {
		t.Run(name, func(t *testing.T) {
			for n := 1; ; n++ {
				r := newHarness(t)
				if err := r.converge(fullStack()); err != nil {
					t.Fatal(err)
				}
				hit := false
				r.em.Faults().SetHook(func(c fault.Call) fault.Action {
					if c.Sequence == n {
						hit = true
						return action
					}
					return fault.Action{}
				})
				if err := r.converge(deletedStack(webStack)); err != nil {
					t.Fatalf("call %d: %v", n, err)
				}
				r.em.Faults().SetHook(nil)
				r.checkCounts(0, 0)
				if !hit {
					break
				}
			}
		})
	}
}
