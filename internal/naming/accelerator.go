package naming

import (
	"maps"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// ClusterRegionTag is the key of a tag of accelerators with the region of the cluster. Accelerators belong to no region, and
// clusters in two regions can have the same name.
const ClusterRegionTag = "elbv2.k8s.aws/cluster-region"

// isNameCharacter reports whether AWS accepts a character in the name of an accelerator.
func isNameCharacter(c rune) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '-'
}

// acceleratorNamePart returns the first 16 characters of a text, after the removal of characters that AWS does not accept in
// the name of an accelerator.
func acceleratorNamePart(s string) string {
	s = strings.Map(func(c rune) rune {
		if isNameCharacter(c) {
			return c
		}
		return -1
	}, s)
	return s[:min(len(s), 16)]
}

// AcceleratorName returns the generated name of an accelerator, at most 64 characters. dual reports whether its address type
// is DUAL_STACK; accelerators of the two address types have different names.
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

// AcceleratorTags returns all tags of the accelerator of a stack. Tags of the controller, including the tags of guests, have
// precedence over tags of users. region may be empty.
func AcceleratorTags(cluster, region string, id model.StackID, user, guests map[string]string) map[string]string {
	tags := map[string]string{}
	maps.Copy(tags, user)
	maps.DeleteFunc(tags, func(k, _ string) bool { return strings.HasPrefix(k, guestPrefix) })
	maps.Copy(tags, GuestTags(guests))
	maps.Copy(tags, AcceleratorTrackingTags(cluster, region, id))
	return tags
}

// AcceleratorTrackingTags returns the tags that identify the accelerator of a stack. An accelerator that lacks one of them
// does not belong to the stack, even if a status shows its ARN.
func AcceleratorTrackingTags(cluster, region string, id model.StackID) map[string]string {
	tags := ResourceTags(cluster, id, model.AcceleratorID, nil)
	if region != "" {
		tags[ClusterRegionTag] = region
	}
	return tags
}

// IsReservedAcceleratorTag reports whether only the controller may set a tag of accelerators: a tag that identifies the
// stack, or the tag of a guest.
func IsReservedAcceleratorTag(key string) bool {
	return key == ClusterRegionTag || IsReservedTag(key) || strings.HasPrefix(key, guestPrefix)
}

// BelongsToAccelerator reports whether tags identify the accelerator of a stack.
func BelongsToAccelerator(cluster, region string, id model.StackID, tags map[string]string) bool {
	return HasAllTags(tags, AcceleratorTrackingTags(cluster, region, id))
}

// OwnsAccelerator reports whether tags identify an accelerator of the cluster. The tag with the region may be missing,
// because it is not set if the region is not known.
func OwnsAccelerator(cluster, region string, tags map[string]string) bool {
	of, ok := tags[ClusterRegionTag]
	return BelongsToCluster(cluster, tags) && tags[ResourceTag(model.GlobalAccelerator)] == model.AcceleratorID && (!ok || of == region)
}

// IsAccelerator reports whether tags identify an accelerator of a GlobalAccelerator in any cluster.
func IsAccelerator(tags map[string]string) bool {
	return tags[ClusterTag] != "" && tags[ResourceTag(model.GlobalAccelerator)] == model.AcceleratorID
}
