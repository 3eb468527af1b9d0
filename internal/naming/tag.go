package naming

import (
	"maps"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Keys of the tags that are the same for every dialect.
const (
	// ClusterTag is on every resource; its value is the cluster's name.
	ClusterTag = "elbv2.k8s.aws/cluster"
	// BackendTag marks the shared backend security group; its value is model.BackendGroupTag.
	BackendTag = "elbv2.k8s.aws/resource"
)

// StackTag returns the key of the tag that holds the stack's id.
func StackTag(k model.Kind) string { return k.TagPrefix() + "/stack" }

// ResourceTag returns the key of the tag that holds the logical id of a resource.
func ResourceTag(k model.Kind) string { return k.TagPrefix() + "/resource" }

// StackTagValue returns the value of the stack tag, which AWS limits to 256 characters.
func StackTagValue(id model.StackID) string { return shorten(id.String(), tagValueLimit) }

// StackTags returns the tags that everything of a stack carries, and by which it is found.
func StackTags(cluster string, id model.StackID) map[string]string {
	return map[string]string{ClusterTag: cluster, StackTag(id.Kind): StackTagValue(id)}
}

// LegacyStackTags returns the tags by which resources of the first generation of controllers are found.
func LegacyStackTags(cluster string, id model.StackID) map[string]string {
	return map[string]string{LegacyClusterTag: cluster, StackTag(id.Kind): StackTagValue(id)}
}

// ResourceTags returns all tags of a resource. Tracking tags win over tags of users.
func ResourceTags(cluster string, id model.StackID, resourceID string, user map[string]string) map[string]string {
	tags := map[string]string{}
	maps.Copy(tags, user)
	maps.Copy(tags, StackTags(cluster, id))
	tags[ResourceTag(id.Kind)] = resourceID
	return tags
}

// BackendGroupTags returns all tags of the shared backend security group.
func BackendGroupTags(cluster string, defaults map[string]string) map[string]string {
	tags := map[string]string{}
	maps.Copy(tags, defaults)
	tags[ClusterTag] = cluster
	tags[BackendTag] = model.BackendGroupTag
	return tags
}

// LegacyClusterTag marks resources of the first generation of controllers.
const LegacyClusterTag = "ingress.k8s.aws/cluster"

// MaxTags is how many tags AWS accepts on a resource. Those of AWS itself, aws:, do not
// count. https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html
const MaxTags = 50

// ReservedTag reports whether a tag key is one of the tracking keys, which only the controller
// may set.
func ReservedTag(key string) bool {
	switch key {
	case ClusterTag, BackendTag, SuccessorTag, ReplacedTag:
		return true
	}
	if IsAdoptedTag(key) {
		return true
	}
	for _, k := range model.Kinds {
		if key == StackTag(k) || key == ResourceTag(k) {
			return true
		}
	}
	return false
}

// LegacyTag reports whether a tag key was set by the first generation of controllers. Such tags
// are not removed from load balancers, target groups and security groups.
func LegacyTag(cluster, key string) bool {
	switch key {
	case "kubernetes.io/cluster/" + cluster, "kubernetes.io/cluster-name", "kubernetes.io/namespace",
		"kubernetes.io/ingress-name", "kubernetes.io/service-name", "kubernetes.io/service-port", LegacyClusterTag:
		return true
	}
	return false
}

// Tags of subnets that say for load balancers of which scheme they are discovered, with the value "" or "1".
const (
	SubnetRoleInternal = "kubernetes.io/role/internal-elb"
	SubnetRolePublic   = "kubernetes.io/role/elb"
)
