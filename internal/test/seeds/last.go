package seeds

import "reflect"

// Last caches the value of the last key, because most steps of a case do not change the key.
type Last[K, V any] struct {
	key   K
	value V
	known bool
}

// Of returns the value of a key. It computes the value only if the key differs from the last key.
func (l *Last[K, V]) Of(key K, compute func() V) V {
	if !l.known || !reflect.DeepEqual(l.key, key) {
		l.key, l.value, l.known = key, compute(), true
	}
	return l.value
}
