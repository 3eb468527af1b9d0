package cli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

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
	Bindings []bindingDocument `json:"bindings"`
	Rules    []stepDocument    `json:"rules"`
	Targets  targetsSummary    `json:"targets"`
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
	ID       string            `json:"id"`
	Findings []findingDocument `json:"findings"`
	Steps    []stepDocument    `json:"steps"`
	// Joins are ids in "after" that stand for several steps.
	Joins   map[plan.StepID][]plan.StepID `json:"joins,omitempty"`
	Summary plan.Summary                  `json:"summary"`
	// Leaving are members that go to another load balancer and are still served by this one.
	Leaving []leavingDocument `json:"leaving,omitempty"`
	// Result is what the load balancer becomes, in the form of the annotation that feature gate
	// IngressPlanAnnotation switches on; null where that cannot be determined, as findings say.
	Result *document.Document `json:"result"`
}

type findingDocument struct {
	// Severity is error or warning.
	Severity string `json:"severity"`
	// Reason is one of docs/findings.md.
	Reason finding.Reason `json:"reason"`
	// Object is the one that has to be changed.
	Object objectDocument `json:"object"`
	// Field is a path or annotation in the object.
	Field string `json:"field,omitempty"`
	// Message says what is wrong, what happens now and what to do.
	Message string `json:"message"`
	// Blocks says how much is held for it: nothing, rule, listener, member or stack.
	Blocks string `json:"blocks"`
}

type objectDocument struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// stepDocument is a step. Steps are in an order in which they can be carried out.
type stepDocument struct {
	ID plan.StepID `json:"id"`
	// Verb is create, update or delete.
	Verb plan.Verb `json:"verb"`
	// Kind is that of the resource, such as listener or target-group.
	Kind string `json:"kind"`
	// Resource is the id or ARN within the stack.
	Resource string `json:"resource"`
	// Name is what text has in place of an ARN or id.
	Name string `json:"name,omitempty"`
	// In is the target group of a target, or the security group of a rule.
	In      string          `json:"in,omitempty"`
	Changes []fieldDocument `json:"changes"`
	Why     string          `json:"why,omitempty"`
	// Impact on traffic is none, brief, replace or delete.
	Impact plan.Impact `json:"impact"`
	// After are steps that must have succeeded.
	After []plan.StepID `json:"after,omitempty"`
	// WaitsFor says why the step is not carried out at once.
	WaitsFor string `json:"waitsFor,omitempty"`
}

type fieldDocument struct {
	// Field that changes, From and To its values.
	Field string `json:"field"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
}

// text is the change in one line.
func (f fieldDocument) text() string {
	return plan.Change{Path: f.Field, From: f.From, To: f.To}.String()
}

// add takes a draft up. It returns the plan without the steps about what load balancers share and an earlier draft has too,
// and these.
func (all *planDocument) add(d engine.Draft, left []leavingDocument) (own plan.Plan, shared []plan.StepID) {
	names := plan.NamesOf(d.Have)
	s := planStack{
		Kind: string(d.Stack.ID.Kind), ID: d.Stack.ID.String(), Findings: findingDocuments(d.Findings), Steps: []stepDocument{},
		Joins: d.Plan.Joins, Summary: d.Plan.Summary(d.Have), Leaving: left, Result: d.Describe(),
	}
	for _, step := range d.Plan.Steps {
		doc := stepDocument{
			ID: step.ID, Verb: step.Verb, Kind: string(step.Address.Kind), Resource: step.Address.ID, Changes: []fieldDocument{},
			Why: step.Why, Impact: step.Impact, After: step.After, WaitsFor: step.Wait.For,
		}
		if name := names.In(step.Address.ID); name != step.Address.ID {
			doc.Name = name
		}
		for _, f := range step.Fields() {
			doc.Changes = append(doc.Changes, fieldDocument{f.Path, f.From, f.To})
		}
		s.Steps = append(s.Steps, doc)
	}
	all.Stacks = append(all.Stacks, s)
	own, shared = all.unseen(d.Plan)
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

// unseen is a plan without the steps about what load balancers share that an earlier plan has, and these.
func (all *planDocument) unseen(p plan.Plan) (own plan.Plan, shared []plan.StepID) {
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

func findingDocuments(found finding.List) []findingDocument {
	out := []findingDocument{}
	for _, f := range found.Sorted() {
		out = append(out, findingDocument{f.Severity.String(), f.Reason, objectDocument(f.Object), f.Field, f.Text(), f.Blocks.String()})
	}
	return out
}

func writeJSON(w io.Writer, v any) error {
	var doc bytes.Buffer
	out := json.NewEncoder(&doc)
	out.SetEscapeHTML(false)
	out.SetIndent("", "  ")
	if err := out.Encode(v); err != nil {
		return err
	}
	_, err := io.WriteString(w, escaped(doc.String()))
	return err
}

// escaped is a JSON document with escapes for what does not show as what it is, such as the control characters above ASCII,
// which the encoder leaves as they are. Its values stay the same.
func escaped(doc string) string {
	var out strings.Builder
	for _, r := range doc {
		switch {
		case r < utf8.RuneSelf && r != 0x7f || strconv.IsPrint(r):
			out.WriteRune(r)
		default:
			for _, unit := range utf16.Encode([]rune{r}) {
				fmt.Fprintf(&out, `\u%04x`, unit)
			}
		}
	}
	return out.String()
}
