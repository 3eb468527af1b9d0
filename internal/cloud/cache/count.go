package cache

// Count returns the number of values in a map that meet a condition.
func Count[K comparable, V any](entries map[K]V, condition func(V) bool) (n int) {
	for _, v := range entries {
		if condition(v) {
			n++
		}
	}
	return n
}
