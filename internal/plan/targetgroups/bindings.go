package targetgroups

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// planBinding plans to create or change the TargetGroupBinding of a target group, and returns the step; none if nothing
// changes.
func (gp *Planner) planBinding(w model.TargetGroup, after []plan.StepID) []plan.StepID {
	if w.Binding == nil {
		return nil
	}
	a := plan.Address{Kind: plan.Binding, ID: w.ID}
	live := gp.liveBinding(w)
	put := plan.PutBinding{
		Binding: *w.Binding, Group: plan.TargetGroupAddress(w.ID), Type: w.Type, Protocol: w.Protocol, Address: w.AddressType,
		VPC: gp.Opt.VPC, Labels: bindingLabels(gp.Want.ID, w.Binding.Labels),
		BackendSecurityGroup: plan.BackendSecurityGroupAddress, ManagedSecurityGroup: plan.ManagedSecurityGroupAddress,
	}
	rules, known := gp.NetworkingRules(w)
	if !known && live == nil {
		return nil // the binding is created when its networking rules are known
	}
	put.Binding.Networking = rules
	put.RetainNetworking = gp.Want.Held.SecurityGroups || !known
	verb, why := plan.Create, "targets have to be registered"
	if live == nil {
		put.Binding.Name = gp.bindingName(w)
	} else {
		put.LabelsToRemove = gp.labelsOfPreviousStack(live.Labels)
		if live.Deleting || gp.isBindingAsDesired(put, *live) {
			return nil
		}
		put.Existing = &model.Binding{Namespace: live.Namespace, Name: live.Name}
		verb, why = plan.Update, gp.HandoverReason(len(put.LabelsToRemove) > 0, "the binding differs")
	}
	return []plan.StepID{gp.Add(plan.Step{
		ID: plan.NewStepID("bind", a), Address: a, Verb: verb, Do: put, Why: why, After: after, RequestedBy: w.Members,
	})}
}

// liveBinding returns the existing binding of a target group; nil if there is none.
func (gp *Planner) liveBinding(w model.TargetGroup) (live *observed.Binding) {
	arn := gp.LiveTargetGroupARNs[w.ID]
	for _, h := range gp.BindingsOf[arn] {
		// Bindings are found by labels, which any tenant can put on a binding of another namespace.
		if arn != "" && h.Namespace == w.Binding.Namespace {
			live = h
		}
	}
	return live
}

// labelsOfPreviousStack returns the keys of the labels in live that belong to the stack from which this stack takes over the
// load balancer.
func (gp *Planner) labelsOfPreviousStack(live map[string]string) (out []string) {
	if gp.Have.AdoptedStack == (model.StackID{}) {
		return nil
	}
	for k, v := range naming.StackLabels(gp.Have.AdoptedStack) {
		if live[k] == v {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// bindingLabels returns the labels of the stack and the labels in others. The labels of the stack take precedence.
func bindingLabels(id model.StackID, others map[string]string) map[string]string {
	out := naming.StackLabels(id)
	for k, v := range others {
		if _, own := out[k]; !own {
			out[k] = v
		}
	}
	return out
}

// bindingName returns the name of a new binding. A target group does not have its desired name if a target group of a
// previous load balancer has that name. In this case, the name of the binding is derived from the name of the target group.
func (gp *Planner) bindingName(w model.TargetGroup) string {
	var name string
	if live, ok := gp.LiveTargetGroups[gp.LiveTargetGroupARNs[w.ID]]; ok {
		name = live.Name
	} else {
		name = gp.freeTargetGroupName(w)
	}
	if w.Binding.Name == w.Name && naming.IsAlternativeName(name, w.Name) {
		return name
	}
	return w.Binding.Name
}

// isBindingAsDesired reports whether an existing binding is as desired in all fields that the controller owns.
func (gp *Planner) isBindingAsDesired(w plan.PutBinding, h observed.Binding) bool {
	if len(w.LabelsToRemove) > 0 {
		return false
	}
	for k, v := range w.Labels {
		if h.Labels[k] != v {
			return false
		}
	}
	for k, v := range w.Binding.Annotations {
		if h.Annotations[k] != v {
			return false
		}
	}
	if w.Type != h.Type || w.Protocol != h.Protocol || w.Address != h.AddressType || w.VPC != h.VPC ||
		w.Binding.Service != h.Service.Service || w.Binding.Port != h.Service.Port ||
		w.Binding.MultiCluster != h.Service.MultiCluster || !equal.SameSelector(w.Binding.NodeSelector, h.Service.NodeSelector) {
		return false
	}
	if w.RetainNetworking {
		return true
	}
	return w.Binding.Managed == h.HasNetworking && gp.areRulesEqual(w.Binding.Networking, h.Networking)
}
