package cli

import (
	"github.com/fulcrum-lb/fulcrum/internal/cli/input"
	"github.com/fulcrum-lb/fulcrum/internal/cli/output"
	"github.com/fulcrum-lb/fulcrum/internal/cli/tree"
	"github.com/fulcrum-lb/fulcrum/internal/engine"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
	"github.com/fulcrum-lb/fulcrum/internal/plan/document"
)

// planDocument is what plan prints for tools.
type planDocument struct {
	// Cluster is the value of --cluster-name.
	Cluster string `json:"cluster"`
	// Assumed are the facts that --offline takes for granted.
	Assumed []string `json:"assumed,omitempty"`
	// Stacks are load balancers with all that belongs to them.
	Stacks []planStack `json:"stacks"`
	// Bindings are the TargetGroupBindings that exist, Rules those of the security groups of nodes and pods for all of
	// them together, and Targets counts their steps.
	Bindings []input.BindingDocument `json:"bindings"`
	Rules    []output.Step           `json:"rules"`
	Targets  targetsSummary          `json:"targets"`
	// Summary, Errors and Warnings are those of all stacks.
	// What several stacks share counts once.
	Summary  plan.Summary `json:"summary"`
	Errors   int          `json:"errors"`
	Warnings int          `json:"warnings"`

	// seen are the steps about what load balancers share.
	seen map[plan.StepID]bool
}

type planStack struct {
	// Kind is Ingress, Service, ALBGateway or NLBGateway.
	Kind string `json:"kind"`
	// ID is NAMESPACE/NAME, or the name of an IngressGroup.
	ID       string           `json:"id"`
	Findings []output.Finding `json:"findings"`
	Steps    []output.Step    `json:"steps"`
	// Joins are ids in "after" that stand for several steps.
	Joins   map[plan.StepID][]plan.StepID `json:"joins,omitempty"`
	Summary plan.Summary                  `json:"summary"`
	// Leaving are members that go to another load balancer and are still served by this one.
	Leaving []tree.Leaving `json:"leaving,omitempty"`
	// Others are the endpoint groups of an accelerator that are not the object's; no step is about them.
	Others []tree.Other `json:"others,omitempty"`
	// Result is what the load balancer becomes, in the form of the annotation that feature gate
	// IngressPlanAnnotation switches on; null where that cannot be determined, as findings say.
	Result *document.Document `json:"result"`
}

// add takes a draft up. It returns the plan without the steps about what load balancers share and an earlier draft has too,
// and these.
func (all *planDocument) add(d engine.Draft, left []tree.Leaving) (own plan.Plan, shared []plan.StepID) {
	names := plan.NamesOf(d.Have)
	s := planStack{
		Kind: string(d.Stack.ID.Kind), ID: d.Stack.ID.String(), Findings: output.Findings(d.Findings), Steps: []output.Step{},
		Joins: d.Plan.Joins, Summary: d.Plan.Summary(d.Have), Leaving: left, Others: tree.OthersOf(d), Result: d.Describe(),
	}
	for _, step := range d.Plan.Steps {
		doc := output.Step{
			ID: step.ID, Verb: step.Verb, Kind: string(step.Address.Kind), Resource: step.Address.ID, Changes: []output.Field{},
			Why: step.Why, Impact: step.Impact, After: step.After, WaitsFor: step.Wait.For,
		}
		if name := names.Replace(step.Address.ID); name != step.Address.ID {
			doc.Name = name
		}
		for _, o := range step.Blames {
			doc.Objects = append(doc.Objects, output.Object(o))
		}
		doc.From = tree.OriginText(step.Rule.Of)
		for _, f := range step.Fields() {
			doc.Changes = append(doc.Changes, output.Field{Field: f.Path, From: f.From, To: f.To})
		}
		s.Steps = append(s.Steps, doc)
	}
	all.Stacks = append(all.Stacks, s)
	own, shared = all.withoutShownShared(d.Plan)
	all.Summary = all.Summary.Add(own.Summary(d.Have))
	for _, f := range d.Findings {
		if f.Severity == finding.Error {
			all.Errors++
		} else {
			all.Warnings++
		}
	}
	return own, shared
}

// withoutShownShared returns a plan without the steps about what load balancers share that an earlier plan has, and
// these.
func (all *planDocument) withoutShownShared(p plan.Plan) (own plan.Plan, shared []plan.StepID) {
	own = p
	own.Steps = nil
	for _, s := range p.Steps {
		switch {
		case s.Address.Kind != plan.BackendGroup:
			own.Steps = append(own.Steps, s)
		case all.seen[s.ID]:
			shared = append(shared, s.ID)
		default:
			all.seen[s.ID] = true
			own.Steps = append(own.Steps, s)
		}
	}
	return own, shared
}
