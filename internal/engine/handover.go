package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/handover"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
)

// errReserved is the error of a run that meets a run of the stack with which it shares a load balancer.
var errReserved = errors.New("another run is at work on the load balancer")

// decideRelation decides, once in a run, the relation of the stack to another one, and returns the observed state with
// that in mind. What the run takes over is observed with it, and runs of the other stack wait until it ends.
func (r *observation) decideRelation(ctx context.Context, stack model.Stack, have observed.Stack, questions []model.Question) (observed.Stack, error) {
	rel, err := handover.Relate(stack, have, func(id model.StackID) (model.Stack, bool, error) {
		if r.e.Frontends[id.Kind] == nil {
			return model.Stack{}, false, nil
		}
		of, _, err := r.e.translateFor(r.v, stack.ID, id, nil)
		return of, true, err
	}, r.statusLoadBalancer)
	if err != nil {
		return have, err
	}
	r.relation = &rel
	if rel.Standing != handover.Takes {
		return have, nil
	}
	if !stack.DryRun && r.reserved != nil {
		if !r.e.memories.reserve(rel.Other) {
			return have, errReserved
		}
		*r.reserved = append(*r.reserved, rel.Other)
	}
	own := have
	if have, err = r.observeAWS(ctx, stack, questions); err != nil {
		return have, err
	}
	if rel = rel.Observed(stack, have); rel.Standing != handover.Takes {
		return own, nil
	}
	if !rel.DependsOnOther(have) {
		return have, nil
	}
	return r.observeAWS(ctx, stack, append(slices.Clone(questions), handover.Questions(have)...))
}

// applyRelation returns the observed state as the relation shows it.
func (r *observation) applyRelation(stack model.Stack, have observed.Stack) observed.Stack {
	have.Bindings = r.e.Cluster.Bindings(r.v, stack.ID)
	var others []observed.Binding
	if r.relation.Standing == handover.Takes {
		others = r.e.Cluster.Bindings(r.v, r.relation.Other)
	}
	return r.relation.ObservedStack(stack, have, others, r.portOf)
}

// statusLoadBalancer returns the name of the load balancer in the status of an object.
func (r *observation) statusLoadBalancer(ref finding.Ref) string {
	obj, err := r.v.Object(cluster.Kind(ref.Kind), ref.Namespace, ref.Name)
	if err != nil || obj == nil {
		return ""
	}
	return cluster.Hostname(obj)
}

func (r *observation) portOf(b model.Binding) string {
	return cluster.PortText(r.v, b.Namespace, b.Service, b.Port)
}

// hindersTakeOver reports whether a load balancer that is being taken over stays as it is because a step has failed:
// requests for a rule that is missing would get 503, and the rule of the Ingress has answered them. A value that AWS
// refuses and a rule for which there is no room hinder nothing, as they failed for the Ingress as well.
func (f FailedStep) hindersTakeOver() bool {
	return f.Class != Invalid && !f.lacksCapacity() && !f.isKubernetes()
}

// underRelation returns a stack as it is carried out, with what is to be reported of it.
func (r *observation) underRelation(stack model.Stack, have observed.Stack) (model.Stack, finding.List) {
	stack, reported := r.relation.Apply(stack, have)
	if r.hindered && r.relation.Standing == handover.Takes && r.relation.DependsOnOther(have) {
		stack.Held.Everything = true
	}
	return stack, reported
}

// holdUnlessAdmitted holds a stack that may not take over what it asks for, and reports the obstacles. Once the load
// balancer carries its tags it goes on.
func (r *observation) holdUnlessAdmitted(d *Draft) {
	var found finding.List
	switch {
	case r.relation.Standing == handover.NotAllowed:
		found = r.relation.Refusals(d.Stack)
	case r.relation.Begins(d.Stack, d.Have):
		if found = handover.Obstacles(d.Stack, d.Have, d.Plan.Steps); len(found) == 0 {
			found = handover.Differences(d.Stack, r.relation.OtherStack, r.portOf)
		}
	default:
		return
	}
	d.Findings = append(d.Findings, found...).Sorted()
	if d.Stack.DryRun || !slices.ContainsFunc(found, isError) {
		return
	}
	d.Stack.Held.Everything, d.Lacking = true, r.relation.Standing != handover.NotAllowed // a change of its objects starts another run
	d.Plan, _ = planner.Make(d.Stack, d.Have, d.options, d.memory)
	d.Plan.Steps, d.Plan.LoadBalancers, d.Plan.Ports = nil, nil, nil // it has none
}
