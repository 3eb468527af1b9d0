package draft

import (
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// TrimTags removes user tags from tags while there are more tags than AWS accepts. It removes the last tags in the order of
// their keys, and returns the keys. Tags that record the progress of a replacement are retained. When the replacement is
// completed, the user tags are added again.
func TrimTags(tags plan.Tags) (removed []string) {
	keys := slices.Sorted(maps.Keys(tags))
	excess := tagsOverLimit(tags, nil)
	for i := len(keys) - 1; i >= 0 && excess > 0; i-- {
		if k := keys[i]; !naming.IsReservedTag(k) && !naming.IsAWSTag(k) {
			delete(tags, k)
			removed = append(removed, k)
			excess--
		}
	}
	return removed
}

// Retag plans to change the tags of a resource and returns the step; "" if no tag differs. If legacy is set, tags of
// aws-alb-ingress-controller are retained.
func (d *Draft) Retag(a plan.Address, want plan.Tags, have map[string]string, legacy bool, after []plan.StepID, requestedBy []finding.Ref) plan.StepID {
	put, remove := d.TagChanges(want, have, legacy)
	if d.Want.Held.Tags {
		others := slices.DeleteFunc(slices.Clone(remove), func(k string) bool { return !d.isTagOfPreviousStack(k, have) })
		remove = append(others, remove[:min(len(remove), tagsOverLimit(put, have))]...)
		slices.Sort(remove)
		remove = slices.Compact(remove)
	}
	if len(put) == 0 && len(remove) == 0 {
		return ""
	}
	return d.AddTagStep(plan.Step{
		ID: plan.NewStepID("tag", a), Address: a, After: after, RequestedBy: requestedBy,
		Why: d.HandoverReason(slices.ContainsFunc(remove, func(k string) bool { return d.isTagOfPreviousStack(k, have) }), "tags differ"),
	}, put, remove, have)
}

// AddTagStep adds the step s to the plan and returns its id. It completes s, so that the step adds and removes tags of the
// resource at the address of s. have has the observed tags.
func (st *Steps) AddTagStep(s plan.Step, put plan.Tags, remove []string, have map[string]string) plan.StepID {
	s.Verb, s.Changes = plan.Update, mapChanges("tags.", put, have)
	for _, k := range remove {
		s.Changes = append(s.Changes, plan.Change{Path: "tags." + k, From: have[k]})
	}
	s.Do = plan.SetTags{Resource: s.Address, Put: put, Remove: remove, RemoveFirst: len(remove) > 0 && tagsOverLimit(put, have) > 0}
	return st.Add(s)
}

// isTagOfPreviousStack reports whether a tag is one of the two tags that identify the resources of the previous stack, from
// which a load balancer is taken over.
func (d *Draft) isTagOfPreviousStack(key string, have map[string]string) bool {
	other := d.Have.AdoptedStack
	return other != (model.StackID{}) && naming.HasStackTags(other, have) &&
		(key == naming.StackTag(other.Kind) || key == naming.ResourceTag(other.Kind))
}

// tagsOverLimit returns the number of tags by which a resource would exceed the AWS limit if the tags in put were added.
// This number of tags is removed even if tags are held. If it were not removed, AWS would refuse a new tag of one member
// because another member cannot be read.
func tagsOverLimit(put plan.Tags, have map[string]string) int {
	n := 0
	for k := range have {
		if _, also := put[k]; !also && !naming.IsAWSTag(k) {
			n++
		}
	}
	return max(0, n+len(put)-naming.MaxTags)
}

// RetagListenerOrRule plans to change the tags of a listener or rule. lb is the ARN of its load balancer. If the tags could
// not be read, it adds a finding and plans nothing.
func (d *Draft) RetagListenerOrRule(lb string, a plan.Address, want plan.Tags, have map[string]string, after []plan.StepID, requestedBy []finding.Ref) {
	if f := d.ReadFault(model.AskRuleTags{ARN: lb}); f != nil {
		d.ReportUnavailable(*f, "listeners and rules keep their tags", finding.BlocksNothing)
		return
	}
	d.Retag(a, want, have, false, after, requestedBy)
}

// TagChanges returns the tags to add or change, and the keys of the tags to remove. It ignores tags with the prefix "aws:"
// and tags that other systems manage. If legacy is set, it does not remove tags of aws-alb-ingress-controller.
func (d *Draft) TagChanges(want plan.Tags, have map[string]string, legacy bool) (plan.Tags, []string) {
	ignored := func(k string) bool {
		return naming.IsAWSTag(k) || slices.Contains(d.Opt.ExternalTags, k)
	}
	put := plan.Tags{}
	for k, v := range want {
		if h, ok := have[k]; !ignored(k) && (!ok || h != v) {
			put[k] = v
		}
	}
	var remove []string
	for _, k := range slices.Sorted(maps.Keys(have)) {
		if _, wanted := want[k]; !wanted && !ignored(k) && !(legacy && naming.IsLegacyTag(d.Opt.Cluster, k)) {
			remove = append(remove, k)
		}
	}
	return put, remove
}

// mapChanges returns a field change for each key in put, sorted by key: from its value in have to its value in put.
func mapChanges(prefix string, put map[string]string, have map[string]string) []plan.Change {
	var out []plan.Change
	for _, k := range slices.Sorted(maps.Keys(put)) {
		out = append(out, plan.Change{Path: prefix + k, From: have[k], To: put[k]})
	}
	return out
}
