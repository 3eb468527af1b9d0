package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
)

// jsonShapes are the forms of the JSON annotations with named fields, by the key of their row.
var jsonShapes = map[string]reflect.Type{
	"actions.<name>":        reflect.TypeFor[actionJSON](),
	forwardRow:              reflect.TypeFor[networkActionJSON](),
	"conditions.<name>":     reflect.TypeFor[[]conditionJSON](),
	"transforms.<name>":     reflect.TypeFor[[]transformJSON](),
	"mutual-authentication": reflect.TypeFor[[]mutualAuthJSON](),
	"jwt-validation":        reflect.TypeFor[jwtJSON](),
	"auth-idp-cognito":      reflect.TypeFor[CognitoIDP](),
	"auth-idp-oidc":         reflect.TypeFor[OIDCIDP](),
}

// unknownField is a field in the JSON of an annotation that nothing reads.
type unknownField struct {
	Annotation string // its whole key
	Field      string // such as redirectConfig.prot
	Meant      string // a suggestion as of finding.DidYouMean
}

// mostUnknownFields are looked for in the annotations of an object.
const mostUnknownFields = 10

// unknownFields lists fields in the JSON of annotations that nothing reads: spelling mistakes, since
// an unknown field is ignored. Annotations that are not read as JSON have a fault of their own.
func (a Annotations) unknownFields(annotations map[string]string) []unknownField {
	var out []unknownField
	for _, k := range slices.Sorted(maps.Keys(annotations)) {
		r, _ := a.Row(k)
		shape, hasFields := jsonShapes[r.Key]
		if !hasFields {
			continue
		}
		var raw any
		if json.Unmarshal([]byte(annotations[k]), &raw) != nil {
			continue
		}
		unknownIn(raw, shape, "", func(field, meant string) {
			if len(out) < mostUnknownFields {
				out = append(out, unknownField{Annotation: k, Field: shortValue(field), Meant: meant})
			}
		})
	}
	return out
}

// unknownIn walks a JSON value beside the type that it is decoded into.
func unknownIn(raw any, t reflect.Type, at string, found func(field, meant string)) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch value := raw.(type) {
	case []any:
		if t.Kind() != reflect.Slice {
			return
		}
		for i, item := range value {
			unknownIn(item, t.Elem(), fmt.Sprintf("%s[%d]", at, i), found)
		}
	case map[string]any:
		if t.Kind() != reflect.Struct {
			return // a map, whose keys users choose
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			path := strings.TrimPrefix(at+"."+key, ".")
			if f, ok := fieldNamed(t, key); ok {
				unknownIn(value[key], f.Type, path, found)
			} else {
				found(path, finding.DidYouMean(key, fieldNames(t)))
			}
		}
	}
}

// fieldNamed returns the field that encoding/json decodes a key into.
func fieldNamed(t reflect.Type, key string) (reflect.StructField, bool) {
	for i := range t.NumField() {
		if f := t.Field(i); strings.EqualFold(jsonName(f), key) {
			return f, true
		}
	}
	return reflect.StructField{}, false
}

func fieldNames(t reflect.Type) []string {
	var out []string
	for i := range t.NumField() {
		out = append(out, jsonName(t.Field(i)))
	}
	return out
}

func jsonName(f reflect.StructField) string {
	if tag := f.Tag.Get("json"); tag != "" {
		return tag
	}
	return lowerFirst(f.Name)
}

// lowerFirst spells the name of a Go field as users do: ForwardConfig is forwardConfig, and
// HTTPHeaderConfig is httpHeaderConfig.
func lowerFirst(name string) string {
	r := []rune(name)
	for i := range r {
		if i > 0 && i+1 < len(r) && unicode.IsLower(r[i+1]) || unicode.IsLower(r[i]) {
			break
		}
		r[i] = unicode.ToLower(r[i])
	}
	return string(r)
}
