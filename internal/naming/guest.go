package naming

import (
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Annotations of a GlobalAccelerator.
const (
	// GuestsAnnotation names, by region, the GlobalAccelerators of other clusters that may have endpoint groups in the
	// accelerator. Each of them is the guest of its region.
	GuestsAnnotation = "fulcrum.dev/accelerator-guests"
	// SharedAnnotation has the ARN of an accelerator of another owner. The GlobalAccelerator has the endpoint groups of its
	// region in that accelerator.
	SharedAnnotation = "fulcrum.dev/shared-accelerator"
	// DialAnnotation makes traffic dials follow the share of targets that are ready. Its value is DialOfReadyTargets,
	// optionally followed by floor=PERCENT and step=PERCENT, separated by commas.
	DialAnnotation     = "fulcrum.dev/traffic-dial"
	DialOfReadyTargets = "ready-targets"
)

// guestPrefix is the prefix of the keys of tags by which the owner of an accelerator assigns the endpoint groups of a region
// to another cluster. Listeners and endpoint groups have no tags themselves, so these tags show who owns an endpoint group.
const guestPrefix = "fulcrum.dev/guest/"

// maxRegionLength is the maximum accepted length of the name of a region.
const maxRegionLength = 32

// MaxTagValue is the maximum length of the value of a tag in AWS, in characters. Ids in the model are values of tags, so it
// also limits them.
const MaxTagValue = 256

// GuestTag returns the key of the tag that names the guest of a region.
func GuestTag(region string) string { return guestPrefix + region }

// GuestTagValue returns the value of GuestTag for a GlobalAccelerator of a cluster. The value is unambiguous, because
// namespaces and names contain no slash.
func GuestTagValue(cluster string, id model.StackID) string {
	return cluster + "/" + id.Namespace + "/" + id.Name
}

// IsRegion reports whether a text may be the name of a region.
func IsRegion(region string) bool {
	return region != "" && len(region) <= maxRegionLength && !strings.ContainsFunc(region, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-'
	})
}

// GuestsInTags returns the guests that the tags of an accelerator name, by region; nil if there are none.
func GuestsInTags(tags map[string]string) map[string]string {
	var out map[string]string
	for k, v := range tags {
		if region, ok := strings.CutPrefix(k, guestPrefix); ok && IsRegion(region) {
			if out == nil {
				out = map[string]string{}
			}
			out[region] = v
		}
	}
	return out
}

// GuestTags returns the tags that name guests. guests are the guests by region.
func GuestTags(guests map[string]string) map[string]string {
	out := map[string]string{}
	for region, guest := range guests {
		out[GuestTag(region)] = guest
	}
	return out
}

// IsGuest reports whether the tags of an accelerator name the stack id of the cluster as the guest of a region.
func IsGuest(cluster, region string, id model.StackID, tags map[string]string) bool {
	of, ok := GuestStack(cluster, region, tags)
	return ok && of == id
}

// AcceleratorOwner returns the GlobalAccelerator that owns an accelerator according to its tags, as
// "cluster/namespace/name"; "" if the tags name none.
func AcceleratorOwner(tags map[string]string) string {
	stack := tags[StackTag(model.GlobalAccelerator)]
	if !IsAccelerator(tags) || stack == "" {
		return ""
	}
	return tags[ClusterTag] + "/" + stack
}

// GuestStack returns the stack of the cluster that tags name as the guest of a region; false if they name none, or one of
// another cluster.
func GuestStack(cluster, region string, tags map[string]string) (model.StackID, bool) {
	rest, ok := strings.CutPrefix(tags[GuestTag(region)], cluster+"/")
	if !ok || cluster == "" || !IsRegion(region) {
		return model.StackID{}, false
	}
	namespace, name, ok := strings.Cut(rest, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return model.StackID{}, false
	}
	return model.StackID{Kind: model.GlobalAccelerator, Namespace: namespace, Name: name}, true
}
