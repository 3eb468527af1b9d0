package engine

import (
	"strings"
	"testing"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// nameTakenError is an error with the reason NameTaken: another resource has the name.
type nameTakenError struct{ message string }

func (t nameTakenError) Error() string          { return t.message }
func (t nameTakenError) Reason() finding.Reason { return finding.NameTaken }

func TestATakenNameIsReportedAtItsField(t *testing.T) {
	web := finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "web"}
	api := finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "api"}
	gateway := finding.Ref{Kind: "Gateway", Namespace: "shop", Name: "edge"}
	settings := finding.Ref{Kind: "LoadBalancerConfiguration", Namespace: "shop", Name: "edge"}
	balancer := plan.Step{Address: plan.Address{Kind: plan.LoadBalancer, ID: model.LoadBalancerID}, Verb: plan.Create, Do: plan.CreateLoadBalancer{Name: "web"}}
	group := plan.Step{Address: plan.Address{Kind: plan.TargetGroup, ID: "shop/web:80"}, Verb: plan.Create, Do: plan.CreateTargetGroup{}}
	of := func(s plan.Step, name finding.Origin, blames ...finding.Ref) plan.Step {
		s.NameOrigin, s.RequestedBy = name, blames
		return s
	}
	annotation := finding.Origin{Object: web, Field: "alb.ingress.kubernetes.io/load-balancer-name"}
	const why = "create load balancer web: a load balancer of this name exists and belongs to cluster other"
	for name, c := range map[string]struct {
		kind             model.Kind
		step             plan.Step
		field, text, fix string
	}{
		"own annotation": {model.Ingress, of(balancer, annotation, web), "alb.ingress.kubernetes.io/load-balancer-name",
			" (alb.ingress.kubernetes.io/load-balancer-name of Ingress shop/web sets the name); nothing is created",
			"choose another name in alb.ingress.kubernetes.io/load-balancer-name of Ingress shop/web, or remove the other resource"},
		"annotation of another member": {model.Ingress, of(balancer, annotation, api), "alb.ingress.kubernetes.io/load-balancer-name of Ingress shop/web",
			" (alb.ingress.kubernetes.io/load-balancer-name of Ingress shop/web sets the name); nothing is created",
			"choose another name in alb.ingress.kubernetes.io/load-balancer-name of Ingress shop/web, or remove the other resource"},
		"field of a configuration": {model.ALBGateway, of(balancer, finding.Origin{Object: settings, Field: "spec.loadBalancerName"}, gateway), "spec.loadBalancerName of LoadBalancerConfiguration shop/edge",
			" (spec.loadBalancerName of LoadBalancerConfiguration shop/edge sets the name); nothing is created",
			"choose another name in spec.loadBalancerName of LoadBalancerConfiguration shop/edge, or remove the other resource"},
		"computed": {model.Service, of(balancer, finding.Origin{}, web), "service.beta.kubernetes.io/aws-load-balancer-name",
			" (the controller computes the name, because service.beta.kubernetes.io/aws-load-balancer-name is not set); nothing is created",
			"set service.beta.kubernetes.io/aws-load-balancer-name, or remove the other resource"},
		"target group": {model.Ingress, of(group, finding.Origin{}, web), "target-group",
			" (the controller computes the name); nothing is created", "remove the other resource"},
	} {
		f := FailedStep{Step: c.step, Class: failure.Invalid, Err: nameTakenError{why}, Called: true}
		got := f.findings(1, plan.Plan{Stack: model.StackID{Kind: c.kind, Namespace: "shop", Name: "web"}})
		if len(got) != 1 || got[0].Field != c.field || got[0].Message != why+c.text || got[0].Fix != c.fix || got[0].Reason != finding.NameTaken {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}

// TestFixForALoadBalancerWithoutStackTag checks the fix for a name that a load balancer without the tag of its stack has.
// The fix must not only recommend to delete the load balancer. It may serve traffic, because another controller may have
// removed its tags.
func TestFixForALoadBalancerWithoutStackTag(t *testing.T) {
	web := finding.Ref{Kind: "Ingress", Namespace: "shop", Name: "web"}
	step := plan.Step{Address: plan.Address{Kind: plan.LoadBalancer, ID: model.LoadBalancerID}, Do: plan.CreateLoadBalancer{Name: "web"}, RequestedBy: []finding.Ref{web}}
	got := FailedStep{Step: step, Err: failure.NoStackError("cluster rig")}.nameTakenFindings(model.StackID{Kind: model.Ingress, Namespace: "shop", Name: "web"}, "why")
	const want = "if the status of the object shows this load balancer, tag the load balancer with ingress.k8s.aws/stack=shop/web and ingress.k8s.aws/resource=LoadBalancer; otherwise set "
	if len(got) != 1 || !strings.HasPrefix(got[0].Fix, want) {
		t.Errorf("got %+v", got)
	}
}
