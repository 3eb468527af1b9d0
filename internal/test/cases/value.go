package cases

import (
	"encoding/json"
	"slices"
	"testing"
)

// A record is written as JSON, and values here are what encoding/json makes of it.

// plain turns any value into maps, lists, strings and numbers, without nulls, empty texts and
// empty collections.
func plain(t *testing.T, v any) any {
	t.Helper()
	return prune(Exact(t, v))
}

// plainMap is plain for structs.
func plainMap(t *testing.T, v any) map[string]any {
	t.Helper()
	m, ok := plain(t, v).(map[string]any)
	if !ok {
		return map[string]any{}
	}
	return m
}

// Exact is plain without leaving anything out.
func Exact(t *testing.T, v any) any {
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

// prune returns nil for what says nothing.
func prune(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for k, e := range v {
			if v[k] = prune(e); v[k] == nil {
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
			v[i] = prune(e)
		}
	case string:
		if v == "" {
			return nil
		}
	}
	return v
}

// walk calls visit for each map within v, innermost first.
func walk(v any, visit func(map[string]any)) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			walk(e, visit)
		}
		visit(v)
	case []any:
		for _, e := range v {
			walk(e, visit)
		}
	}
}

// sorted orders a list by its JSON.
func sorted(list []any) []any {
	text := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			panic(err) // values came out of encoding/json
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
