package naming

import "github.com/fulcrum-lb/fulcrum/internal/model"

// BelongsToCluster reports whether tags are the tags of a resource of the cluster.
func BelongsToCluster(cluster string, tags map[string]string) bool {
	return tags[ClusterTag] == cluster || tags[LegacyClusterTag] == cluster
}

// BelongsToStack reports whether tags are the tags of a resource of the stack, in the current form or in the form of the
// first generation of controllers. A resource without the resource tag does not belong to the stack, because it is not known
// which resource of the stack it is.
func BelongsToStack(cluster string, id model.StackID, tags map[string]string) bool {
	if tags[ResourceTag(id.Kind)] == "" {
		return false
	}
	return HasAllTags(tags, StackTags(cluster, id)) || HasAllTags(tags, LegacyStackTags(cluster, id))
}

// HasStackTags reports whether the tags of a resource of the cluster name the stack and a resource id.
func HasStackTags(id model.StackID, tags map[string]string) bool {
	return tags[StackTag(id.Kind)] == StackTagValue(id) && tags[ResourceTag(id.Kind)] != ""
}

// HasAllTags reports whether tags include all tags of want.
func HasAllTags(tags, want map[string]string) bool {
	for k, v := range want {
		if have, ok := tags[k]; !ok || have != v {
			return false
		}
	}
	return true
}
