package naming

import (
	"maps"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Keys of tags that are the same for every kind of stack.
const (
	// ClusterTag is a tag of every resource. Its value is the name of the cluster.
	ClusterTag = "elbv2.k8s.aws/cluster"
	// BackendTag is the resource tag of the shared backend security group. Its value is model.BackendSecurityGroupID.
	BackendTag = "elbv2.k8s.aws/resource"
)

// StackTag returns the key of the tag whose value identifies the stack of a resource.
func StackTag(k model.Kind) string { return k.TagPrefix() + "/stack" }

// ResourceTag returns the key of the tag whose value is the id of a resource within its stack.
func ResourceTag(k model.Kind) string { return k.TagPrefix() + "/resource" }

// StackTagValue returns the value of the stack tag, shortened to the 256 characters that AWS permits.
func StackTagValue(id model.StackID) string { return shorten(id.String(), MaxTagValue) }

// StackTags returns the tags that all resources of a stack have. The controller finds the resources by these tags.
func StackTags(cluster string, id model.StackID) map[string]string {
	return map[string]string{ClusterTag: cluster, StackTag(id.Kind): StackTagValue(id)}
}

// LegacyStackTags returns the tags that all resources of a stack have if aws-alb-ingress-controller created them.
func LegacyStackTags(cluster string, id model.StackID) map[string]string {
	return map[string]string{LegacyClusterTag: cluster, StackTag(id.Kind): StackTagValue(id)}
}

// ResourceTags returns all tags of a resource of a stack. resourceID is the value of the resource tag. user are the tags of
// users; tags of the controller have precedence over them.
func ResourceTags(cluster string, id model.StackID, resourceID string, user map[string]string) map[string]string {
	tags := map[string]string{}
	maps.Copy(tags, user)
	maps.Copy(tags, StackTags(cluster, id))
	tags[ResourceTag(id.Kind)] = resourceID
	return tags
}

// BackendSecurityGroupTags returns all tags of the shared backend security group. defaults are the default tags.
func BackendSecurityGroupTags(cluster string, defaults map[string]string) map[string]string {
	tags := map[string]string{}
	maps.Copy(tags, defaults)
	tags[ClusterTag] = cluster
	tags[BackendTag] = model.BackendSecurityGroupID
	return tags
}

// LegacyClusterTag is the key of the cluster tag of resources that aws-alb-ingress-controller (version 1) created.
const LegacyClusterTag = "ingress.k8s.aws/cluster"

// MaxTags is the maximum number of tags of a resource in AWS. It does not apply to tags of AWS.
// https://docs.aws.amazon.com/tag-editor/latest/userguide/tagging.html
const MaxTags = 50

// IsAWSTag reports whether the tag with a key belongs to AWS. Only AWS can set or remove such a tag.
func IsAWSTag(key string) bool { return strings.HasPrefix(key, "aws:") }

// CountTags returns the number of tags that count against MaxTags.
func CountTags(tags map[string]string) (n int) {
	for key := range tags {
		if !IsAWSTag(key) {
			n++
		}
	}
	return n
}

// IsReservedTag reports whether only the controller may set the tag with a key.
func IsReservedTag(key string) bool {
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

// IsLegacyTag reports whether aws-alb-ingress-controller set the tag with a key. Such tags are not removed from load
// balancers, target groups and security groups.
func IsLegacyTag(cluster, key string) bool {
	switch key {
	case "kubernetes.io/cluster/" + cluster, "kubernetes.io/cluster-name", "kubernetes.io/namespace",
		"kubernetes.io/ingress-name", "kubernetes.io/service-name", "kubernetes.io/service-port", LegacyClusterTag:
		return true
	}
	return false
}

// Keys of tags of subnets, with the value "" or "1". The controller discovers the subnets for load balancers of a scheme by
// these tags.
const (
	SubnetRoleInternal = "kubernetes.io/role/internal-elb"
	SubnetRolePublic   = "kubernetes.io/role/elb"
)
