package input

import (
	"context"
	"fmt"
	"slices"

	"k8s.io/utils/clock"

	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
)

// BindingPlans are the plans of the TargetGroupBindings in the scope of a command.
type BindingPlans struct {
	Bindings []BindingPlan
	// Rules are the changes of the rules of node and pod security groups, for all TargetGroupBindings together. It is
	// empty if the scope has only some TargetGroupBindings. In that case, RulesOmitted reports whether one of these
	// TargetGroupBindings has steps.
	Rules        []bindingplan.PlanItem
	RulesOmitted bool
	// Notes are sentences about changes that were not planned, with the reasons.
	Notes []string
	// Incomplete reports whether a plan, or a part of it, could not be made, so that it is not known whether something
	// changes.
	Incomplete bool
}

// BindingPlan is the plan of one TargetGroupBinding.
type BindingPlan struct {
	Key      bindings.Key
	Findings finding.List
	Items    []bindingplan.PlanItem
}

// unknownRemovalsReason returns why objects that need a target or a rule may be missing among those that were read, or "" if
// all were read.
func unknownRemovalsReason(d *Source) string {
	if !d.ClusterRead {
		return "no cluster was read"
	}
	if kinds := UnavailableKinds(d, cluster.KindService, cluster.KindNode, cluster.KindPod, cluster.KindEndpointSlice, cluster.KindEndpoints); len(kinds) > 0 {
		return "you have no permission to list these kinds: " + JoinKinds(kinds)
	}
	return ""
}

// PlanBindings makes the plans of the TargetGroupBindings in the scope of the command. With --observed or --offline it makes
// none. It omits the removal of targets and rules if objects that need them may not have been read.
func (d *Source) PlanBindings(ctx context.Context, store *cluster.Memory) (BindingPlans, error) {
	var out BindingPlans
	aws, ok := d.Cloud.(bindings.Cloud)
	all := store.All(cluster.KindBinding)
	if !ok || len(all) == 0 {
		return out, nil
	}
	cfg := controller.BindingConfig(d.Config, d.VPC, readOnlyFence)
	cfg.Cloud, cfg.Cluster, cfg.Clock = aws, kube.New(store, kube.MemoryAPI{Store: store}, clock.RealClock{}), clock.RealClock{}
	r := bindings.New(cfg)
	skipped, unknown := 0, unknownRemovalsReason(d)
	planned := func(items []bindingplan.PlanItem) []bindingplan.PlanItem {
		out := plannedItems(items, unknown == "")
		skipped += len(items) - len(out)
		return out
	}
	for _, o := range all {
		key := bindings.Key{Namespace: o.GetNamespace(), Name: o.GetName()}
		if d.selected.bindings != nil && !d.selected.bindings[key] {
			continue
		}
		draft, ok, err := r.DraftPlan(ctx, key)
		switch {
		case ctx.Err() != nil:
			return out, ctx.Err()
		case err != nil:
			out.addFailure("TargetGroupBinding "+key.String(), err)
		case draft.ReadError != nil:
			out.addFailure("TargetGroupBinding "+key.String(), draft.ReadError)
		case ok:
			out.Bindings = append(out.Bindings, BindingPlan{key, draft.Findings(), planned(draft.AWSItems())})
		}
	}
	if d.selected.bindings != nil {
		out.RulesOmitted = slices.ContainsFunc(out.Bindings, func(b BindingPlan) bool { return len(b.Items) > 0 })
		return out.withSkipped(skipped, unknown, d), nil
	}
	changes, err := r.DraftRuleChanges(ctx)
	if err != nil {
		out.addFailure("the rules of TargetGroupBindings", err)
	}
	for _, c := range changes {
		out.Rules = append(out.Rules, planned(c.Items())...)
	}
	return out.withSkipped(skipped, unknown, d), nil
}

// addFailure adds a note that the plan of a subject could not be made.
func (p *BindingPlans) addFailure(subject string, err error) {
	p.Incomplete = true
	p.Notes = append(p.Notes, fmt.Sprintf("no plan of %s: %v", subject, sdk.Explain(err)))
}

// withSkipped returns p with a note about n removals that are not planned, with the reason, or p if n is 0. A plan of a
// cluster with such a note is incomplete. A plan of files never has removals.
func (p BindingPlans) withSkipped(n int, reason string, d *Source) BindingPlans {
	if n > 0 {
		p.Incomplete = p.Incomplete || d.ClusterRead
		p.Notes = append(p.Notes, fmt.Sprintf("%d targets and rules that none of the objects that were read needs are not planned for removal, because %s", n, reason))
	}
	return p
}

// plannedItems returns items. If removals is false, it omits the items that remove targets or rules.
func plannedItems(items []bindingplan.PlanItem, removals bool) []bindingplan.PlanItem {
	return slices.DeleteFunc(slices.Clone(items), func(i bindingplan.PlanItem) bool {
		return !removals && (i.Verb == "deregister" || i.Verb == "revoke")
	})
}

// BindingDocument is the plan of a TargetGroupBinding in a JSON or YAML document.
type BindingDocument struct {
	Namespace string           `json:"namespace"`
	Name      string           `json:"name"`
	Findings  []output.Finding `json:"findings"`
	Steps     []output.Step    `json:"steps"`
}

// Document converts the plan for a JSON or YAML document.
func (b BindingPlan) Document() BindingDocument {
	return BindingDocument{b.Key.Namespace, b.Key.Name, output.Findings(b.Findings), ItemSteps(b.Items)}
}

// ItemSteps returns a step for a JSON or YAML document for each item.
func ItemSteps(items []bindingplan.PlanItem) []output.Step {
	out := []output.Step{}
	for _, i := range items {
		doc := output.Step{
			ID: plan.StepID(i.ID()), Verb: map[string]plan.Verb{"+": plan.Create, "~": plan.Update, "-": plan.Delete}[i.Sign],
			Kind: i.Kind, Resource: i.Name, In: i.Parent, Changes: []output.Field{}, Why: i.Why, Impact: plan.NoImpact,
		}
		if i.NewValue != "" && i.Sign != "-" {
			doc.Changes = append(doc.Changes, output.Field{Field: i.Kind, To: i.NewValue})
		}
		out = append(out, doc)
	}
	return out
}
