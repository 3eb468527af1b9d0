package cache

// Count returns how many entries of a cache are so.
func Count[K comparable, V any](of map[K]V, is func(V) bool) (n int) {
	for _, v := range of {
		if is(v) {
			n++
		}
	}
	return n
}
