package naming

import (
	"maps"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// ClusterRegionTag is on accelerators, which have no region themselves: clusters of two regions may have one name.
const ClusterRegionTag = "elbv2.k8s.aws/cluster-region"

// nameCharacters are the characters of the names of accelerators.
func nameCharacters(c rune) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '-'
}

// acceleratorNamePart returns a part of the name of an accelerator: the characters that a name may have, 16 at most.
func acceleratorNamePart(s string) string {
	s = strings.Map(func(c rune) rune {
		if nameCharacters(c) {
			return c
		}
		return -1
	}, s)
	return s[:min(len(s), 16)]
}

// Accelerator returns the generated name of an accelerator, at most 64 characters. A change of the address type changes
// it. dual reports that it has IPv6 addresses.
func Accelerator(cluster, region string, id model.StackID, dual bool) string {
	addresses := "IPV4"
	if dual {
		addresses = "DUAL_STACK"
	}
	return "k8s_" + acceleratorNamePart(id.Namespace) + "_" + acceleratorNamePart(id.Name) + "_" + hexHash(cluster, region, id.Namespace, id.Name, addresses)[:25]
}

// AcceleratorNameFault returns what AWS would reject in the name of an accelerator, "" if nothing.
func AcceleratorNameFault(name string) string {
	switch {
	case name == "":
		return "it is empty"
	case len(name) > 64:
		return "it is longer than 64 characters"
	case strings.HasPrefix(name, "-") || strings.HasSuffix(name, "-"):
		return "it begins or ends with a hyphen"
	case strings.ContainsFunc(name, func(c rune) bool { return !nameCharacters(c) }):
		return "it has a character other than letters, digits, hyphens and underscores"
	}
	return ""
}

// AcceleratorTags returns all tags of the accelerator of a stack. Tracking tags and those of guests win over tags of
// users. region may be empty.
func AcceleratorTags(cluster, region string, id model.StackID, user, guests map[string]string) map[string]string {
	tags := map[string]string{}
	maps.Copy(tags, user)
	maps.DeleteFunc(tags, func(k, _ string) bool { return strings.HasPrefix(k, guestPrefix) })
	maps.Copy(tags, GuestTags(guests))
	maps.Copy(tags, AcceleratorTracking(cluster, region, id))
	return tags
}

// AcceleratorTracking returns the tags by which the accelerator of a stack is known. Without all of them it is not the
// stack's, whatever a status shows.
func AcceleratorTracking(cluster, region string, id model.StackID) map[string]string {
	tags := ResourceTags(cluster, id, model.AcceleratorID, nil)
	if region != "" {
		tags[ClusterRegionTag] = region
	}
	return tags
}

// AcceleratorReserved reports whether a tag key is one of the tracking keys of accelerators, or names a guest. Only the
// controller may set them.
func AcceleratorReserved(key string) bool {
	return key == ClusterRegionTag || ReservedTag(key) || strings.HasPrefix(key, guestPrefix)
}

// BelongsToAccelerator reports whether tags mark the accelerator of a stack.
func BelongsToAccelerator(cluster, region string, id model.StackID, tags map[string]string) bool {
	return HasAll(tags, AcceleratorTracking(cluster, region, id))
}

// OwnsAccelerator reports whether tags mark an accelerator of the cluster. One without the tag of the region was made
// where the region was not known.
func OwnsAccelerator(cluster, region string, tags map[string]string) bool {
	of, ok := tags[ClusterRegionTag]
	return Owns(cluster, tags) && tags[ResourceTag(model.GlobalAccelerator)] == model.AcceleratorID && (!ok || of == region)
}

// IsAccelerator reports whether tags mark an accelerator of any GlobalAccelerator, of whatever cluster.
func IsAccelerator(tags map[string]string) bool {
	return tags[ClusterTag] != "" && tags[ResourceTag(model.GlobalAccelerator)] == model.AcceleratorID
}
