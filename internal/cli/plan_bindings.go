package cli

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/fulcrum-lb/fulcrum/internal/cloud/sdk"
	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/controller"
	"github.com/fulcrum-lb/fulcrum/internal/engine/bindings"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/kube"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/bindingplan"
)

// bindingPlans are the plans of the TargetGroupBindings that exist.
type bindingPlans struct {
	bindings []bindingPlan
	rules    []bindingplan.Item // of the security groups of nodes and pods, on behalf of all bindings
	notes    []string
}

type bindingPlan struct {
	key      bindings.Key
	findings finding.List
	items    []bindingplan.Item
}

// planBindings makes the plans of all bindings. Without AWS, as from a recording, there are none. Without a cluster, what
// is missing in the files says nothing, so nothing is planned to be taken out.
func (d *drafting) planBindings(ctx context.Context, store *cluster.Memory) (bindingPlans, error) {
	var out bindingPlans
	aws, ok := d.connected.(bindings.Cloud)
	all := store.All(cluster.KindBinding)
	if !ok || len(all) == 0 {
		return out, nil
	}
	cfg := controller.BindingConfig(d.cfg, d.vpc, func() error { return errReadOnly })
	cfg.Cloud, cfg.Cluster, cfg.Now = aws, kube.New(store, kube.InMemory{Store: store}, time.Now), time.Now
	r := bindings.New(cfg)
	leftOut := 0
	shown := func(items []bindingplan.Item) []bindingplan.Item {
		kept := d.shown(items)
		leftOut += len(items) - len(kept)
		return kept
	}
	for _, o := range all {
		key := bindings.Key{Namespace: o.GetNamespace(), Name: o.GetName()}
		if d.chosen.bindings != nil && !d.chosen.bindings[key] {
			continue
		}
		draft, ok, err := r.Draft(ctx, key)
		switch {
		case ctx.Err() != nil:
			return out, ctx.Err()
		case err != nil:
			out.notes = append(out.notes, fmt.Sprintf("no plan of TargetGroupBinding %s: %v", key, sdk.Explain(err)))
		case ok:
			out.bindings = append(out.bindings, bindingPlan{key, draft.Findings(), shown(draft.AWSItems())})
		}
	}
	if d.chosen.bindings != nil {
		if slices.ContainsFunc(out.bindings, func(b bindingPlan) bool { return len(b.items) > 0 }) {
			out.notes = append(out.notes, "rules of the security groups of nodes and pods are those of all TargetGroupBindings together; --all-namespaces shows them")
		}
		return out.leftOut(leftOut), nil
	}
	changes, err := r.DraftRules(ctx)
	if err != nil {
		out.notes = append(out.notes, fmt.Sprintf("no plan of the rules of TargetGroupBindings: %v", sdk.Explain(err)))
	}
	for _, c := range changes {
		out.rules = append(out.rules, shown(c.Items())...)
	}
	return out.leftOut(leftOut), nil
}

// leftOut adds a note about what is not planned.
func (p bindingPlans) leftOut(n int) bindingPlans {
	if n > 0 {
		p.notes = append(p.notes, fmt.Sprintf("%d targets and rules of TargetGroupBindings that no object asks for are not planned to be taken out, because no cluster was read", n))
	}
	return p
}

// shown leaves out what is taken out, unless the objects of a cluster were read.
func (d *drafting) shown(items []bindingplan.Item) []bindingplan.Item {
	return slices.DeleteFunc(slices.Clone(items), func(i bindingplan.Item) bool {
		return !d.live && (i.Verb == "deregister" || i.Verb == "revoke")
	})
}

// show prints the plans that have something to say.
func (p bindingPlans) show(w io.Writer) {
	for _, n := range p.notes {
		fmt.Fprintf(w, "# %s\n", finding.Printable(n))
	}
	for _, b := range p.bindings {
		if len(b.items)+len(b.findings) == 0 {
			continue
		}
		fmt.Fprintf(w, "# TargetGroupBinding %s\n", b.key)
		showFindings(w, b.findings)
		fmt.Fprintln(w, orNothing(bindingplan.Text(b.items)))
	}
	if len(p.rules) > 0 {
		fmt.Fprintf(w, "# rules of the security groups of nodes and pods, for all TargetGroupBindings\n%s\n", bindingplan.Text(p.rules))
	}
	if n := p.count(); n != (targetsSummary{}) {
		fmt.Fprintln(w, n)
	}
}

func orNothing(text string) string {
	if text == "" {
		return "no changes\n"
	}
	return text
}

// targetsSummary counts what the plans of bindings do.
type targetsSummary struct {
	Register   int `json:"register"`
	Deregister int `json:"deregister"`
	Authorize  int `json:"authorize"`
	Revoke     int `json:"revoke"`
	// Other counts finalizers and records of targets.
	Other int `json:"other"`
}

func (s *targetsSummary) add(items []bindingplan.Item) {
	for _, i := range items {
		switch i.Verb {
		case "register":
			s.Register++
		case "deregister":
			s.Deregister++
		case "authorize":
			s.Authorize++
		case "revoke":
			s.Revoke++
		default:
			s.Other++
		}
	}
}

// String is the summary in one line.
func (s targetsSummary) String() string {
	return fmt.Sprintf("targets: %d to register, %d to deregister; rules of nodes and pods: %d to authorize, %d to revoke",
		s.Register, s.Deregister, s.Authorize, s.Revoke)
}

func (p bindingPlans) count() (s targetsSummary) {
	for _, b := range p.bindings {
		s.add(b.items)
	}
	s.add(p.rules)
	return s
}

// bindingDocument is the plan of a TargetGroupBinding for tools.
type bindingDocument struct {
	Namespace string            `json:"namespace"`
	Name      string            `json:"name"`
	Findings  []findingDocument `json:"findings"`
	Steps     []stepDocument    `json:"steps"`
}

// document adds the plans of bindings to a document.
func (p bindingPlans) document(all *planDocument) {
	all.Targets = p.count()
	for _, b := range p.bindings {
		all.Bindings = append(all.Bindings, b.document())
	}
	all.Rules = itemDocuments(p.rules)
}

func (b bindingPlan) document() bindingDocument {
	return bindingDocument{b.key.Namespace, b.key.Name, findingDocuments(b.findings), itemDocuments(b.items)}
}

// itemDocuments has a step for each item.
func itemDocuments(items []bindingplan.Item) []stepDocument {
	out := []stepDocument{}
	for _, i := range items {
		doc := stepDocument{
			ID: plan.StepID(i.ID()), Verb: map[string]plan.Verb{"+": plan.Create, "~": plan.Update, "-": plan.Delete}[i.Sign],
			Kind: i.Kind, Resource: i.Name, In: i.In, Changes: []fieldDocument{}, Why: i.Why, Impact: plan.NoImpact,
		}
		if i.To != "" && i.Sign != "-" {
			doc.Changes = append(doc.Changes, fieldDocument{Field: i.Kind, To: i.To})
		}
		out = append(out, doc)
	}
	return out
}
