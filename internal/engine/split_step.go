package engine

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/engine/checkpoint"
	"github.com/fulcrum-lb/fulcrum/internal/finding/failure"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// splitStep divides a step that AWS refused because of an invalid value into one step for each of its values. Tags,
// attributes and sources come from several members, and an invalid value of one member must not delay the valid values of
// another. It returns none if the step failed for another reason or cannot be divided.
func splitStep(f FailedStep) (parts []plan.Step) {
	if f.Class != failure.Invalid {
		return nil
	}
	part := func(name string, do plan.Action) {
		s := f.Step
		what, rest, _ := strings.Cut(string(s.ID), " ")
		s.ID, s.Do = plan.StepID(what+"."+checkpoint.Digest(name)+" "+rest), do
		s.Changes = slices.DeleteFunc(slices.Clone(s.Changes), func(c plan.Change) bool { return !strings.HasSuffix(c.Path, name) })
		parts = append(parts, s)
	}
	switch do := f.Step.Do.(type) {
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

// carryOutParts carries out the parts of a divided step, and reports whether all of them succeeded. Parts that were skipped
// in earlier runs come first. Otherwise a member that keeps writing new invalid values could delay the parts of other
// members forever.
func (r *run) carryOutParts(ctx context.Context, p plan.Plan, parts []plan.Step, stack model.Stack, known plan.KnownIDs) (bool, error) {
	order := func(s plan.Step) int {
		if r.mem.stepRefusals.wasSkipped(stepKeyOf(s, stack)) {
			return 0
		}
		return 1
	}
	slices.SortStableFunc(parts, func(x, y plan.Step) int { return order(x) - order(y) })
	carried := map[plan.StepID]bool{}
	for _, s := range parts {
		isPart := func(id plan.StepID) bool {
			return slices.ContainsFunc(parts, func(o plan.Step) bool { return o.ID == id })
		}
		if slices.ContainsFunc(s.After, func(id plan.StepID) bool { return !carried[id] && isPart(id) }) {
			continue
		}
		ok, err := r.carryOut(ctx, p, s, stack, known)
		if err != nil {
			return false, err
		}
		carried[s.ID] = ok
	}
	return !slices.ContainsFunc(parts, func(s plan.Step) bool { return !carried[s.ID] }), nil
}
