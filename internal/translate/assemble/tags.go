package assemble

import "maps"

// Tags merges default tags of the operator with tags of users. The defaults win unless they have low priority. The tags by
// which the controller finds its resources are added when a plan is made.
func Tags(user, defaults map[string]string, low bool) map[string]string {
	if low {
		return Overlay(defaults, user)
	}
	return Overlay(user, defaults)
}

// Overlay merges maps into a new one. If several have a key, the last one wins.
func Overlay(layers ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, l := range layers {
		maps.Copy(out, l)
	}
	return out
}
