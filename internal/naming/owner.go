package naming

import "github.com/fulcrum-lb/fulcrum/internal/model"

// Owns reports whether tags mark a resource of the cluster.
func Owns(cluster string, tags map[string]string) bool {
	return tags[ClusterTag] == cluster || tags[LegacyClusterTag] == cluster
}

// Belongs reports whether tags mark a resource of the stack, by today's tags or those of the first
// generation. What has no resource id cannot be matched and does not count.
func Belongs(cluster string, id model.StackID, tags map[string]string) bool {
	if tags[ResourceTag(id.Kind)] == "" {
		return false
	}
	return HasAll(tags, StackTags(cluster, id)) || HasAll(tags, LegacyStackTags(cluster, id))
}

// IsOf reports whether tags of a resource of the cluster say that it belongs to a stack.
func IsOf(id model.StackID, tags map[string]string) bool {
	return tags[StackTag(id.Kind)] == StackTagValue(id) && tags[ResourceTag(id.Kind)] != ""
}

// HasAll reports whether tags hold all of the wanted ones.
func HasAll(tags, want map[string]string) bool {
	for k, v := range want {
		if have, ok := tags[k]; !ok || have != v {
			return false
		}
	}
	return true
}
