package planner_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// TestWaitOfADeletedRuleDoesNotBlamePods checks that the message about the wait of a rule that another user has deleted does
// not blame the pods, because AWS does not check the targets while no rule forwards to them.
func TestWaitOfADeletedRuleDoesNotBlamePods(t *testing.T) {
	want := withFinalizers(stackWithRules(forwardRule("/a", "g2"), forwardRule("/*", "g1")))
	whole := converge(t, want, observed.Stack{Facts: testFacts()})
	const checks = "AWS checks the targets once a rule forwards to them"
	for state, says := range map[string]string{
		"unused":    checks,
		"unhealthy": "; check the pods and the health check if the targets do not become healthy",
	} {
		t.Run(state, func(t *testing.T) {
			have := whole
			have.LoadBalancers = slices.Clone(whole.LoadBalancers)
			have.LoadBalancers[0].Listeners = slices.Clone(whole.LoadBalancers[0].Listeners)
			l := &have.LoadBalancers[0].Listeners[0]
			l.Rules = slices.DeleteFunc(slices.Clone(l.Rules), func(r observed.Rule) bool { return r.Priority == 1 })
			var k clockedPlanner
			k.plan(t, want, &have, func(arn string) string {
				if strings.Contains(arn, "g2") {
					return state
				}
				return "healthy"
			})
			var texts []string
			for _, f := range k.findings {
				if f.Reason == finding.WaitingForTargets {
					texts = append(texts, f.Text())
				}
			}
			if len(texts) != 1 || !strings.Contains(texts[0], says) || strings.Contains(texts[0], checks) != (says == checks) {
				t.Errorf("reported: %q", texts)
			}
		})
	}
}
