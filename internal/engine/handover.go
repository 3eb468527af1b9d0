package engine

import (
	"context"
	"errors"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan/handover"
	"github.com/fulcrum-lb/fulcrum/internal/plan/planner"
)

// errReserved is the error of a run that ends because another run reconciles the stack with which it shares a load balancer.
var errReserved = errors.New("another run is changing the load balancer")

// decideStackRelation determines, once in a run, the relation of the stack to another stack. If the stack takes over the load
// balancer of the other stack, it reserves the other stack for the run, and returns the observed state of both stacks.
func (r *observation) decideStackRelation(ctx context.Context, stack model.Stack, have observed.Stack, questions []model.Question) (observed.Stack, error) {
	rel, err := handover.Relate(stack, have, func(id model.StackID) (model.Stack, bool, error) {
		if r.e.Frontends[id.Kind] == nil {
			return model.Stack{}, false, nil
		}
		of, _, err := r.e.translateFor(r.view, stack.ID, id, nil)
		return of, true, err
	}, r.statusHostname)
	if err != nil {
		return have, err
	}
	r.relation = &rel
	if rel.Kind != handover.TakesOver {
		return have, nil
	}
	if !stack.DryRun && r.reservedStacks != nil {
		if !r.e.memories.reserve(rel.Other) {
			return have, errReserved
		}
		*r.reservedStacks = append(*r.reservedStacks, rel.Other)
	}
	own := have
	if have, err = r.observeAWS(ctx, stack, questions); err != nil {
		return have, err
	}
	if rel = rel.AfterObservation(stack, have); rel.Kind != handover.TakesOver {
		return own, nil
	}
	if !rel.DependsOnOther(have) {
		return have, nil
	}
	return r.observeAWS(ctx, stack, append(slices.Clone(questions), handover.AttributeQuestions(have)...))
}

// applyStackRelation adds the bindings to the observed state, and returns the part that the relation assigns to the stack.
func (r *observation) applyStackRelation(stack model.Stack, have observed.Stack) observed.Stack {
	have.Bindings = r.e.Cluster.Bindings(r.view, stack.ID)
	var others []observed.Binding
	if r.relation.Kind == handover.TakesOver {
		others = r.e.Cluster.Bindings(r.view, r.relation.Other)
	}
	return r.relation.AdjustObserved(stack, have, others, r.portTextOf)
}

// statusHostname returns the DNS name of the load balancer in the status of an object, or "" if there is none.
func (r *observation) statusHostname(ref finding.Ref) string {
	obj, err := r.view.Object(ref.Kind, ref.Namespace, ref.Name)
	if err != nil || obj == nil {
		return ""
	}
	return cluster.StatusHostname(obj)
}

// portTextOf returns the Service port of a binding as text.
func (r *observation) portTextOf(b model.Binding) string {
	return cluster.ServicePortText(r.view, b.Namespace, b.Service, b.Port)
}

// blocksTakeOver reports whether the failure of a step prevents the stack from taking over the load balancer of an Ingress.
// Without the missing rule, requests that the Ingress serves now would get status 503. An invalid value, or a rule that
// exceeds a quota, does not prevent the take-over, because AWS also refused this value or rule for the Ingress.
func (f FailedStep) blocksTakeOver() bool {
	return f.Class != failure.Invalid && !f.lacksCapacity() && !f.isKubernetesStep()
}

// withStackRelation returns the desired state of a stack, adapted to its relation to another stack, and findings about it.
func (r *observation) withStackRelation(stack model.Stack, have observed.Stack) (model.Stack, finding.List) {
	stack, found := r.relation.AdjustDesired(stack, have)
	if r.takeOverBlocked && r.relation.Kind == handover.TakesOver && r.relation.DependsOnOther(have) {
		stack.Held.AllResources = true
	}
	return stack, found
}

// holdUnlessTakeOverPermitted holds a stack that is not permitted to take over its desired load balancer, and reports the
// reasons. A take-over that has already begun continues. The tags of the load balancer show whether a take-over has begun.
func (r *observation) holdUnlessTakeOverPermitted(d *Draft) {
	var found finding.List
	switch {
	case r.relation.Kind == handover.TakeOverNotAllowed:
		found = handover.ObjectObstacles(d.Stack, r.relation.OtherStack)
	case r.relation.IsBeforeTakeOver(d.Stack, d.Have):
		if found = handover.Obstacles(d.Stack, d.Have, d.Plan.Steps); len(found) == 0 {
			found = handover.Differences(d.Stack, r.relation.OtherStack, d.Have, r.portTextOf)
		}
	default:
		return
	}
	d.Findings = append(d.Findings, found...).Sorted()
	if d.Stack.DryRun || found.CountErrors() == 0 {
		return
	}
	// If Kubernetes objects prevent the take-over, an event of these objects starts the next run. A change in AWS causes no
	// event, so the stack is requeued.
	d.Stack.Held.AllResources, d.MissingInAWS = true, r.relation.Kind != handover.TakeOverNotAllowed
	d.Plan, _ = planner.Make(d.Stack, d.Have, d.options, d.memory)
	d.Plan.Steps, d.Plan.LoadBalancers, d.Plan.Ports = nil, nil, nil // a held stack carries out no step
}
