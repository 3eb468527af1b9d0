package cache

import "maps"

// Put removes from a map all entries for which old returns true, and then stores value under key.
func Put[K comparable, V any](entries map[K]V, key K, value V, old func(V) bool) {
	maps.DeleteFunc(entries, func(_ K, v V) bool { return old(v) })
	entries[key] = value
}
