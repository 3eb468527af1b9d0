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

// PlanDocument is the output of the command plan as JSON or YAML.
type PlanDocument struct {
	// Cluster is the value of --cluster-name.
	Cluster string `json:"cluster"`
	// Assumed are the facts that --offline assumes, one sentence each.
	Assumed []string `json:"assumed,omitempty"`
	// Stacks are load balancers with all that belongs to them.
	Stacks []planStack `json:"stacks"`
	// Bindings has the steps of each TargetGroupBinding that exists.
	Bindings []input.BindingDocument `json:"bindings"`
	// Rules are the steps for rules of the security groups of nodes and pods. All bindings share these rules.
	Rules []output.Step `json:"rules"`
	// Targets counts the steps of Bindings and Rules.
	Targets targetsSummary `json:"targets"`
	// Summary counts the steps of all stacks. A step that several stacks share counts once.
	Summary plan.Summary `json:"summary"`
	// Errors counts the findings of all stacks with severity error.
	Errors int `json:"errors"`
	// Warnings counts the findings of all stacks with severity warning.
	Warnings int `json:"warnings"`

	// shared has the IDs of the steps, in all stacks so far, that change resources that load balancers share.
	shared map[plan.StepID]bool
}

// planStack is the plan of one stack.
type planStack struct {
	// Kind is Ingress, Service, ALBGateway, NLBGateway or GlobalAccelerator.
	Kind string `json:"kind"`
	// ID is NAMESPACE/NAME, or the name of an IngressGroup.
	ID       string           `json:"id"`
	Findings []output.Finding `json:"findings"`
	Steps    []output.Step    `json:"steps"`
	// Joins maps an ID in the field "after" of a step to several steps, if the ID represents more than one step.
	Joins   map[plan.StepID][]plan.StepID `json:"joins,omitempty"`
	Summary plan.Summary                  `json:"summary"`
	// Leaving are the members that move to another load balancer, and that this load balancer still serves.
	Leaving []tree.LeavingMember `json:"leaving,omitempty"`
	// Others are the endpoint groups of an accelerator that other objects or users have added. No step changes them.
	Others []tree.OtherEndpointGroup `json:"others,omitempty"`
	// Result is the desired state of the load balancer, in the format of the annotation that feature gate
	// IngressPlanAnnotation enables. It is null if the desired state cannot be determined. The findings then have the
	// reason.
	Result *document.Document `json:"result"`
}

// addStack adds the plan of a stack to the document. It returns the plan without the steps that are also in the plan of
// an earlier stack, and the IDs of these steps.
func (doc *PlanDocument) addStack(d engine.Draft, leaving []tree.LeavingMember) (unshown plan.Plan, repeated []plan.StepID) {
	names := plan.ResourceNamesOf(d.Have)
	s := planStack{
		Kind: string(d.Stack.ID.Kind), ID: d.Stack.ID.String(), Findings: output.Findings(d.Findings), Steps: []output.Step{},
		Joins: d.Plan.Joins, Summary: d.Plan.Summary(d.Have), Leaving: leaving, Others: tree.OtherEndpointGroupsOf(d), Result: d.Describe(),
	}
	for _, step := range d.Plan.Steps {
		out := output.Step{
			ID: step.ID, Verb: step.Verb, Kind: string(step.Address.Kind), Resource: step.Address.ID, Changes: []output.Field{},
			Why: step.Why, Impact: step.Impact, After: step.After, WaitsFor: step.Wait.For,
		}
		if name := names.Replace(step.Address.ID); name != step.Address.ID {
			out.Name = name
		}
		for _, o := range step.RequestedBy {
			out.Objects = append(out.Objects, output.Object(o))
		}
		out.From = tree.OriginText(step.Rule.Of)
		for _, f := range step.Fields() {
			out.Changes = append(out.Changes, output.Field{Field: f.Path, From: f.From, To: f.To})
		}
		s.Steps = append(s.Steps, out)
	}
	doc.Stacks = append(doc.Stacks, s)
	unshown, repeated = doc.withoutRepeatedSteps(d.Plan)
	doc.Summary = doc.Summary.Add(unshown.Summary(d.Have))
	for _, f := range d.Findings {
		if f.Severity == finding.Error {
			doc.Errors++
		} else {
			doc.Warnings++
		}
	}
	return unshown, repeated
}

// withoutRepeatedSteps returns a plan without the steps for the shared backend security group that are also in the plan
// of an earlier stack. It also returns the IDs of these steps.
func (doc *PlanDocument) withoutRepeatedSteps(p plan.Plan) (unshown plan.Plan, repeated []plan.StepID) {
	unshown = p
	unshown.Steps = nil
	for _, s := range p.Steps {
		switch {
		case s.Address.Kind != plan.BackendSecurityGroup:
			unshown.Steps = append(unshown.Steps, s)
		case doc.shared[s.ID]:
			repeated = append(repeated, s.ID)
		default:
			doc.shared[s.ID] = true
			unshown.Steps = append(unshown.Steps, s)
		}
	}
	return unshown, repeated
}
