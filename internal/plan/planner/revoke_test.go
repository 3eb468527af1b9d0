package planner_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
)

// revocationStepTexts returns the steps that revoke access, as text.
func revocationStepTexts(p plan.Plan) (out []string) {
	for _, s := range p.Steps {
		if !s.IsRevocation {
			continue
		}
		line := fmt.Sprintf("%T", s.Do)
		for _, c := range s.Changes {
			line += fmt.Sprintf(" %s: %s -> %s", c.Path, c.From, c.To)
		}
		out = append(out, strings.TrimPrefix(line, "plan."))
	}
	return out
}

func weightedForward(pairs ...any) []model.Action {
	var f model.Forward
	for i := 0; i < len(pairs); i += 2 {
		w := int32(pairs[i+1].(int))
		f.Groups = append(f.Groups, model.WeightedTargetGroup{Group: model.TargetGroupRef{ARN: pairs[i].(string)}, Weight: &w})
	}
	return []model.Action{f}
}

// TestWithdrawnPartsStopServing checks that what members may not use any more is removed from the load balancer of the
// stack, even while everything is held. The rest of the same rule or listener is retained.
func TestWithdrawnPartsStopServing(t *testing.T) {
	gone := model.Withdrawal{Object: finding.Ref{Kind: "HTTPRoute", Namespace: "a", Name: "r"}, Reason: finding.ReferenceNotPermitted, Message: "no grant"}
	conditions := []model.Condition{model.PathPattern{Values: []string{"/a"}}}
	rule := func(actions []model.Action) observed.Listener {
		return observed.Listener{ARN: "l", Port: 80, Protocol: "HTTP", Default: []model.Action{model.FixedResponse{Status: "404", ContentType: "text/plain"}}, Rules: []observed.Rule{{ARN: "rule", Conditions: conditions, Actions: actions, Priority: 1}}}
	}
	secure := func(main string, extra ...string) observed.Listener {
		l := rule(weightedForward("tg", 1))
		l.Protocol, l.Certificate, l.Certificates = "HTTPS", main, extra
		return l
	}
	tcp := func(actions []model.Action) observed.Listener {
		return observed.Listener{ARN: "l", Port: 80, Protocol: "TCP", Default: actions}
	}
	certificate := model.Withdrawn{Certificates: map[model.ListenerCertificate]model.Withdrawal{{Port: 80, ARN: "c"}: gone}}
	group := model.Withdrawn{TargetGroups: map[string]model.Withdrawal{"tg": gone}}
	for name, c := range map[string]struct {
		withdrawn model.Withdrawn
		live      observed.Listener
		network   bool
		steps     []string
	}{
		"nothing":                       {model.Withdrawn{}, rule(weightedForward("tg", 1)), false, nil},
		"the target group of a rule":    {group, rule(weightedForward("tg", 1)), false, []string{"ModifyRule actions: forward to tg -> answer 500"}},
		"one of two":                    {group, rule(weightedForward("tg", 1, "other", 3)), false, []string{"ModifyRule actions: forward to tg (1), other (3) -> forward to other"}},
		"the other gets nothing":        {group, rule(weightedForward("tg", 1, "other", 0)), false, []string{"ModifyRule actions: forward to tg (1), other (0) -> answer 500"}},
		"another target group":          {group, rule(weightedForward("other", 1)), false, nil},
		"a rule":                        {model.Withdrawn{Rules: map[string]model.Withdrawal{"rule": gone}}, rule(weightedForward("tg", 1)), false, []string{"DeleteRule actions: forward to tg -> "}},
		"behind authentication":         {group, rule(append([]model.Action{model.AuthCognito{}}, weightedForward("tg", 1, "other", 1)...)), false, []string{"ModifyRule actions: authenticate by Cognito, then forward to tg (1), other (1) -> authenticate by Cognito, then forward to other"}},
		"the default action":            {group, observed.Listener{ARN: "l", Port: 80, Protocol: "HTTP", Default: weightedForward("tg", 1)}, false, []string{"ModifyListener default: forward to tg -> answer 404"}},
		"what a TCP port forwards to":   {group, tcp(weightedForward("tg", 1)), true, []string{"DeleteListener port: 80 -> "}},
		"one of two of a TCP port":      {group, tcp(weightedForward("tg", 1, "other", 1)), true, []string{"ModifyListener default: forward to tg (1), other (1) -> forward to other"}},
		"a TCP port":                    {model.Withdrawn{Rules: map[string]model.Withdrawal{"l": gone}}, tcp(weightedForward("tg", 1)), true, []string{"DeleteListener port: 80 -> "}},
		"the only certificate":          {certificate, secure("c"), false, []string{"DeleteListener port: 80 -> "}},
		"the default certificate":       {certificate, secure("c", "c", "d"), false, []string{"ModifyListener certificate: c -> d", "RemoveCertificate certificates: c -> "}},
		"an additional certificate":     {certificate, secure("d", "c", "d"), false, []string{"RemoveCertificate certificates: c -> "}},
		"a certificate of another port": {model.Withdrawn{Certificates: map[model.ListenerCertificate]model.Withdrawal{{Port: 443, ARN: "c"}: gone}}, secure("c"), false, nil},
	} {
		t.Run(name, func(t *testing.T) {
			kind := "application"
			if c.network {
				kind = "network"
			}
			have := observed.Stack{Facts: testFacts(), LoadBalancers: []observed.LoadBalancer{
				{ARN: "lb", ResourceID: model.LoadBalancerID, Type: kind, Listeners: []observed.Listener{c.live}},
			}}
			before := have.LoadBalancers[0].Listeners[0]
			have.Facts.Withdrawn = &c.withdrawn
			want := withFinalizers(stackWithRules(forwardRule("/a", "g1")))
			want.LoadBalancer, want.TargetGroups, want.Held.AllResources = nil, nil, true
			p, found := planner.Make(want, have, testOptions, plan.Memory{})
			if diff := cmp.Diff(c.steps, revocationStepTexts(p)); diff != "" {
				t.Errorf("steps (-want +got):\n%s", diff)
			}
			if len(c.steps) > 0 && !slices.ContainsFunc(found, func(f finding.Finding) bool { return f.Reason == finding.ReferenceNotPermitted }) {
				t.Errorf("nothing is reported: %v", found)
			}
			if diff := cmp.Diff(before, have.LoadBalancers[0].Listeners[0]); diff != "" {
				t.Errorf("the observed state was changed (-before +after):\n%s", diff)
			}
			if !p.HasRetainedParts {
				t.Error("what is held is not retained")
			}
		})
	}
}
