package cloud_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/fault"
	"github.com/fulcrum-lb/fulcrum/internal/emulator/store"
	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// TestAnInterruptedReadIsResumed checks that a read that is interrupted by a failed call does not repeat the calls before
// it.
func TestAnInterruptedReadIsResumed(t *testing.T) {
	const listeners = 5
	cases := map[string]struct {
		operation string
		calls     map[string]int // number of calls in both reads, without the failed call
	}{
		"among the rules of listeners": {"DescribeRules", map[string]int{"elasticloadbalancing:DescribeListeners": 1, "elasticloadbalancing:DescribeRules": listeners}},
		"at the tags":                  {"DescribeTags", map[string]int{"elasticloadbalancing:DescribeLoadBalancers": 1, "elasticloadbalancing:DescribeTargetGroups": 1}},
		"at the zones of subnets":      {"DescribeAvailabilityZones", map[string]int{"ec2:DescribeSubnets": 1}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			r := newHarness(t, func(c *cloud.Config) { c.Clock = nil })
			want := desiredStack(webStack, withListeners(listeners))
			if err := r.converge(want); err != nil {
				t.Fatal(err)
			}
			r.restart()
			r.em.Calls().Reset()
			refused := &store.Error{Code: "InternalFailure", Message: "no", Status: 500}
			skip := 0
			if c.operation == "DescribeRules" {
				skip = 3
			}
			r.em.Faults().Add(fault.Rule{Operation: c.operation, Skip: skip, Count: 1, Action: fault.Action{Error: refused}})
			ask := []model.Question{model.AskSubnets{Choice: model.SubnetsTagged{}}}
			first, err := r.cloud.Observe(r.ctx, webStack, ask)
			if err == nil && len(first.Facts.Faults) == 0 {
				t.Fatal("the first read did not fail")
			}
			for key := range first.Facts.Faults {
				t.Log("fault in", key)
			}
			r.em.Faults().Reset()
			have, err := r.cloud.Observe(r.ctx, webStack, ask)
			if err != nil {
				t.Fatal(err)
			}
			if n := len(have.LoadBalancers); n != 1 || len(have.LoadBalancers[0].Listeners) != listeners {
				t.Fatalf("the second reading shows %d load balancers", n)
			}
			for _, l := range have.LoadBalancers[0].Listeners {
				if len(l.Rules) != 2 {
					t.Errorf("the second reading shows %d rules on port %d", len(l.Rules), l.Port)
				}
			}
			got := r.em.Calls().Counts()
			got["elasticloadbalancing:DescribeRules"]-- // the failed call
			if c.operation != "DescribeRules" {
				delete(got, "elasticloadbalancing:DescribeRules")
			}
			for op, n := range c.calls {
				if got[op] != n {
					t.Errorf("%d calls of %s, want %d", got[op], op, n)
				}
			}
		})
	}
}

// TestAnInterruptedListIsResumedAtItsPage lets every third call of a list with many pages fail. It checks by the number of
// calls that each read resumes at the page where the previous read failed, and that the list is read completely.
func TestAnInterruptedListIsResumedAtItsPage(t *testing.T) {
	for operation, tagging := range map[string]bool{"DescribeLoadBalancers": false, "DescribeTargetGroups": false, "DescribeSecurityGroups": false, "GetResources": true} {
		t.Run(operation, func(t *testing.T) {
			r := newHarness(t, func(c *cloud.Config) { c.TaggingAPI = tagging })
			const stacks = 7
			for n := range stacks {
				id := webStack
				id.Name = fmt.Sprintf("web%d", n)
				if err := r.converge(desiredStack(id)); err != nil {
					t.Fatal(err)
				}
			}
			r.em.Store().Config.PageSize = 1
			r.restart()
			calls, failed := 0, false
			r.em.Faults().SetHook(func(c fault.Call) fault.Action {
				if c.Operation != operation {
					return fault.Action{}
				}
				calls++
				if failed = calls%3 == 0; failed {
					return fault.Action{Error: &store.Error{Code: "InternalFailure", Message: "no", Status: 500}}
				}
				return fault.Action{}
			})
			for range 4 * stacks {
				before := calls
				_, err := r.cloud.Observe(r.ctx, webStack, nil)
				if done := !failed && calls > before; done && err == nil {
					break
				}
				r.clock.Advance(4 * time.Minute)
			}
			// Every third call fails, and there are up to three resources per stack.
			if failed || calls < stacks || calls > 9*stacks/2+1 {
				t.Errorf("%d calls, the last one failed: %v", calls, failed)
			}
		})
	}
}

// TestListBeginsAnewWhenItsTokenHasExpired checks that an interrupted list is read from its beginning after AWS has refused
// the token of the next page.
func TestListBeginsAnewWhenItsTokenHasExpired(t *testing.T) {
	for operation, code := range map[string]string{"DescribeSecurityGroups": "InvalidNextToken", "GetResources": "PaginationTokenExpiredException"} {
		t.Run(operation, func(t *testing.T) {
			r := newHarness(t, func(c *cloud.Config) { c.TaggingAPI = true })
			r.checkConverges(fullStack())
			r.em.Store().Config.PageSize = 1
			r.restart()
			calls := 0
			r.em.Faults().SetHook(func(c fault.Call) (out fault.Action) {
				if c.Operation != operation {
					return out
				}
				switch calls++; calls {
				case 2:
					out.Error = &store.Error{Code: "InternalFailure", Message: "no", Status: 500}
				case 3:
					out.Error = &store.Error{Code: code, Message: "expired", Status: 400}
				}
				return out
			})
			for range 2 {
				must(r.cloud.Observe(r.ctx, webStack, nil))(t)
				r.clock.Advance(time.Minute)
			}
			before := calls
			have := must(r.cloud.Observe(r.ctx, webStack, nil))(t)
			if len(have.SecurityGroups) == 0 || len(have.Facts.Faults) > 0 {
				t.Errorf("%d security groups, faults %v", len(have.SecurityGroups), have.Facts.Faults)
			}
			after := calls - before
			r.restart()
			must(r.cloud.Observe(r.ctx, webStack, nil))(t)
			if whole := calls - before - after; before != 3 || after != whole {
				t.Errorf("%d calls before and %d calls after the token has expired, want 3 and %d", before, after, whole)
			}
		})
	}
}

// withListeners returns a function that adds listeners on other ports until the load balancer has n listeners.
func withListeners(n int) func(*model.Stack) {
	return func(s *model.Stack) {
		for port := range n - 1 {
			l := s.LoadBalancer.Listeners[0]
			l.Port = int32(8080 + port)
			s.LoadBalancer.Listeners = append(s.LoadBalancer.Listeners, l)
		}
	}
}
