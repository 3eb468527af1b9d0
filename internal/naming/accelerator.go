package naming

import (
	"maps"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// ClusterRegionTag is the key of a tag of accelerators. Its value is the region of the cluster. The tag is needed because
// accelerators belong to no region, and clusters in two regions can have the same name.
const ClusterRegionTag = "elbv2.k8s.aws/cluster-region"

// isNameCharacter reports whether AWS accepts the character c in the name of an accelerator.
func isNameCharacter(c rune) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '-'
}

// acceleratorNamePart returns the first 16 characters of a text that remain when all characters that AWS does not accept in
// the name of an accelerator are removed.
func acceleratorNamePart(s string) string {
	s = strings.Map(func(c rune) rune {
		if isNameCharacter(c) {
			return c
		}
		return -1
	}, s)
	return s[:min(len(s), 16)]
}

// AcceleratorName returns the generated name of an accelerator, at most 64 characters. dual reports whether the address type
// of the accelerator is DUAL_STACK. Accelerators of the two address types have different names.
func AcceleratorName(cluster, region string, id model.StackID, dual bool) string {
	addresses := "IPV4"
	if dual {
		addresses = "DUAL_STACK"
	}
	return "k8s_" + acceleratorNamePart(id.Namespace) + "_" + acceleratorNamePart(id.Name) + "_" + hexHash(cluster, region, id.Namespace, id.Name, addresses)[:25]
}

// AcceleratorNameFault returns the reason why AWS refuses a name for an accelerator; "" if AWS accepts it.
func AcceleratorNameFault(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case len(name) > 64:
		return "it is longer than 64 characters"
	case strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-"):
		return "it begins or ends with a hyphen"
	case strings.ContainsFunc(name, func(c rune) bool { return !isNameCharacter(c) }):
		return "it has a character other than letters, digits, hyphens and underscores"
	}
	return ""
}

// AcceleratorTags returns all tags of the accelerator of a stack. Tags of the controller, including those that name guests,
// have precedence over user, which are the tags of users. guests are the guests by region. region may be empty.
func AcceleratorTags(cluster, region string, id model.StackID, user, guests map[string]string) map[string]string {
	tags := map[string]string{}
	maps.Copy(tags, user)
	maps.DeleteFunc(tags, func(k, _ string) bool { return strings.HasPrefix(k, guestPrefix) })
	maps.Copy(tags, GuestTags(guests))
	maps.Copy(tags, AcceleratorTrackingTags(cluster, region, id))
	return tags
}

// AcceleratorTrackingTags returns the tags that identify the accelerator of a stack. An accelerator that lacks one of these
// tags does not belong to the stack, even if a status has its ARN.
func AcceleratorTrackingTags(cluster, region string, id model.StackID) map[string]string {
	tags := ResourceTags(cluster, id, model.AcceleratorID, nil)
	if region != "" {
		tags[ClusterRegionTag] = region
	}
	return tags
}

// IsReservedAcceleratorTag reports whether only the controller may set the tag of accelerators with a key: a tag that
// identifies the stack, or a tag that names a guest.
func IsReservedAcceleratorTag(key string) bool {
	return key == ClusterRegionTag || IsReservedTag(key) || strings.HasPrefix(key, guestPrefix)
}

// IsAcceleratorOfStack reports whether tags are those of the accelerator of a stack.
func IsAcceleratorOfStack(cluster, region string, id model.StackID, tags map[string]string) bool {
	return HasAllTags(tags, AcceleratorTrackingTags(cluster, region, id))
}

// IsAcceleratorOfCluster reports whether tags are those of an accelerator of a GlobalAccelerator in the cluster. The tag
// with the region may be missing, because it is not set if the region is unknown.
func IsAcceleratorOfCluster(cluster, region string, tags map[string]string) bool {
	of, ok := tags[ClusterRegionTag]
	return BelongsToCluster(cluster, tags) && tags[ResourceTag(model.GlobalAccelerator)] == model.AcceleratorID && (!ok || of == region)
}

// IsAccelerator reports whether tags are those of an accelerator of a GlobalAccelerator in any cluster.
func IsAccelerator(tags map[string]string) bool {
	return tags[ClusterTag] != "" && tags[ResourceTag(model.GlobalAccelerator)] == model.AcceleratorID
}
