package assemble

import "maps"

// MergeTags merges user tags with the default tags of the operator. The default tags have precedence unless low is set.
// The result does not have the tags by which the controller finds its resources: the plan adds them.
func MergeTags(user, defaults map[string]string, low bool) map[string]string {
	if low {
		return MergeMaps(defaults, user)
	}
	return MergeMaps(user, defaults)
}

// MergeMaps merges maps into a new map. For a key in several maps, the last map has precedence.
func MergeMaps(layers ...map[string]string) map[string]string {
	out := map[string]string{}
	for _, l := range layers {
		maps.Copy(out, l)
	}
	return out
}
