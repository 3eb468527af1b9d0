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
	// Rules are the changes of the rules of node and pod security groups, for all TargetGroupBindings together. It is empty
	// if the scope has only some TargetGroupBindings.
	Rules []bindingplan.PlanItem
	// Notes are sentences about changes that were not planned, with the reasons.
	Notes []string
}

// BindingPlan is the plan of one TargetGroupBinding.
type BindingPlan struct {
	Key      bindings.Key
	Findings finding.List
	Items    []bindingplan.PlanItem
}

// PlanBindings makes the plans of the TargetGroupBindings in the scope of the command. With --observed or --offline it makes
// none. If no cluster was read, it omits the removal of targets and rules, because the files may lack the objects that need
// them.
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
	skipped := 0
	planned := func(items []bindingplan.PlanItem) []bindingplan.PlanItem {
		out := plannedItems(items, d.ClusterRead)
		skipped += len(items) - len(out)
		return out
	}
	for _, o := range all {
		key := bindings.Key{Namespace: o.GetNamespace(), Name: o.GetName()}
		if d.selected.bindings != nil && !d.selected.bindings[key] {
			continue
		}
		draft, ok, err := r.Draft(ctx, key)
		switch {
		case ctx.Err() != nil:
			return out, ctx.Err()
		case err != nil:
			out.Notes = append(out.Notes, fmt.Sprintf("no plan of TargetGroupBinding %s: %v", key, sdk.Explain(err)))
		case ok:
			out.Bindings = append(out.Bindings, BindingPlan{key, draft.Findings(), planned(draft.AWSItems())})
		}
	}
	if d.selected.bindings != nil {
		if slices.ContainsFunc(out.Bindings, func(b BindingPlan) bool { return len(b.Items) > 0 }) {
			out.Notes = append(out.Notes, "rules of node and pod security groups are planned for all TargetGroupBindings together; use --all-namespaces to see them")
		}
		return out.withSkippedNote(skipped), nil
	}
	changes, err := r.DraftRules(ctx)
	if err != nil {
		out.Notes = append(out.Notes, fmt.Sprintf("no plan of the rules of TargetGroupBindings: %v", sdk.Explain(err)))
	}
	for _, c := range changes {
		out.Rules = append(out.Rules, planned(c.Items())...)
	}
	return out.withSkippedNote(skipped), nil
}

// withSkippedNote returns p with a note about n removals that are not planned, or p if n is 0.
func (p BindingPlans) withSkippedNote(n int) BindingPlans {
	if n > 0 {
		p.Notes = append(p.Notes, fmt.Sprintf("%d targets and rules that no TargetGroupBinding needs are not planned for removal, because no cluster was read", n))
	}
	return p
}

// plannedItems returns items. If no cluster was read, it omits the items that remove targets or rules.
func plannedItems(items []bindingplan.PlanItem, clusterRead bool) []bindingplan.PlanItem {
	return slices.DeleteFunc(slices.Clone(items), func(i bindingplan.PlanItem) bool {
		return !clusterRead && (i.Verb == "deregister" || i.Verb == "revoke")
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
