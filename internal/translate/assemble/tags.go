package assemble

import "maps"

// Tags merges the operator's default tags with what users gave. The defaults win unless they have
// low priority. Tracking tags are added when a plan is made.
func Tags(user, defaults map[string]string, low bool) map[string]string {
	if low {
		return Overlay(defaults, user)
	}
	return Overlay(user, defaults)
}

// Overlay merges maps, later ones winning per key, into a new map.
func Overlay(layers ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, l := range layers {
		maps.Copy(out, l)
	}
	return out
}
