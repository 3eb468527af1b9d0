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
	Key     string // without prefix; "<name>" is a part that users choose
	Type    string // string, bool, int, list, map, json, or the words allowed
	Default string
	Service bool   // may be set on a Service too, which then wins
	Merge   string // how several members of an IngressGroup agree: one, port, key, union, own, first
	Doc     string
	// Planned is set if the annotation is recognised but not supported yet.
	Planned bool
}

// row is a Row with the code that reads it.
type row struct {
	Row
	// read parses raw into in; rest is the text in place of "<name>".
	read func(in *Ingress, rest, raw string, from finding.Origin) error
	// whole is set if a fault of the annotation holds everything of its member.
	whole bool
}

// field makes the reader of a setting with one value.
func field[T any](parse func(string) (T, error), at func(*Ingress) *Opt[T]) func(*Ingress, string, string, finding.Origin) error {
	return func(in *Ingress, _, raw string, from finding.Origin) error {
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

// keyed makes the reader of a setting with one value per name.
func keyed[T any](parse func(string) (T, error), at func(*Ingress) *map[string]Opt[T]) func(*Ingress, string, string, finding.Origin) error {
	return func(in *Ingress, rest, raw string, from finding.Origin) error {
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

// table never changes.
var table = ingressRows()

// Rows lists every annotation of Ingresses in the order of the reference page.
func Rows() []Row {
	var out []Row
	for _, r := range table {
		out = append(out, r.Row)
	}
	return out
}

// Unknown lists keys with our prefix that have no row, for advice.
func Unknown(annotations map[string]string) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(annotations)) {
		if key, ours := strings.CutPrefix(k, Prefix); ours && !slices.ContainsFunc(table, func(r row) bool {
			_, ok := r.match(key)
			return ok
		}) {
			out = append(out, k)
		}
	}
	return out
}

// OfMistypedPrefix lists the keys whose name is that of an annotation and whose prefix is nearly ours.
func OfMistypedPrefix(annotations map[string]string) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(annotations)) {
		prefix, key, _ := strings.Cut(k, "/")
		if finding.Nearest(prefix+"/", []string{Prefix}) != "" && slices.ContainsFunc(table, func(r row) bool {
			_, ok := r.match(key)
			return ok
		}) {
			out = append(out, k)
		}
	}
	return out
}

// Nearest returns the annotation that an unknown one was probably meant to be, without prefix; "" if
// none is near. Of one with a part that users choose, only the part before it is compared.
func Nearest(annotation string) string {
	key := strings.TrimPrefix(annotation, Prefix)
	var whole, heads []string
	for _, r := range table {
		if head, _, chosen := strings.Cut(r.Key, "<"); chosen {
			heads = append(heads, head)
		} else {
			whole = append(whole, r.Key)
		}
	}
	if near := finding.Nearest(key, whole); near != "" {
		return near
	}
	head, rest, chosen := strings.Cut(key, ".")
	if near := finding.Nearest(head+".", heads); chosen && near != "" {
		return near + rest
	}
	return ""
}

// EndingInComma lists the keys of readable maps whose text ends in a comma, which becomes part of the
// last value, hardly on purpose.
func EndingInComma(annotations map[string]string) []string {
	var out []string
	for _, k := range slices.Sorted(maps.Keys(annotations)) {
		raw := strings.TrimSpace(annotations[k])
		key, ours := strings.CutPrefix(k, Prefix)
		if !ours || !strings.HasSuffix(raw, ",") || strings.HasSuffix(raw, `\,`) || !slices.ContainsFunc(table, func(r row) bool {
			_, ok := r.match(key)
			return ok && r.Type == "map"
		}) {
			continue
		}
		if _, err := Map(raw); err == nil {
			out = append(out, k)
		}
	}
	return out
}

// match reports whether the row reads the key, and returns the text in place of "<name>".
func (r row) match(key string) (rest string, ok bool) {
	head, _, open := strings.Cut(r.Key, "<")
	if !open {
		return "", key == r.Key
	}
	rest, ok = strings.CutPrefix(key, head)
	return rest, ok && rest != ""
}

// read parses all annotations that have a row. Faults stay in the settings; those that hold the
// whole member are kept in a list too.
func (in *Ingress) read(annotations map[string]string, object finding.Ref, service bool) {
	for _, k := range slices.Sorted(maps.Keys(annotations)) {
		key, ours := strings.CutPrefix(k, Prefix)
		if !ours {
			continue
		}
		for _, r := range table {
			rest, ok := r.match(key)
			if !ok || service && !r.Service || r.read == nil {
				continue
			}
			from := finding.Origin{Object: object, Field: k}
			if err := r.read(in, rest, annotations[k], from); err != nil && r.whole {
				in.faults = append(in.faults, Fault{Origin: from, Err: err})
			}
		}
	}
}

// MemberFaults are the faults that hold everything of the member, because they are about its
// ports or about the load balancer as a whole. A setting that class parameters replace has no
// fault.
func (in Ingress) MemberFaults() []Fault { return in.faults }

// drop removes the fault of an annotation that is replaced.
func (in *Ingress) drop(key string) {
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
