package settings

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Opt is a setting in one of three states: unset (the zero value), set to Value, or set to a value that is not valid. In the
// last state, Fault is the reason, and Value has no meaning.
type Opt[T any] struct {
	Value  T
	Set    bool
	Fault  error
	Origin finding.Origin
}

// NewOpt returns a setting that is set to v.
func NewOpt[T any](v T, from finding.Origin) Opt[T] { return Opt[T]{Value: v, Set: true, Origin: from} }

// IsPresent reports whether the user has set the setting, even to a value that is not valid.
func (o Opt[T]) IsPresent() bool { return o.Set || o.Fault != nil }

// ValueOr returns the value of the setting, or def if the setting has no value.
func (o Opt[T]) ValueOr(def T) T {
	if o.Set {
		return o.Value
	}
	return def
}

// FirstPresent returns the first setting that is present. This includes a setting whose value is not valid, because the
// value of another source must not replace it.
func FirstPresent[T any](opts ...Opt[T]) Opt[T] {
	for _, o := range opts {
		if o.IsPresent() {
			return o
		}
	}
	return Opt[T]{}
}

// UnsetIfEmpty returns the setting, or an unset setting if the value is empty.
func UnsetIfEmpty(o Opt[string]) Opt[string] {
	if o.Value == "" {
		return Opt[string]{}
	}
	return o
}

// UnsetIfEmptyList returns the setting, or an unset setting if the list is empty.
func UnsetIfEmptyList(o Opt[[]string]) Opt[[]string] {
	if o.Set && len(o.Value) == 0 {
		return Opt[[]string]{}
	}
	return o
}

// Fault is the fault of a setting whose value is not valid.
type Fault struct {
	Origin finding.Origin
	Err    error
}

// consequenceByReach has the end of the message about a setting that is not valid. The key is what the fault blocks.
var consequenceByReach = map[finding.Reach]string{
	finding.BlocksRule:     "; an existing rule or listener stays unchanged, and a new one is not served",
	finding.BlocksListener: "; an existing listener stays unchanged, and a new listener is not created",
	finding.BlocksMember:   "; what exists in AWS stays unchanged",
	finding.BlocksStack:    "; the load balancer stays unchanged in AWS",
}

// Finding returns the finding that reports the fault.
func (f Fault) Finding(blocks finding.Reach) finding.Finding {
	return finding.Finding{
		Object: f.Origin.Object, Field: f.Origin.Field, Reason: finding.AnnotationInvalid,
		Severity: finding.Error, Message: f.Err.Error() + consequenceByReach[blocks],
		Fix: "correct the value or remove it", Blocks: blocks,
	}
}

// Check returns the fault of a setting; nil if the setting is unset or valid.
func (o Opt[T]) Check() *Fault {
	if o.Fault == nil {
		return nil
	}
	return &Fault{Origin: o.Origin, Err: o.Fault}
}

// setting is an Opt with a value of any type.
type setting interface {
	IsPresent() bool
	Check() *Fault
}

// overrideSettings returns a copy of base in which settings that are present in top replace those of base. Fields that are
// not settings are those of base.
func overrideSettings[S any](top, base S) S {
	from, to := reflect.ValueOf(top), reflect.ValueOf(&base).Elem()
	for i := range from.NumField() {
		if o, ok := from.Field(i).Interface().(setting); ok && o.IsPresent() {
			to.Field(i).Set(from.Field(i))
		}
	}
	return base
}

// faultsOf returns the faults of those fields of a struct that are settings, in the order of the fields.
func faultsOf[S any](s S) []Fault {
	var out []Fault
	for _, field := range reflect.ValueOf(s).Fields() {
		if o, ok := field.Interface().(setting); ok {
			out = append(out, NonNilFaults(o.Check())...)
		}
	}
	return out
}

// NonNilFaults returns the results of Check that are not nil.
func NonNilFaults(checks ...*Fault) []Fault {
	var out []Fault
	for _, c := range checks {
		if c != nil {
			out = append(out, *c)
		}
	}
	return out
}

// invalidValueError returns the error err of a parser with the value raw before it. A long value is shortened.
func invalidValueError(raw string, err error) error {
	return fmt.Errorf("%s: %w", quoteValue(finding.TruncateValue(raw)), err)
}

// quoteValue returns a value in double quotes, or in backquotes if the value itself has double quotes, as in JSON.
func quoteValue(s string) string {
	if strings.Contains(s, `"`) && strconv.CanBackquote(s) {
		return "`" + s + "`"
	}
	return strconv.Quote(s)
}
