package refused

import (
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/engine/checkpoint"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// SplitStep divides a step into one step for each of its values. Tags, attributes and sources come from several members, and
// an invalid value of one member must not delay the valid values of another member. It returns no steps if the step cannot
// be divided.
func SplitStep(step plan.Step) (parts []plan.Step) {
	part := func(name string, do plan.Action) {
		s := step
		what, rest, _ := strings.Cut(string(s.ID), " ")
		s.ID, s.Do = plan.StepID(what+"."+checkpoint.Digest(name)+" "+rest), do
		s.Changes = slices.DeleteFunc(slices.Clone(s.Changes), func(c plan.Change) bool { return !strings.HasSuffix(c.Path, name) })
		parts = append(parts, s)
	}
	switch do := step.Do.(type) {
	case plan.SetAttributes:
		for _, k := range slices.Sorted(maps.Keys(do.Values)) {
			part(k, plan.SetAttributes{Resource: do.Resource, Values: map[string]string{k: do.Values[k]}})
		}
	case plan.SetTags:
		if len(do.Remove) > 0 {
			part("", plan.SetTags{Resource: do.Resource, Remove: do.Remove})
		}
		for _, k := range slices.Sorted(maps.Keys(do.Put)) {
			part(k, plan.SetTags{Resource: do.Resource, Put: plan.Tags{k: do.Put[k]}})
		}
	case plan.ChangeIngress:
		// A source is removed from a port only after all sources that replace it are admitted there.
		if len(do.Authorize)+len(do.Revoke) < 2 {
			return nil
		}
		authorized := map[[2]int32][]plan.StepID{} // IDs of the steps that admit a source, by port range
		for _, rule := range do.Authorize {
			part(rule.String(), plan.ChangeIngress{Group: do.Group, Authorize: []model.IngressRule{rule}, Total: do.Total})
			port := [2]int32{rule.From, rule.To}
			authorized[port] = append(authorized[port], parts[len(parts)-1].ID)
		}
		for _, rule := range do.Revoke {
			part("not "+rule.String(), plan.ChangeIngress{Group: do.Group, Revoke: []model.IngressRule{rule}, Total: do.Total})
			parts[len(parts)-1].After = authorized[[2]int32{rule.From, rule.To}]
		}
	case plan.Divisible:
		var before []plan.StepID
		for _, p := range do.Divide() {
			part(p.Name, p.Do)
			parts[len(parts)-1].After = before
			if p.Required {
				before = append(before, parts[len(parts)-1].ID)
			}
		}
	}
	return parts
}
