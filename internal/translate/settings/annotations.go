package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// Annotations describes all annotations that the controller reads from objects of one kind.
type Annotations struct {
	// Prefix is the prefix of each key whose row has no other prefix.
	Prefix string
	rows   []Row
	// ownKeyPrefixes restricts which unknown keys are reported, because other vendors also use Prefix. Only keys that begin,
	// after Prefix, with one of ownKeyPrefixes are reported. If it is empty, all unknown keys are reported.
	ownKeyPrefixes []string
}

// The annotations of each kind of object. Nothing changes these values after initialization.
var (
	IngressAnnotations = Annotations{Prefix: Prefix, rows: documentedRows(ingressTable)}
	ServiceAnnotations = Annotations{Prefix: ServicePrefix, rows: documentedRows(serviceTable), ownKeyPrefixes: []string{"aws-", "actions."}}
)

func documentedRows[S any](table []row[S]) []Row {
	var out []Row
	for _, r := range table {
		out = append(out, r.Row)
	}
	return out
}

// Rows returns the rows of all annotations in the order of the reference page.
func (a Annotations) Rows() []Row { return slices.Clone(a.rows) }

// FindProbableMistakes returns findings about probable mistakes in the annotations of an object: keys that have no effect,
// and values that probably mean something other than the user intended.
func (a Annotations) FindProbableMistakes(annotations map[string]string, object finding.Ref) finding.List {
	var found finding.List
	advise := func(key, message, fix string) {
		found.Add(finding.Finding{Object: object, Field: key, Reason: finding.AnnotationInvalid, Message: message, Fix: fix})
	}
	keys := func(are func(key string) bool) []string {
		return slices.DeleteFunc(slices.Sorted(maps.Keys(annotations)), func(key string) bool { return !are(key) })
	}
	for i, key := range keys(a.isUnknown) {
		meant := ""
		if i < MaxSuggestions {
			if near := a.nearestKey(key); near != "" {
				meant = fmt.Sprintf(" (did you mean %q?)", near)
			}
		}
		advise(key, "there is no such annotation"+meant+"; it has no effect", "correct its name or remove it")
	}
	for _, key := range keys(a.hasMistypedPrefix) {
		advise(key, fmt.Sprintf("the prefix is not %q, so the annotation has no effect", a.Prefix), "correct the prefix or remove it")
	}
	for _, key := range keys(a.isIgnored) {
		advise(key, "only the in-tree controller of Kubernetes reads this annotation, so it has no effect", "remove it")
	}
	for _, f := range a.unknownFields(annotations) {
		advise(f.Annotation, fmt.Sprintf("there is no field %q%s; it has no effect", f.Field, f.Suggestion), "correct its name or remove it")
	}
	found.Add(a.findAttributeMistakes(annotations, object)...)
	for _, key := range keys(func(key string) bool { return a.hasTrailingComma(key, annotations[key]) }) {
		advise(key, "the comma at the end becomes part of the last value", "remove it")
	}
	return found
}

// MaxSuggestions is the maximum number of unknown names in an object for which a similar known name is suggested.
const MaxSuggestions = 32

// Row returns the row that describes an annotation; false if there is none.
func (a Annotations) Row(annotation string) (Row, bool) {
	for _, r := range a.rows {
		if _, ok := r.matchAnnotation(annotation); ok {
			return r, true
		}
	}
	return Row{}, false
}

// isUnknown reports whether an annotation has the prefix of the controller, but no row describes it.
func (a Annotations) isUnknown(annotation string) bool {
	key, prefixed := strings.CutPrefix(annotation, a.Prefix)
	if !prefixed || len(a.ownKeyPrefixes) > 0 && !slices.ContainsFunc(a.ownKeyPrefixes, func(head string) bool { return strings.HasPrefix(key, head) }) {
		return false
	}
	_, known := a.Row(annotation)
	return !known
}

// isIgnored reports whether only another controller reads an annotation.
func (a Annotations) isIgnored(annotation string) bool {
	r, ok := a.Row(annotation)
	return ok && r.Ignored
}

// hasMistypedPrefix reports whether an annotation has a known key, but a prefix that is only similar to Prefix.
func (a Annotations) hasMistypedPrefix(annotation string) bool {
	prefix, key, _ := strings.Cut(annotation, "/")
	_, known := a.Row(a.Prefix + key)
	return known && finding.NearestWord(prefix+"/", []string{a.Prefix}) != ""
}

// nearestKey returns the known key, without prefix, that the author of an unknown annotation probably intended; "" if no key
// is similar. For a key that ends in a name that users choose, only the text before that name is compared.
func (a Annotations) nearestKey(annotation string) string {
	key := strings.TrimPrefix(annotation, a.Prefix)
	var whole, heads []string
	for _, r := range a.rows {
		if head, _, chosen := strings.Cut(r.Key, "<"); chosen {
			heads = append(heads, head)
		} else {
			whole = append(whole, r.Key)
		}
	}
	if near := finding.NearestWord(key, whole); near != "" {
		return near
	}
	head, rest, chosen := strings.Cut(key, ".")
	if near := finding.NearestWord(head+".", heads); chosen && near != "" {
		return near + rest
	}
	return ""
}

// hasTrailingComma reports whether the value of an annotation is a valid map that ends in a comma. The comma becomes part of
// the last value of the map.
func (a Annotations) hasTrailingComma(annotation, value string) bool {
	value = strings.TrimSpace(value)
	if !strings.HasSuffix(value, ",") || strings.HasSuffix(value, `\,`) {
		return false
	}
	if r, ok := a.Row(annotation); !ok || r.Type != "map" {
		return false
	}
	_, err := ParseMap(value)
	return err == nil
}
