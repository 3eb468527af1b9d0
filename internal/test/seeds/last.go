package seeds

import "reflect"

// LastValueCache caches the value of the last key. Tests use it for steps of a plan, most of which do not change the key.
type LastValueCache[K, V any] struct {
	key   K
	value V
	isSet bool
}

// Get returns the value of a key. It calls compute only if the key differs from the last key.
func (l *LastValueCache[K, V]) Get(key K, compute func() V) V {
	if !l.isSet || !reflect.DeepEqual(l.key, key) {
		l.key, l.value, l.isSet = key, compute(), true
	}
	return l.value
}
