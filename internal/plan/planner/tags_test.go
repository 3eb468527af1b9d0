package planner_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
)

// TestRemovedTags checks which tags that are not desired are removed from each resource. Tags of aws-alb-ingress-controller
// stay on load balancers, target groups and security groups, so that a takeover does not change them.
func TestRemovedTags(t *testing.T) {
	want := withFinalizers(stackWithRules(forwardRule("/a", "g1")))
	have := converge(t, want, observed.Stack{Facts: testFacts()})
	lb := &have.LoadBalancers[0]
	rule := &lb.Listeners[0].Rules[0]
	legacy := []string{"kubernetes.io/cluster/rig", "kubernetes.io/cluster-name", "kubernetes.io/namespace", "kubernetes.io/ingress-name", "kubernetes.io/service-name", "kubernetes.io/service-port", "ingress.k8s.aws/cluster"}
	for _, tags := range []*map[string]string{&lb.Tags, &lb.Listeners[0].Tags, &rule.Tags, &have.TargetGroups[0].Tags, &have.SecurityGroups[0].Tags} {
		*tags = maps.Clone(*tags)
		for _, k := range append(legacy, "external", "aws:created-by", "other", "kubernetes.io/cluster/another") {
			(*tags)[k] = "x"
		}
	}
	options := testOptions
	options.ExternalTags = []string{"external"}
	p, _ := planner.Make(want, have, options, plan.Memory{})
	removed := map[plan.ResourceKind]string{}
	for _, s := range p.Steps {
		do, ok := s.Do.(plan.SetTags)
		if !ok || len(do.Put) > 0 {
			t.Errorf("want only removals of tags, got %s", s.ID)
		}
		removed[s.Address.Kind] = strings.Join(do.Remove, " ")
	}
	all := slices.Sorted(slices.Values(append(slices.Clone(legacy), "other", "kubernetes.io/cluster/another")))
	for kind, want := range map[plan.ResourceKind]string{
		plan.LoadBalancer: "kubernetes.io/cluster/another other", plan.TargetGroup: "kubernetes.io/cluster/another other", plan.SecurityGroup: "kubernetes.io/cluster/another other",
		plan.Listener: strings.Join(all, " "), plan.Rule: strings.Join(all, " "),
	} {
		if removed[kind] != want {
			t.Errorf("%s: removed %q, want %q", kind, removed[kind], want)
		}
	}
}
