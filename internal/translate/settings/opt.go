package settings

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Opt is a setting in one of three states: unset (the zero value), set to a Value, or present but
// unreadable, in which case Fault is why and Value has no meaning.
type Opt[T any] struct {
	Value  T
	Set    bool
	Fault  error
	Origin finding.Origin
}

// Of returns a setting with a value.
func Of[T any](v T, from finding.Origin) Opt[T] { return Opt[T]{Value: v, Set: true, Origin: from} }

// Present reports whether the setting is written, readable or not.
func (o Opt[T]) Present() bool { return o.Set || o.Fault != nil }

// Or returns the value, or the default where the setting has none.
func (o Opt[T]) Or(def T) T {
	if o.Set {
		return o.Value
	}
	return def
}

// First returns the first setting that is present; a fault counts, since what its author meant
// must not be replaced by another member's value.
func First[T any](opts ...Opt[T]) Opt[T] {
	for _, o := range opts {
		if o.Present() {
			return o
		}
	}
	return Opt[T]{}
}

// Text treats an empty text as unset.
func Text(o Opt[string]) Opt[string] {
	if o.Value == "" {
		return Opt[string]{}
	}
	return o
}

// Filled treats an empty list as unset.
func Filled(o Opt[[]string]) Opt[[]string] {
	if o.Set && len(o.Value) == 0 {
		return Opt[[]string]{}
	}
	return o
}

// Fault is a setting that could not be read.
type Fault struct {
	Origin finding.Origin
	Err    error
}

// meanwhile is what happens while a setting cannot be read, by how much that blocks.
var meanwhile = map[finding.Reach]string{
	finding.BlocksRule:     "; its rule stays as it is live",
	finding.BlocksListener: "; its listener stays as it is live",
	finding.BlocksMember:   "; what is live stays as it is",
	finding.BlocksStack:    "; the load balancer stays as it is live",
}

// Finding reports the fault.
func (f Fault) Finding(blocks finding.Reach) finding.Finding {
	return finding.Finding{
		Object: f.Origin.Object, Field: f.Origin.Field, Reason: finding.AnnotationInvalid,
		Severity: finding.Error, Message: f.Err.Error() + meanwhile[blocks],
		Fix: "correct the value or remove it", Blocks: blocks,
	}
}

// Check returns the fault of a setting, nil if it is unset or readable.
func (o Opt[T]) Check() *Fault {
	if o.Fault == nil {
		return nil
	}
	return &Fault{Origin: o.Origin, Err: o.Fault}
}

// setting is an Opt of any type.
type setting interface {
	Present() bool
	Check() *Fault
}

// override returns base with each setting, as a whole, of top where it is present there. Fields that are no settings are
// those of base.
func override[S any](top, base S) S {
	from, to := reflect.ValueOf(top), reflect.ValueOf(&base).Elem()
	for i := range from.NumField() {
		if o, ok := from.Field(i).Interface().(setting); ok && o.Present() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return base
}

// faultsOf collects the faults of the settings among the fields of a struct, in their order.
func faultsOf[S any](s S) []Fault {
	var out []Fault
	for _, field := range reflect.ValueOf(s).Fields() {
		if o, ok := field.Interface().(setting); ok {
			out = append(out, Faults(o.Check())...)
		}
	}
	return out
}

// Faults collects the faults among checks.
func Faults(checks ...*Fault) []Fault {
	var out []Fault
	for _, c := range checks {
		if c != nil {
			out = append(out, *c)
		}
	}
	return out
}

// invalid wraps a parser's complaint with the value that it is about, cut to a readable length.
func invalid(raw string, err error) error {
	return fmt.Errorf("%s: %w", quoted(shortValue(raw)), err)
}

// shortValue cuts a value that users choose.
func shortValue(s string) string {
	if r := []rune(s); len(r) > 80 {
		return string(r[:77]) + "..."
	}
	return s
}

// quoted puts a value in quotes; in those of shells and Markdown where it has quotes itself, as JSON has.
func quoted(s string) string {
	if strings.Contains(s, `"`) && strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}
