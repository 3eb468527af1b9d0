package cases

import (
	"encoding/json"
	"slices"
	"testing"
)

// Records are JSON. The functions below use values as encoding/json decodes them.

// toPlain converts a value to maps, lists, strings and numbers, without nulls, empty strings and empty collections.
func toPlain(t *testing.T, v any) any {
	t.Helper()
	return withoutEmptyParts(DecodedJSON(t, v))
}

// toPlainMap converts a struct or map as toPlain does. The result is not nil.
func toPlainMap(t *testing.T, v any) map[string]any {
	t.Helper()
	m, ok := toPlain(t, v).(map[string]any)
	if !ok {
		return map[string]any{}
	}
	return m
}

// DecodedJSON encodes a value as JSON and returns the decoded text. Unlike toPlain, it keeps nulls and empty values.
func DecodedJSON(t *testing.T, v any) any {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// withoutEmptyParts returns a value without nulls and empty parts, or nil if nothing remains.
func withoutEmptyParts(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if v[k] = withoutEmptyParts(e); v[k] == nil {
				delete(v, k)
			}
		}
		if len(v) == 0 {
			return nil
		}
	case []any:
		if len(v) == 0 {
			return nil
		}
		for i, e := range v {
			v[i] = withoutEmptyParts(e)
		}
	case string:
		if v == "" {
			return nil
		}
	}
	return v
}

// walkMaps calls visit for each map within v, innermost first.
func walkMaps(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			walkMaps(e, visit)
		}
		visit(v)
	case []any:
		for _, e := range v {
			walkMaps(e, visit)
		}
	}
}

// sortByJSON sorts a list in place by the JSON of its elements, and returns it.
func sortByJSON(list []any) []any {
	text := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			panic(err) // values from encoding/json can always be encoded
		}
		return string(data)
	}
	slices.SortStableFunc(list, func(a, b any) int {
		x, y := text(a), text(b)
		switch {
		case x < y:
			return -1
		case x > y:
			return 1
		}
		return 0
	})
	return list
}

func sortedStrings(list []string) []any {
	slices.Sort(list)
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}
