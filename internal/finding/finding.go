// Package finding describes faults in objects of users: object, field, reason, message, fix, and how much of the stack the
// fault blocks. Other packages turn findings into conditions, events, CLI output and admission responses.
package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Ref is a reference to a Kubernetes object. Namespace is empty for cluster-scoped kinds.
type Ref struct {
	Kind      string
	Namespace string
	Name      string
}

// String returns "Kind namespace/name", the form used in messages and plans.
func (r Ref) String() string {
	if r.Namespace == "" {
		return r.Kind + " " + r.Name
	}
	return r.Kind + " " + r.Namespace + "/" + r.Name
}

// IsZero reports whether the reference is empty.
func (r Ref) IsZero() bool { return r == Ref{} }

// Compare orders references by kind, namespace and name.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(cmp.Compare(r.Kind, o.Kind), cmp.Compare(r.Namespace, o.Namespace), cmp.Compare(r.Name, o.Name))
}

// Origin is where a value comes from: an object and its field or annotation. The zero Origin means the built-in default.
type Origin struct {
	Object Ref
	Field  string
}

// String returns the origin for messages. The zero value is "built-in default".
func (o Origin) String() string {
	switch {
	case o.Object.IsZero() && o.Field == "":
		return "built-in default"
	case o.Object.IsZero():
		return o.Field
	case o.Field == "":
		return o.Object.String()
	}
	return o.Field + " of " + o.Object.String()
}

// Reach is how much of a stack a finding blocks. A blocked part of the stack is held: existing resources in AWS are not
// changed, and missing resources are not created.
type Reach int

// The values of Reach, in ascending order.
const (
	BlocksNothing  Reach = iota // nothing is blocked: the finding is a recommendation, or another member has precedence in a conflict
	BlocksRule                  // one rule of one listener
	BlocksListener              // one listener
	BlocksMember                // all rules of one Ingress or one route
	BlocksStack                 // the whole load balancer
)

// String returns the name of the reach in the documentation: "nothing", "rule", "listener", "member" or "stack".
func (r Reach) String() string {
	return [...]string{"nothing", "rule", "listener", "member", "stack"}[r]
}

// Severity is the severity of a finding: warning or error.
type Severity int

// The values of Severity.
const (
	Warning Severity = iota
	Error
)

// String returns "warning" or "error".
func (s Severity) String() string {
	if s == Error {
		return "error"
	}
	return "warning"
}

// Finding is one fault of one object, or a recommendation about the object.
type Finding struct {
	Object   Ref      // the object that has to be changed
	Field    string   // path or annotation key inside the object
	Reason   Reason   // stable, documented code
	Severity Severity // Warning if it is not set; List.Add sets Error if Blocks is not BlocksNothing
	Message  string   // what is wrong, with the offending value
	Fix      string   // what to do, in the imperative
	Blocks   Reach
	// Port is the port of the listener that the finding is about; 0 if the finding is not limited to one listener.
	Port int32
}

// String returns one line with the severity, reason, object, field, message and fix.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", f.Severity, f.Reason, f.Object)
	if f.Field != "" {
		fmt.Fprintf(&b, " %s", f.Field)
	}
	fmt.Fprintf(&b, ": %s", f.Text())
	return b.String()
}

// Text returns the message and the fix, as events and conditions show them. The result is one line of printable characters,
// even if it quotes values of users.
func (f Finding) Text() string {
	if f.Fix == "" {
		return EscapeNonPrintable(f.Message)
	}
	return EscapeNonPrintable(f.Message + "; " + f.Fix)
}

// TextWithField returns the field and the text, for output that does not show the field separately.
func (f Finding) TextWithField() string {
	if f.Field == "" {
		return f.Text()
	}
	return f.Field + ": " + f.Text()
}

// List is a list of findings, in the order in which they were added.
type List []Finding

// Add appends findings. A finding whose Blocks is not BlocksNothing gets severity Error.
func (l *List) Add(fs ...Finding) {
	for _, f := range fs {
		if f.Blocks > BlocksNothing {
			f.Severity = Error
		}
		*l = append(*l, f)
	}
}

// Sorted returns the findings ordered by object, field, reason and message, without duplicates.
func (l List) Sorted() List {
	out := slices.Clone(l)
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(a.Object.Compare(b.Object), cmp.Compare(a.Field, b.Field),
			cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(out)
}

// ForObject returns the findings about one object.
func (l List) ForObject(r Ref) List {
	var out List
	for _, f := range l {
		if f.Object == r {
			out = append(out, f)
		}
	}
	return out
}

// LargestReach returns the largest Reach of the findings; BlocksNothing for an empty list.
func (l List) LargestReach() Reach {
	r := BlocksNothing
	for _, f := range l {
		r = max(r, f.Blocks)
	}
	return r
}

// CountErrors returns the number of findings that are errors.
func (l List) CountErrors() (n int) {
	for _, f := range l {
		if f.Severity == Error {
			n++
		}
	}
	return n
}

// HoldsStack reports whether the findings hold the whole stack. This is the case if a finding blocks the stack
// (BlocksStack), or if strict is true and a finding is an error.
func (l List) HoldsStack(strict bool) bool {
	return l.LargestReach() == BlocksStack || strict && l.CountErrors() > 0
}
