package controller

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"

	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// TestStepsAreLogged checks that the log messages of steps are stable, because operators search logs for them.
func TestStepsAreLogged(t *testing.T) {
	step := func(k plan.ResourceKind, v plan.Verb, do plan.Action) plan.Step {
		return plan.Step{Address: plan.Address{Kind: k, ID: "x"}, Verb: v, Do: do, Changes: []plan.Change{{Path: "a", From: "1", To: "2"}}}
	}
	rules := []model.IngressRule{{Protocol: "tcp", From: 80, To: 80, CIDR: "10.0.0.0/8"}}
	denied := errors.New("no")
	cases := map[string]struct {
		step plan.Step
		err  error
		want string
	}{
		"a load balancer": {step(plan.LoadBalancer, plan.Create, plan.CreateLoadBalancer{}), nil, "created load balancer"},
		"attributes":      {step(plan.LoadBalancer, plan.Update, plan.SetAttributes{}), nil, "changed load balancer attributes"},
		"addresses":       {step(plan.LoadBalancer, plan.Update, plan.SetAddressType{}), nil, "changed load balancer address type"},
		"subnets":         {step(plan.LoadBalancer, plan.Update, plan.SetSubnets{}), nil, "changed load balancer subnets"},
		"capacity":        {step(plan.LoadBalancer, plan.Update, plan.SetCapacity{}), nil, "changed load balancer capacity reservation"},
		"a health check":  {step(plan.TargetGroup, plan.Update, plan.SetHealthCheck{}), nil, "changed target group health check"},
		"of a listener":   {step(plan.Listener, plan.Update, plan.SetAttributes{}), nil, "changed listener attributes"},
		"a rule":          {step(plan.Rule, plan.Delete, plan.DeleteRule{}), nil, "deleted listener rule"},
		"a binding":       {step(plan.Binding, plan.Update, plan.PutBinding{}), nil, "changed TargetGroupBinding"},
		"tags":            {step(plan.TargetGroup, plan.Update, plan.SetTags{Put: plan.Tags{"a": "b"}, Remove: []string{"c"}}), nil, "added tags, removed tags"},
		"rules":           {step(plan.SecurityGroup, plan.Update, plan.ChangeIngress{Authorize: rules}), nil, "authorized security group rules"},
		"what failed":     {step(plan.SecurityGroup, plan.Update, plan.ChangeIngress{Revoke: rules}), denied, "failed to update security group rules"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var got []string
			log := funcr.NewJSON(func(line string) { got = append(got, logMessageOf(line)) }, funcr.Options{})
			logStep(log, model.StackID{Name: "g"}, plan.StepResult{}, engine.FailedStep{Step: c.step, Class: failure.Denied, Err: c.err})
			if d := cmp.Diff(c.want, strings.Join(got, ", ")); d != "" {
				t.Error(d)
			}
		})
	}
}

func logMessageOf(line string) string {
	_, rest, _ := strings.Cut(line, `"msg":"`)
	message, _, _ := strings.Cut(rest, `"`)
	return message
}

func TestChangesAreLogged(t *testing.T) {
	var got []string
	log := funcr.New(func(_, line string) { got = append(got, line) }, funcr.Options{})
	for k := bindings.TargetsRegistered; k <= bindings.RulesRevoked; k++ {
		logChange(log, bindings.Change{Kind: k, Resource: "arn", Items: []string{fmt.Sprint("item ", int(k))}})
	}
	want := []string{
		`"level"=0 "msg"="registered targets" "arn"="arn" "targets"=["item 0"]`,
		`"level"=0 "msg"="deregistered targets" "arn"="arn" "targets"=["item 1"]`,
		`"level"=0 "msg"="authorized security group rules" "securityGroupID"="arn" "permission"=["item 2"]`,
		`"level"=0 "msg"="revoked security group rules" "securityGroupID"="arn" "permission"=["item 3"]`,
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}
