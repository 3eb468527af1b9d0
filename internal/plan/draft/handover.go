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

// Where a load balancer is handed over, it carries the tags of both stacks while anything of it still carries the former tags
// alone. So the tags show whose it is, wherever a process ends.

// IsHandingOver reports whether a load balancer is being handed over: what is live was made for other objects than
// those that the rules are for now, so that no rule belongs to one of them.
func (d *Draft) IsHandingOver() bool {
	return d.Have.Adopted != (model.StackID{}) && slices.ContainsFunc(d.Have.LoadBalancers, func(lb observed.LoadBalancer) bool { return naming.HasStackTags(d.Have.Adopted, lb.Tags) })
}

// AdoptedTags returns the tags by which a load balancer can be given back, none if it is not to be.
func (d *Draft) AdoptedTags() map[string]string {
	if d.Want.Adopts == nil {
		return nil
	}
	return naming.AdoptedTags(d.Want.Adopts.From, d.Want.Adopts.Namespaces)
}

// HandoverReason returns the reason of a step that removes tags or labels of the other stack from a resource, and
// otherwise another one.
func (d *Draft) HandoverReason(carries bool, otherwise string) string {
	if carries {
		return "it is taken over from " + d.Have.Adopted.Title()
	}
	return otherwise
}

// TakeOver plans that a load balancer of the other stack is this one's, before anything of it is changed.
func (d *Draft) TakeOver(a plan.Address, resourceID string, live map[string]string, after []plan.StepID) []plan.StepID {
	if d.Have.Adopted == (model.StackID{}) {
		return nil
	}
	want := d.Tags(resourceID, nil)
	maps.Copy(want, d.AdoptedTags())
	put, _ := d.TagDrift(want, live, true)
	if len(put) == 0 {
		return nil
	}
	return []plan.StepID{d.Add(plan.Step{
		ID: plan.NewStepID("adopt", a), Address: a, Verb: plan.Update, Do: plan.SetTags{Of: a, Put: put}, Changes: ChangesOf("tags.", put, live),
		Why: d.HandoverReason(true, ""), After: after, Blames: d.Members(),
	})}
}

// AfterTakeOver lets the steps from a number on wait for all that come first: as long as the load balancer is not this stack's, the
// other one does not know that it may not undo them.
func AfterTakeOver(d *Draft, first []plan.StepID, from int) {
	if d.Have.Adopted == (model.StackID{}) {
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

// Release plans that a load balancer is not the other stack's any more, after all other steps: by its tags the other one knows that
// it may not undo them.
func (d *Draft) Release(a plan.Address, live map[string]string, members []finding.Ref) {
	if d.Have.Adopted == (model.StackID{}) {
		return
	}
	var remove []string
	var changes []plan.Change
	adopted := d.AdoptedTags()
	for _, k := range slices.Sorted(maps.Keys(live)) {
		if d.isTagOfOther(k, live) || naming.IsAdoptedTag(k) && adopted[k] == "" {
			remove = append(remove, k)
			changes = append(changes, plan.Change{Path: "tags." + k, From: live[k]})
		}
	}
	if len(remove) == 0 {
		return
	}
	d.Add(plan.Step{
		ID: plan.NewStepID("release", a), Address: a, Verb: plan.Update, Do: plan.SetTags{Of: a, Remove: remove}, Changes: changes,
		Why: "nothing that it uses belongs to " + d.Have.Adopted.Title() + " any more", After: d.AllSteps(), Blames: members,
	})
}

// HandedOver returns the tags of a load balancer after TakeOver and Release.
func (d *Draft) HandedOver(live map[string]string) map[string]string {
	if d.Have.Adopted == (model.StackID{}) {
		return live
	}
	out := maps.Clone(live)
	maps.Copy(out, naming.StackTags(d.Opt.Cluster, d.Want.ID))
	out[naming.ResourceTag(d.Want.ID.Kind)] = model.LoadBalancerID
	for _, k := range []string{naming.ResourceTag(d.Have.Adopted.Kind), naming.StackTag(d.Have.Adopted.Kind)} {
		if d.isTagOfOther(k, live) {
			delete(out, k)
		}
	}
	maps.DeleteFunc(out, func(k, _ string) bool { return naming.IsAdoptedTag(k) })
	maps.Copy(out, d.AdoptedTags())
	return out
}
