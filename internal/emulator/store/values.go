package store

import (
	"maps"
	"slices"
)

// Value returns the value that p points to, or the zero value if p is nil.
func Value[T any](p *T) T {
	var zero T
	if p == nil {
		return zero
	}
	return *p
}

// StringOrNil returns a pointer to s, or nil if s is empty. nil means that a member is absent.
func StringOrNil(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// SortedKeys returns the sorted keys of a map.
func SortedKeys[V any](m map[string]V) []string {
	keys := slices.AppendSeq(make([]string, 0, len(m)), maps.Keys(m))
	slices.Sort(keys)
	return keys
}
