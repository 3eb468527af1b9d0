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

// jsonTypes has the Go type into which the JSON of an annotation is decoded, by Row.Key.
var jsonTypes = map[string]reflect.Type{
	"actions.<name>":        reflect.TypeFor[actionJSON](),
	networkActionsKey:       reflect.TypeFor[networkActionJSON](),
	"conditions.<name>":     reflect.TypeFor[[]conditionJSON](),
	"transforms.<name>":     reflect.TypeFor[[]transformJSON](),
	"mutual-authentication": reflect.TypeFor[[]mutualAuthJSON](),
	"jwt-validation":        reflect.TypeFor[jwtJSON](),
	"auth-idp-cognito":      reflect.TypeFor[CognitoIDP](),
	"auth-idp-oidc":         reflect.TypeFor[OIDCIDP](),
}

// unknownField is a field in the JSON of an annotation that no parser reads.
type unknownField struct {
	Annotation string // key of the annotation with its prefix
	Field      string // path of the field, such as redirectConfig.prot
	Suggestion string // result of finding.SpellingHint
}

// maxUnknownFields is the maximum number of unknown fields that are reported for an object.
const maxUnknownFields = 10

// unknownFields returns at most maxUnknownFields fields in JSON annotations that no parser reads. They are probably spelling
// mistakes. Annotations with invalid JSON are skipped, because their parsers report them.
func (a Annotations) unknownFields(annotations map[string]string) []unknownField {
	var out []unknownField
	for _, k := range slices.Sorted(maps.Keys(annotations)) {
		r, _ := a.Row(k)
		shape, hasFields := jsonTypes[r.Key]
		if !hasFields {
			continue
		}
		var raw any
		if json.Unmarshal([]byte(annotations[k]), &raw) != nil {
			continue
		}
		collectUnknownFields(raw, shape, "", func(field, meant string) {
			if len(out) < maxUnknownFields {
				out = append(out, unknownField{Annotation: k, Field: finding.TruncateValue(field), Suggestion: meant})
			}
		})
	}
	return out
}

// collectUnknownFields calls found for each field of the JSON value raw that the type t does not have. raw is decoded into
// t, and at is the path of raw. found gets the path of the field and the result of finding.SpellingHint.
func collectUnknownFields(raw any, t reflect.Type, at string, found func(field, meant string)) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch value := raw.(type) {
	case []any:
		if t.Kind() != reflect.Slice {
			return
		}
		for i, item := range value {
			collectUnknownFields(item, t.Elem(), fmt.Sprintf("%s[%d]", at, i), found)
		}
	case map[string]any:
		if t.Kind() != reflect.Struct {
			return // a map: users choose its keys
		}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			path := strings.TrimPrefix(at+"."+key, ".")
			if f, ok := findField(t, key); ok {
				collectUnknownFields(value[key], f.Type, path, found)
			} else {
				found(path, finding.SpellingHint(key, fieldNames(t)))
			}
		}
	}
}

// findField returns the field of the struct type t into which encoding/json decodes key. The case of key does not matter.
func findField(t reflect.Type, key string) (reflect.StructField, bool) {
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

// lowerFirst returns the name of a Go field as users write it in JSON: forwardConfig for ForwardConfig, and
// httpHeaderConfig for HTTPHeaderConfig.
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
