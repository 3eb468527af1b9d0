package assemble

import "maps"

// MergeTags merges default tags of the operator with tags of users. The defaults win unless they have low priority. The tags by
// which the controller finds its resources are added when a plan is made.
func MergeTags(user, defaults map[string]string, low bool) map[string]string {
	if low {
		return MergeMaps(defaults, user)
	}
	return MergeMaps(user, defaults)
}

// MergeMaps merges maps into a new one. If several have a key, the last one wins.
func MergeMaps(layers ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, l := range layers {
		maps.Copy(out, l)
	}
	return out
}
