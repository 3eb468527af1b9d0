package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Row documents one annotation. The reference page is generated from the rows.
type Row struct {
	Group   string // heading on the reference page
	Key     string // without Prefix, unless it has another prefix; "<name>" stands for text that users choose
	Type    string // string, bool, int, list, map, json, or the allowed values
	Default string
	Service bool   // a Service behind an Ingress can also have the annotation; its value has precedence over that of the Ingress
	Merge   string // how the values of several members of a stack are merged: one, port, key, union, own
	Doc     string
	// Counterpart is the kind and field of the Gateway API to which fulcrum migrate translates an annotation of Ingresses;
	// "" if the annotation is not translated.
	Counterpart string
	// Ignored reports whether only another controller reads the annotation.
	Ignored bool
	// fixedKey is the key with its prefix and without the text that users choose. hasName reports whether the key ends in
	// such text.
	fixedKey string
	hasName  bool
}

// matchAnnotation reports whether the row describes an annotation, and returns the text in place of "<name>".
func (r Row) matchAnnotation(annotation string) (name string, ok bool) {
	if !r.hasName {
		return "", annotation == r.fixedKey
	}
	name, ok = strings.CutPrefix(annotation, r.fixedKey)
	return name, ok && name != ""
}

// row is a Row with the function that parses its annotation into the settings of an object.
type row[S any] struct {
	Row
	// read parses raw into in; name is the text in place of "<name>".
	read func(in *S, name, raw string, from finding.Origin) error
	// holdsMember reports whether a fault of the annotation holds all resources of its member.
	holdsMember bool
}

// newAnnotationTable returns the rows of all parts, with fixedKey and hasName set. It adds prefix to each key that has no
// other prefix.
func newAnnotationTable[S any](prefix string, parts ...[]row[S]) []row[S] {
	out := slices.Concat(parts...)
	for i := range out {
		head, _, open := strings.Cut(out[i].Key, "<")
		if !strings.Contains(head, "/") {
			head = prefix + head
		}
		out[i].fixedKey, out[i].hasName = head, open
	}
	return out
}

// readAnnotations parses the annotations that have a row into in. A value that is not valid becomes a fault in in. It
// returns the faults that hold all resources of the member.
func readAnnotations[S any](in *S, table []row[S], annotations map[string]string, object finding.Ref) []Fault {
	var faults []Fault
	for _, k := range slices.Sorted(maps.Keys(annotations)) {
		for _, r := range table {
			name, ok := r.matchAnnotation(k)
			if !ok || r.read == nil {
				continue
			}
			from := finding.Origin{Object: object, Field: k}
			if err := r.read(in, name, annotations[k], from); err != nil && r.holdsMember {
				faults = append(faults, Fault{Origin: from, Err: err})
			}
		}
	}
	return faults
}

// parseSetting returns a setting that is set to the result of parse, or has the fault that parse returns.
func parseSetting[T any](parse func(string) (T, error), raw string, from finding.Origin) Opt[T] {
	v, err := parse(raw)
	if err != nil {
		return Opt[T]{Fault: invalidValueError(raw, err), Origin: from}
	}
	return NewOpt(v, from)
}

// valueReader returns the read function of a row, for a setting with a single value. at returns the field of the settings.
func valueReader[S, T any](parse func(string) (T, error), at func(*S) *Opt[T]) func(*S, string, string, finding.Origin) error {
	return func(in *S, _, raw string, from finding.Origin) error {
		o := parseSetting(parse, raw, from)
		*at(in) = o
		return o.Fault
	}
}

// keyedReader returns the read function of a row, for a setting with one value for each name in place of "<name>".
func keyedReader[S, T any](parse func(string) (T, error), at func(*S) *map[string]Opt[T]) func(*S, string, string, finding.Origin) error {
	return func(in *S, name, raw string, from finding.Origin) error {
		m := at(in)
		if *m == nil {
			*m = map[string]Opt[T]{}
		}
		o := parseSetting(parse, raw, from)
		(*m)[name] = o
		return o.Fault
	}
}

// MemberFaults returns the faults that hold all resources of the member: faults that concern its ports or the whole load
// balancer. Annotations that class parameters replace have no fault.
func (in Ingress) MemberFaults() []Fault { return in.faults }

// dropFault removes the fault of an annotation because a class parameter replaces the annotation.
func (in *Ingress) dropFault(key string) {
	in.faults = slices.DeleteFunc(slices.Clone(in.faults), func(f Fault) bool { return f.Origin.Field == Prefix+key })
}

func maxBytesParser(n int) func(string) (string, error) {
	return func(raw string) (string, error) {
		if len(raw) > n {
			return "", fmt.Errorf("longer than %d characters", n)
		}
		return raw, nil
	}
}
