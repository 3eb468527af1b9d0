package naming

import "github.com/fulcrum-lb/fulcrum/internal/model"

// BelongsToCluster reports whether tags are those of a resource of the cluster, in the current form or in the form of
// aws-alb-ingress-controller (LegacyClusterTag). LegacyClusterTag is considered only if there is no ClusterTag, because
// users can set LegacyClusterTag and could assign resources of their cluster to another cluster.
func BelongsToCluster(cluster string, tags map[string]string) bool {
	return tags[ClusterTag] == cluster || tags[ClusterTag] == "" && tags[LegacyClusterTag] == cluster
}

// BelongsToStack reports whether tags are those of a resource of the stack, in the current form or in the form of
// aws-alb-ingress-controller. A resource without the resource tag does not belong to the stack, because it is not known
// which resource of the stack it is.
func BelongsToStack(cluster string, id model.StackID, tags map[string]string) bool {
	if tags[ResourceTag(id.Kind)] == "" {
		return false
	}
	return HasAllTags(tags, StackTags(cluster, id)) || tags[ClusterTag] == "" && HasAllTags(tags, LegacyStackTags(cluster, id))
}

// HasStackTags reports whether tags have the stack tag of the stack and a resource tag. The caller must know that the
// resource belongs to the cluster, because HasStackTags does not check this.
func HasStackTags(id model.StackID, tags map[string]string) bool {
	return tags[StackTag(id.Kind)] == StackTagValue(id) && tags[ResourceTag(id.Kind)] != ""
}

// HasAllTags reports whether tags include all tags of want, with the same values.
func HasAllTags(tags, want map[string]string) bool {
	for k, v := range want {
		if have, ok := tags[k]; !ok || have != v {
			return false
		}
	}
	return true
}
