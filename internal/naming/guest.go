package naming

import (
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/model"
)

// Annotations of GlobalAccelerators.
const (
	// GuestsAnnotation names, by region, the GlobalAccelerators of other clusters that may have endpoint groups.
	GuestsAnnotation = "fulcrum.dev/accelerator-guests"
	// SharedAnnotation has the ARN of an accelerator of another owner, whose endpoint groups of the region are the object's.
	SharedAnnotation = "fulcrum.dev/shared-accelerator"
	// DialAnnotation has the traffic dials of endpoint groups follow something: DialOfReadyTargets, and with commas in between
	// floor=PERCENT and step=PERCENT.
	DialAnnotation     = "fulcrum.dev/traffic-dial"
	DialOfReadyTargets = "ready-targets"
)

// guestPrefix begins the keys of the tags by which the owner of an accelerator lets another cluster have the endpoint groups of
// a region. Listeners and endpoint groups carry no tags, so that whose an endpoint group is follows from these.
const guestPrefix = "fulcrum.dev/guest/"

// mostRegion is how long the name of a region may be.
const mostRegion = 32

// MaxTagValue is how long the value of a tag may be.
const MaxTagValue = 256

// GuestTag returns the key of the tag that names the guest of a region.
func GuestTag(region string) string { return guestPrefix + region }

// Guest returns the value of that tag for a GlobalAccelerator of a cluster. Namespaces and names have no slash, so that
// no two have one value.
func Guest(cluster string, id model.StackID) string {
	return cluster + "/" + id.Namespace + "/" + id.Name
}

// IsRegion reports whether a text may be the name of a region.
func IsRegion(region string) bool {
	return region != "" && len(region) <= mostRegion && !strings.ContainsFunc(region, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-'
	})
}

// Guests returns the guests that tags name, by region.
func Guests(tags map[string]string) map[string]string {
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

// GuestTags returns the tags that name guests.
func GuestTags(guests map[string]string) map[string]string {
	out := map[string]string{}
	for region, guest := range guests {
		out[GuestTag(region)] = guest
	}
	return out
}

// IsGuest reports whether tags of an accelerator let a stack have its endpoint groups of the region.
func IsGuest(cluster, region string, id model.StackID, tags map[string]string) bool {
	of, ok := GuestStack(cluster, region, tags)
	return ok && of == id
}

// AcceleratorOwner returns the GlobalAccelerator that owns an accelerator according to its tags, as
// CLUSTER/NAMESPACE/NAME; "" if they say none.
func AcceleratorOwner(tags map[string]string) string {
	stack := tags[StackTag(model.GlobalAccelerator)]
	if !IsAccelerator(tags) || stack == "" {
		return ""
	}
	return tags[ClusterTag] + "/" + stack
}

// GuestStack returns the stack of a cluster in a region that tags let have endpoint groups there.
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
