package cache

import "maps"

// Put adds a value to a map, and drops the values that are old.
func Put[K comparable, V any](entries map[K]V, key K, value V, old func(V) bool) {
	maps.DeleteFunc(entries, func(_ K, v V) bool { return old(v) })
	entries[key] = value
}
