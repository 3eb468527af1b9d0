package output

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Finding is a finding for tools.
type Finding struct {
	// Severity is error or warning.
	Severity string `json:"severity"`
	// Reason is a reason of docs/findings.md.
	Reason finding.Reason `json:"reason"`
	// Object is the one that has to be changed.
	Object Object `json:"object"`
	// Field is a path or annotation in the object.
	Field string `json:"field,omitempty"`
	// Message is what is wrong, what happens now and what to do.
	Message string `json:"message"`
	// Blocks is how much is held for it: nothing, rule, listener, member or stack.
	Blocks string `json:"blocks"`
}

// Object is an object of Kubernetes.
type Object struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Step is a step. Steps are in an order in which they can be carried out.
type Step struct {
	ID plan.StepID `json:"id"`
	// Verb is create, update or delete.
	Verb plan.Verb `json:"verb"`
	// Kind is the kind of the resource, such as listener or target-group.
	Kind string `json:"kind"`
	// Resource is the id or ARN within the stack.
	Resource string `json:"resource"`
	// Name is what text has in place of an ARN or id.
	Name string `json:"name,omitempty"`
	// In is the target group of a target, or the security group of a rule.
	In      string  `json:"in,omitempty"`
	Changes []Field `json:"changes"`
	Why     string  `json:"why,omitempty"`
	// Objects are the objects that ask for the step, and From is the object and field of the rule that it is about.
	Objects []Object `json:"objects,omitempty"`
	From    string   `json:"from,omitempty"`
	// Impact on traffic is none, brief, replace or delete.
	Impact plan.Impact `json:"impact"`
	// After are steps that must have succeeded.
	After []plan.StepID `json:"after,omitempty"`
	// WaitsFor is why the step is not carried out at once.
	WaitsFor string `json:"waitsFor,omitempty"`
}

// Field is a value that a step changes.
type Field struct {
	// Field that changes, From and To its values.
	Field string `json:"field"`
	From  string `json:"from,omitempty"`
	To    string `json:"to,omitempty"`
}

// Text returns the change in one line.
func (f Field) Text() string {
	return plan.Change{Path: f.Field, From: f.From, To: f.To}.String()
}

// Findings returns findings for tools, in the order in which they are shown.
func Findings(found finding.List) []Finding {
	out := []Finding{}
	for _, f := range found.Sorted() {
		out = append(out, Finding{f.Severity.String(), f.Reason, Object(f.Object), f.Field, f.Text(), f.Blocks.String()})
	}
	return out
}
