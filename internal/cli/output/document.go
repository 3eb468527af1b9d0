package output

import (
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/plan"
)

// Finding is a finding in a JSON or YAML document.
type Finding struct {
	// Severity is error or warning.
	Severity string `json:"severity"`
	// Reason is a reason of docs/findings.md.
	Reason finding.Reason `json:"reason"`
	// Object is the Kubernetes object that has to be changed.
	Object Object `json:"object"`
	// Field is a path or annotation in the object.
	Field string `json:"field,omitempty"`
	// Message describes the problem, its effect and the fix.
	Message string `json:"message"`
	// Blocks is what is held because of the finding: nothing, rule, listener, member or stack.
	Blocks string `json:"blocks"`
}

// Object names a Kubernetes object.
type Object struct {
	Kind string `json:"kind"`
	// Namespace is missing for cluster-scoped objects.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// MembersOf returns the objects of members, for a JSON or YAML document. It never returns nil.
func MembersOf(members []model.Member) []Object {
	out := []Object{}
	for _, m := range members {
		out = append(out, Object(m.Ref))
	}
	return out
}

// Step is a step of a plan in a JSON or YAML document. Steps are in an order in which they can be carried out.
type Step struct {
	ID plan.StepID `json:"id"`
	// Verb is create, update or delete.
	Verb plan.Verb `json:"verb"`
	// Kind is the kind of the resource, such as listener or target-group.
	Kind string `json:"kind"`
	// Resource is the id of the resource within the stack, or its ARN.
	Resource string `json:"resource"`
	// Name is the readable name of the resource. The text of a plan shows it in place of Resource.
	Name string `json:"name,omitempty"`
	// In is the target group of a target, or the security group of a rule.
	In string `json:"in,omitempty"`
	// Changes are the values that the step changes.
	Changes []Field `json:"changes"`
	// Why is the reason for the step.
	Why string `json:"why,omitempty"`
	// Objects are the objects that the step is for.
	Objects []Object `json:"objects,omitempty"`
	// From is the object and field that define the listener rule that the step changes.
	From string `json:"from,omitempty"`
	// Impact on traffic is none, brief, replace or delete.
	Impact plan.Impact `json:"impact"`
	// After are the steps that must succeed before this one is carried out.
	After []plan.StepID `json:"after,omitempty"`
	// WaitsFor is the reason why the step is not carried out at once.
	WaitsFor string `json:"waitsFor,omitempty"`
}

// Field is a value that a step changes.
type Field struct {
	// Field is the path of the value in the resource.
	Field string `json:"field"`
	// From is the value before the step.
	From string `json:"from,omitempty"`
	// To is the value after the step.
	To string `json:"to,omitempty"`
}

// Text returns the change in one line.
func (f Field) Text() string {
	return plan.Change{Path: f.Field, From: f.From, To: f.To}.String()
}

// Findings converts findings for a JSON or YAML document, in the order in which text shows them. It never returns nil.
func Findings(found finding.List) []Finding {
	out := []Finding{}
	for _, f := range found.Sorted() {
		out = append(out, Finding{f.Severity.String(), f.Reason, Object(f.Object), f.Field, f.Text(), f.Blocks.String()})
	}
	return out
}
