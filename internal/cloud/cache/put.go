package cache

import "maps"

// Put removes the values for which old returns true from a map, and then adds a value.
func Put[K comparable, V any](entries map[K]V, key K, value V, old func(V) bool) {
	maps.DeleteFunc(entries, func(_ K, v V) bool { return old(v) })
	entries[key] = value
}
