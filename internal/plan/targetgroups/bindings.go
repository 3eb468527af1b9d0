package targetgroups

import (
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/equal"
)

// planBinding makes the TargetGroupBinding of a group fit, and returns the step, if there is one.
func (gp *Planner) planBinding(w model.TargetGroup, after []plan.StepID) []plan.StepID {
	if w.Binding == nil {
		return nil
	}
	a := plan.Address{Kind: plan.Binding, ID: w.ID}
	arn := gp.GroupARN[w.ID]
	var live *observed.Binding
	for _, h := range gp.BindingsOf[arn] {
		// Labels say whose a binding is, and anybody may write them on a binding of another namespace.
		if arn != "" && h.Namespace == w.Binding.Namespace {
			live = h
		}
	}
	put := plan.PutBinding{
		Binding: *w.Binding, Group: plan.TargetGroupAddress(w.ID), Type: w.Type, Protocol: w.Protocol, Address: w.AddressType,
		VPC: gp.Opt.VPC, Labels: bindingLabels(gp.Want.ID, w.Binding.Labels),
		BackendGroup: plan.BackendGroupAddress, ManagedGroup: plan.ManagedGroupAddress,
	}
	rules, known := gp.networking(w)
	if !known && live == nil {
		return nil // it is made with its rules
	}
	put.Binding.Networking = rules
	put.KeepNetworking = gp.Want.Held.SecurityGroups || !known
	verb, why := plan.Create, "targets have to be registered"
	if live == nil {
		put.Binding.Name = gp.bindingName(w)
	} else {
		put.Without = gp.labelsOfOther(live.Labels)
		if live.Deleting || gp.sameBinding(put, *live) {
			return nil
		}
		put.Existing = &model.Binding{Namespace: live.Namespace, Name: live.Name}
		verb, why = plan.Update, gp.HandoverReason(len(put.Without) > 0, "the binding differs")
	}
	return []plan.StepID{gp.Add(plan.Step{
		ID: plan.NewStepID("bind", a), Address: a, Verb: verb, Do: put, Why: why, After: after, Blames: w.Members,
	})}
}

// labelsOfOther returns the labels of the stack whose load balancer this one has taken over, as far as a binding
// carries them.
func (gp *Planner) labelsOfOther(live map[string]string) (out []string) {
	if gp.Have.Adopted == (model.StackID{}) {
		return nil
	}
	for k, v := range naming.StackLabels(gp.Have.Adopted) {
		if live[k] == v {
			out = append(out, k)
		}
	}
	slices.Sort(out)
	return out
}

// bindingLabels returns the labels of the stack merged over other labels.
func bindingLabels(id model.StackID, others map[string]string) map[string]string {
	out := naming.StackLabels(id)
	for k, v := range others {
		if _, own := out[k]; !own {
			out[k] = v
		}
	}
	return out
}

// bindingName returns the name of a new binding: that of its target group, where this has another than the desired
// one because a previous load balancer has that.
func (gp *Planner) bindingName(w model.TargetGroup) string {
	var name string
	if live, ok := gp.LiveGroups[gp.GroupARN[w.ID]]; ok {
		name = live.Name
	} else {
		name = gp.freeGroupName(w)
	}
	if w.Binding.Name == w.Name && naming.IsAlternative(name, w.Name) {
		return name
	}
	return w.Binding.Name
}

// sameBinding compares what the controller owns of a binding.
func (gp *Planner) sameBinding(w plan.PutBinding, h observed.Binding) bool {
	if len(w.Without) > 0 {
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
	if w.KeepNetworking {
		return true
	}
	if w.Binding.Managed != h.HasNetworking {
		return false
	}
	return slices.EqualFunc(w.Binding.Networking, h.Networking, func(x model.BindingRule, y observed.BindingRule) bool {
		var groups, cidrs []string
		for _, p := range x.From {
			switch {
			case p.BackendGroup:
				groups = append(groups, gp.KnownIDs[plan.BackendGroupAddress])
			case p.ManagedGroup:
				groups = append(groups, gp.KnownIDs[plan.ManagedGroupAddress])
			default:
				cidrs = append(cidrs, p.CIDR)
			}
		}
		return slices.Equal(groups, y.Groups) && equal.SameSet(cidrs, y.CIDRs) &&
			slices.EqualFunc(x.Ports, y.Ports, func(p, q model.PeerPort) bool {
				return p.Protocol == q.Protocol && (p.Port == nil) == (q.Port == nil) && (p.Port == nil || *p.Port == *q.Port)
			})
	})
}
