package draft

import (
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// In a handover, a stack takes over the load balancer of another stack, the previous stack. The load balancer has the tags
// of both stacks as long as one of its target groups or security groups has only the tags of the previous stack. Therefore
// the tags show the owner of each resource, even if the process is stopped during the handover.

// IsHandingOver reports whether the load balancer is being handed over: it still has the tags of the previous stack. During
// this time, the observed rules belong to the objects of the previous stack, not to members of this stack.
func (d *Draft) IsHandingOver() bool {
	return d.Have.AdoptedStack != (model.StackID{}) && slices.ContainsFunc(d.Have.LoadBalancers, func(lb observed.LoadBalancer) bool { return naming.HasStackTags(d.Have.AdoptedStack, lb.Tags) })
}

// AdoptedTags returns the tags that record from which stack a load balancer is taken over, so that it can be returned to
// that stack; nil if the load balancer is not taken over.
func (d *Draft) AdoptedTags() map[string]string {
	if d.Want.Adopts == nil {
		return nil
	}
	return naming.AdoptedTags(d.Want.Adopts.From, d.Want.Adopts.Namespaces)
}

// HandoverReason returns the reason of a step. If the step removes tags or labels of the previous stack (removesPrevious),
// the reason is the handover. For all other steps, the result is the given reason.
func (d *Draft) HandoverReason(removesPrevious bool, reason string) string {
	if removesPrevious {
		return "the load balancer is taken over from " + d.Have.AdoptedStack.Title()
	}
	return reason
}

// TakeOver plans to add the tags of this stack to a load balancer that is taken over. It returns the steps that must come
// before changes of other settings of the load balancer.
func (d *Draft) TakeOver(a plan.Address, resourceID string, live map[string]string, after []plan.StepID) []plan.StepID {
	if d.Have.AdoptedStack == (model.StackID{}) {
		return nil
	}
	want := d.Tags(resourceID, nil)
	maps.Copy(want, d.AdoptedTags())
	put, _ := d.TagChanges(want, live, true)
	if len(put) == 0 {
		return nil
	}
	return []plan.StepID{d.AddTagStep(plan.Step{
		ID: plan.NewStepID("adopt", a), Address: a, Why: d.HandoverReason(true, ""), After: after, RequestedBy: d.Members(),
	}, put, nil, live)}
}

// OrderAfterTakeOver adds the steps in first to the dependencies of all planned steps, beginning with the step at index
// from. The previous stack reverts changes of a load balancer until the load balancer has the tags of this stack.
func OrderAfterTakeOver(d *Draft, first []plan.StepID, from int) {
	if d.Have.AdoptedStack == (model.StackID{}) {
		return
	}
	for i := range d.Plan.Steps[from:] {
		s := &d.Plan.Steps[from+i]
		for _, id := range first {
			if !slices.Contains(s.After, id) {
				s.After = append(slices.Clone(s.After), id)
			}
		}
	}
}

// EndTakeOver plans to remove the tags of the previous stack from a load balancer, after all other steps. While the load
// balancer has the tags of both stacks, the previous stack does not revert these steps.
func (d *Draft) EndTakeOver(a plan.Address, live map[string]string, members []finding.Ref) {
	if d.Have.AdoptedStack == (model.StackID{}) {
		return
	}
	var remove []string
	adopted := d.AdoptedTags()
	for _, k := range slices.Sorted(maps.Keys(live)) {
		if d.isTagOfPreviousStack(k, live) || naming.IsAdoptedTag(k) && adopted[k] == "" {
			remove = append(remove, k)
		}
	}
	if len(remove) == 0 {
		return
	}
	d.AddTagStep(plan.Step{
		ID: plan.NewStepID("release", a), Address: a,
		Why: "none of its resources belongs to " + d.Have.AdoptedStack.Title() + " any more", After: d.PossibleDependencies(), RequestedBy: members,
	}, nil, remove, live)
}

// TagsAfterHandover returns the tags that a load balancer has after the steps of TakeOver and EndTakeOver.
func (d *Draft) TagsAfterHandover(live map[string]string) map[string]string {
	if d.Have.AdoptedStack == (model.StackID{}) {
		return live
	}
	out := maps.Clone(live)
	maps.Copy(out, naming.StackTags(d.Opt.Cluster, d.Want.ID))
	out[naming.ResourceTag(d.Want.ID.Kind)] = model.LoadBalancerID
	for _, k := range []string{naming.ResourceTag(d.Have.AdoptedStack.Kind), naming.StackTag(d.Have.AdoptedStack.Kind)} {
		if d.isTagOfPreviousStack(k, live) {
			delete(out, k)
		}
	}
	maps.DeleteFunc(out, func(k, _ string) bool { return naming.IsAdoptedTag(k) })
	maps.Copy(out, d.AdoptedTags())
	return out
}
