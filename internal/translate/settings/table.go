package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Row documents one annotation. The reference page is made from these rows.
type Row struct {
	Group   string // heading of the page
	Key     string // without prefix, unless that is another; "<name>" is a part that users choose
	Type    string // string, bool, int, list, map, json, or the words allowed
	Default string
	Service bool   // may be set on a Service behind an Ingress too, which then wins
	Merge   string // how several members of a stack agree: one, port, key, union, own
	Doc     string
	// Ignored is set if the annotation is that of another controller.
	Ignored bool
	// head is the whole key, or of one with a part that users choose what is before it.
	head string
	open bool
}

// matchAnnotation reports whether the row is that of an annotation, and returns the text in place of "<name>".
func (r Row) matchAnnotation(annotation string) (rest string, ok bool) {
	if !r.open {
		return "", annotation == r.head
	}
	rest, ok = strings.CutPrefix(annotation, r.head)
	return rest, ok && rest != ""
}

// row is a Row with the code that reads it into the settings of an object.
type row[S any] struct {
	Row
	// read parses raw into in; rest is the text in place of "<name>".
	read func(in *S, rest, raw string, from finding.Origin) error
	// whole is set if a fault of the annotation holds everything of its member.
	whole bool
}

// newTable completes rows with their whole keys.
func newTable[S any](prefix string, parts ...[]row[S]) []row[S] {
	out := slices.Concat(parts...)
	for i := range out {
		head, _, open := strings.Cut(out[i].Key, "<")
		if !strings.Contains(head, "/") {
			head = prefix + head
		}
		out[i].head, out[i].open = head, open
	}
	return out
}

// read parses the annotations that have a row into settings, which keep the faults. Those that hold the
// whole member are returned too.
func read[S any](in *S, table []row[S], annotations map[string]string, object finding.Ref) []Fault {
	var faults []Fault
	for _, k := range slices.Sorted(maps.Keys(annotations)) {
		for _, r := range table {
			rest, ok := r.matchAnnotation(k)
			if !ok || r.read == nil {
				continue
			}
			from := finding.Origin{Object: object, Field: k}
			if err := r.read(in, rest, annotations[k], from); err != nil && r.whole {
				faults = append(faults, Fault{Origin: from, Err: err})
			}
		}
	}
	return faults
}

// field makes the reader of a setting with one value.
func field[S, T any](parse func(string) (T, error), at func(*S) *Opt[T]) func(*S, string, string, finding.Origin) error {
	return func(in *S, _, raw string, from finding.Origin) error {
		v, err := parse(raw)
		if err != nil {
			err = invalid(raw, err)
			*at(in) = Opt[T]{Fault: err, Origin: from}
			return err
		}
		*at(in) = Of(v, from)
		return nil
	}
}

// keyedReader makes the reader of a setting with one value per name.
func keyedReader[S, T any](parse func(string) (T, error), at func(*S) *map[string]Opt[T]) func(*S, string, string, finding.Origin) error {
	return func(in *S, rest, raw string, from finding.Origin) error {
		m := at(in)
		if *m == nil {
			*m = map[string]Opt[T]{}
		}
		v, err := parse(raw)
		if err != nil {
			err = invalid(raw, err)
			(*m)[rest] = Opt[T]{Fault: err, Origin: from}
			return err
		}
		(*m)[rest] = Of(v, from)
		return nil
	}
}

// MemberFaults returns the faults that hold everything of the member, because they are about its
// ports or about the load balancer as a whole. A setting that class parameters replace has no
// fault.
func (in Ingress) MemberFaults() []Fault { return in.faults }

// dropFault removes the fault of an annotation that is replaced.
func (in *Ingress) dropFault(key string) {
	in.faults = slices.DeleteFunc(slices.Clone(in.faults), func(f Fault) bool { return f.Origin.Field == Prefix+key })
}

func maxBytes(n int) func(string) (string, error) {
	return func(raw string) (string, error) {
		if len(raw) > n {
			return "", fmt.Errorf("longer than %d characters", n)
		}
		return raw, nil
	}
}
