// Package finding describes faults in objects that users wrote: the object, the field, the
// reason, the fix and how far the fault reaches. It decides and prints nothing: conditions,
// events, CLI output and admission answers are made from the same findings elsewhere.
package finding

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Ref names one Kubernetes object. Namespace is empty for cluster-scoped kinds.
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

// IsZero reports whether the reference names nothing.
func (r Ref) IsZero() bool { return r == Ref{} }

// Compare orders references by kind, namespace and name.
func (r Ref) Compare(o Ref) int {
	return cmp.Or(cmp.Compare(r.Kind, o.Kind), cmp.Compare(r.Namespace, o.Namespace), cmp.Compare(r.Name, o.Name))
}

// Origin is where a value came from: an object and the field (or annotation) in it. The zero
// Origin means the built-in default.
type Origin struct {
	Object Ref
	Field  string
}

// String names the origin in readable form, "built-in default" for the zero value.
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

// Reach is how much of a stack a finding blocks. What is blocked is held: it stays as it is
// in AWS, and is not created if it does not exist there.
type Reach int

// The reaches, in rising order.
const (
	BlocksNothing  Reach = iota // the finding is advice, or a conflict that another member won
	BlocksRule                  // one rule of one listener
	BlocksListener              // one listener
	BlocksMember                // everything that one Ingress or one route contributes
	BlocksStack                 // the whole load balancer
)

// String returns the word used in documents: nothing, rule, listener, member or stack.
func (r Reach) String() string {
	return [...]string{"nothing", "rule", "listener", "member", "stack"}[r]
}

// Severity ranks findings for users.
type Severity int

// The severities.
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

// Finding is one fault of one object, or a piece of advice about it.
type Finding struct {
	Object   Ref      // the object that has to be changed
	Field    string   // path or annotation key inside the object
	Reason   Reason   // stable, documented code
	Severity Severity // Error where Blocks is more than nothing
	Message  string   // what is wrong, with the offending value
	Fix      string   // what to do, in the imperative
	Blocks   Reach
	// Port is the port of the listener which the finding is limited to; 0 if it is not.
	Port int32
}

// String returns one line: severity, reason, object, field, message and fix.
func (f Finding) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s %s", f.Severity, f.Reason, f.Object)
	if f.Field != "" {
		fmt.Fprintf(&b, " %s", f.Field)
	}
	fmt.Fprintf(&b, ": %s", f.Text())
	return b.String()
}

// Text returns the message and the fix joined, as events and conditions carry it. It is one line of
// printable characters, whatever the values in it are.
func (f Finding) Text() string {
	if f.Fix == "" {
		return Printable(f.Message)
	}
	return Printable(f.Message + "; " + f.Fix)
}

// Located returns the text behind the field that it is about, where the object may have many.
func (f Finding) Located() string {
	if f.Field == "" {
		return f.Text()
	}
	return f.Field + ": " + f.Text()
}

// List is a set of findings in the order they were made.
type List []Finding

// Add appends findings. The severity of a finding that blocks something is raised to Error.
func (l *List) Add(fs ...Finding) {
	for _, f := range fs {
		if f.Blocks > BlocksNothing {
			f.Severity = Error
		}
		*l = append(*l, f)
	}
}

// Sorted returns the findings ordered by object, field, reason and message, without repeats.
func (l List) Sorted() List {
	out := slices.Clone(l)
	slices.SortStableFunc(out, func(a, b Finding) int {
		return cmp.Or(a.Object.Compare(b.Object), cmp.Compare(a.Field, b.Field),
			cmp.Compare(a.Reason, b.Reason), cmp.Compare(a.Message, b.Message))
	})
	return slices.Compact(out)
}

// On returns the findings about one object.
func (l List) On(r Ref) List {
	var out List
	for _, f := range l {
		if f.Object == r {
			out = append(out, f)
		}
	}
	return out
}

// Reach returns the widest reach of the list.
func (l List) Reach() Reach {
	r := BlocksNothing
	for _, f := range l {
		r = max(r, f.Blocks)
	}
	return r
}

// Stops reports whether a finding holds the whole stack: one that says so, or any error where strict is set.
func (l List) Stops(strict bool) bool {
	return l.Reach() == BlocksStack || strict && slices.ContainsFunc(l, func(f Finding) bool { return f.Severity == Error })
}
