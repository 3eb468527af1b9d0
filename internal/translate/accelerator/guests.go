package accelerator

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// Clusters in several regions can share an accelerator. The GlobalAccelerator that owns the accelerator names a guest
// for each other region. A guest is a GlobalAccelerator in another cluster. It names the accelerator by ARN.

// sharingBuilder reads the annotations of owners and guests of shared accelerators.
type sharingBuilder struct{ *translation }

const (
	// maxGuests is the maximum number of guests of an accelerator, each of which needs a tag.
	maxGuests = 20
	// maxAnnotationLength is the maximum length, in bytes, of an annotation that is parsed.
	maxAnnotationLength = 8192
	// maxARNLength is the maximum length of the ARN of an accelerator.
	maxARNLength = 128
)

// hasRegion reports whether the spec has an endpoint group in a region.
func (t sharingBuilder) hasRegion(region string) bool {
	for _, l := range t.ga.Spec.Listeners {
		for _, g := range l.EndpointGroups {
			if cmp.Or(g.Region, t.region()) == region {
				return true
			}
		}
	}
	return false
}

// guests returns the guests (CLUSTER/NAMESPACE/NAME) that the annotation names, by region. If an entry of the annotation
// is invalid, guests in the tags of the accelerator are kept for regions that the annotation does not name.
func (t sharingBuilder) guests() map[string]string {
	text := t.ga.Annotations[naming.GuestsAnnotation]
	if text == "" {
		return nil
	}
	out, wrong := map[string]string{}, false
	fault := func(format string, args ...any) {
		if !wrong {
			t.reportFault(naming.GuestsAnnotation, finding.SpecInvalid, finding.Error,
				fmt.Sprintf(format, args...)+"; invalid entries are ignored, and guests in AWS stay for regions without a valid entry", "write REGION=CLUSTER/NAMESPACE/NAME, separated by commas")
		}
		wrong = true
	}
	if len(text) > maxAnnotationLength {
		fault("the annotation is longer than %d characters, and the characters beyond the limit are not read", maxAnnotationLength)
		text = text[:maxAnnotationLength]
		text = text[:max(0, strings.LastIndexByte(text, ','))]
	}
	for _, part := range strings.Split(text, ",") {
		if part = strings.TrimSpace(part); part == "" {
			continue
		}
		region, guest, _ := strings.Cut(part, "=")
		region, guest = strings.TrimSpace(region), strings.TrimSpace(guest)
		why := guestFault(region, guest)
		switch {
		case why != "":
			fault("%q is not a valid guest: %s", finding.TruncateValue(part), why)
		case out[region] != "":
			fault("region %q has two guests, and %q is the second", region, finding.TruncateValue(guest))
		case len(out) == maxGuests:
			fault("%[2]q exceeds the limit of %[1]d guests", maxGuests, finding.TruncateValue(part))
		case t.hasRegion(region):
			t.reportFault(naming.GuestsAnnotation, finding.SpecInvalid, finding.Error,
				fmt.Sprintf("region %q has an endpoint group of this object, and a listener has one for each region; guest %q is ignored", region, finding.TruncateValue(guest)), "remove the endpoint groups of the region, or the guest")
		default:
			out[region] = guest
		}
	}
	if wrong {
		for region, guest := range naming.GuestsInTags(t.acceleratorTags()) {
			if out[region] == "" && !t.hasRegion(region) {
				out[region] = guest
			}
		}
	}
	return out
}

// acceleratorTags returns the tags in AWS of the object's accelerator, or nil if it has none.
func (t sharingBuilder) acceleratorTags() map[string]string {
	if t.live == nil || len(t.live.Accelerators) == 0 {
		return nil
	}
	i := slices.IndexFunc(t.live.Accelerators, func(a observed.Accelerator) bool { return a.ARN == t.ga.Status.AcceleratorARN })
	return t.live.Accelerators[max(i, 0)].Tags
}

// guestClusterName matches the cluster name of a guest. It permits the characters that AWS permits in tag values, except
// spaces.
var guestClusterName = regexp.MustCompile(`^[A-Za-z0-9+=._:/@-]+$`)

// guestFault returns the reason why a guest or its region is invalid, or "" if both are valid.
func guestFault(region, guest string) string {
	parts := strings.Split(guest, "/")
	n := len(parts)
	switch {
	case !naming.IsRegion(region):
		return "a region has lower-case letters, digits and hyphens"
	case n < 3:
		return "a guest is CLUSTER/NAMESPACE/NAME"
	case len(guest) > naming.MaxTagValue:
		return fmt.Sprintf("a tag value has at most %d characters in AWS", naming.MaxTagValue)
	case len(validation.IsDNS1123Label(parts[n-2])) > 0:
		return fmt.Sprintf("%q is not the name of a namespace", finding.TruncateValue(parts[n-2]))
	case len(validation.IsDNS1123Subdomain(parts[n-1])) > 0:
		return fmt.Sprintf("%q is not the name of an object", finding.TruncateValue(parts[n-1]))
	case !guestClusterName.MatchString(strings.Join(parts[:n-2], "/")):
		return fmt.Sprintf("%q is not the name of a cluster", finding.TruncateValue(strings.Join(parts[:n-2], "/")))
	}
	return ""
}

// acceleratorARN matches the ARN of an accelerator.
var acceleratorARN = regexp.MustCompile(`^arn:aws[a-z-]*:globalaccelerator::\d{12}:accelerator/[A-Za-z0-9-]{1,64}$`)

// sharedAnnotation returns the ARN in the annotation naming.SharedAnnotation, even if it is invalid. It returns "" if
// the object does not have the annotation.
func (t sharingBuilder) sharedAnnotation() string {
	return finding.Truncate(strings.TrimSpace(t.ga.Annotations[naming.SharedAnnotation]), maxARNLength)
}

// sharedARN returns the ARN of the shared accelerator that the object names, and adds a question about this accelerator.
// It returns "" if the object names none or has its own accelerator.
func (t sharingBuilder) sharedARN() string {
	arn := t.sharedAnnotation()
	if arn == "" {
		return ""
	}
	t.stack.Contested = true
	if t.live != nil && len(t.live.Accelerators) > 0 {
		t.reportFault(naming.SharedAnnotation, finding.SpecInvalid, finding.Error, fmt.Sprintf("the object already has its own accelerator %q, so the annotation has no effect", t.live.Accelerators[0].ARN),
			"remove the annotation; or delete the GlobalAccelerator with its accelerator, and create another one")
		return ""
	}
	if acceleratorARN.MatchString(arn) {
		t.ask(model.AskSharedAccelerator{ARN: arn})
	}
	return arn
}

// isAdmitted reports whether the tags of the shared accelerator name this object as the guest for its region.
func (t sharingBuilder) isAdmitted() bool {
	a := t.live.SharedAccelerator
	return a != nil && a.ARN == t.accelerator.Shared && naming.IsGuest(t.opt.Cluster, t.region(), t.stack.ID, a.Tags)
}

// reportNotNamedAsGuest reports if the owner of the shared accelerator does not name the object as a guest. The message does
// not reveal names or settings of the accelerator.
func (t sharingBuilder) reportNotNamedAsGuest() {
	if t.live == nil || t.isAdmitted() {
		return
	}
	tag, guest := naming.GuestTag(t.region()), naming.GuestTagValue(t.opt.Cluster, t.stack.ID)
	fault := func(message, fix string) {
		t.reportFault(naming.SharedAnnotation, finding.AcceleratorNotShared, finding.Error, message+"; the accelerator is not changed", fix)
	}
	switch a := t.live.SharedAccelerator; {
	case !acceleratorARN.MatchString(t.accelerator.Shared):
		fault(fmt.Sprintf("%q is not the ARN of an accelerator", t.accelerator.Shared), "correct the annotation")
	case a != nil && naming.IsAccelerator(a.Tags) && len(naming.GuestsInTags(a.Tags)) == 0:
		fault(fmt.Sprintf("accelerator %q belongs to a GlobalAccelerator that names no guests, and aws-load-balancer-controller, if it manages this GlobalAccelerator, deletes each endpoint group that is not in its spec", t.accelerator.Shared),
			fmt.Sprintf("let Fulcrum manage this GlobalAccelerator, and ask its owner to add %s=%s to the annotation %s", t.region(), guest, naming.GuestsAnnotation))
	default:
		fault(fmt.Sprintf("the account has no accelerator %q with the tag %s = %q", t.accelerator.Shared, tag, guest),
			fmt.Sprintf("ask the owner to add %s=%s to the annotation %s of its GlobalAccelerator, or set the tag", t.region(), guest, naming.GuestsAnnotation))
	}
}

// buildShared builds the desired state of a guest: the endpoint groups of its region in the shared accelerator with the
// ARN.
func (t sharingBuilder) buildShared(arn string) {
	t.accelerator = &model.Accelerator{Shared: arn, UID: string(t.ga.UID), AddressType: model.IPv4}
	t.stack.Accelerator = t.accelerator
	t.reportNotNamedAsGuest()
	if t.live != nil && t.isAdmitted() {
		t.accelerator.AddressType = t.live.SharedAccelerator.AddressType
	}
	for _, x := range []struct {
		field string
		given bool
	}{
		{"spec.name", t.ga.Spec.Name != ""}, {"spec.tags", len(t.ga.Spec.Tags) > 0}, {"spec.ipAddresses", len(t.ga.Spec.IPAddresses) > 0},
		{naming.GuestsAnnotation, t.ga.Annotations[naming.GuestsAnnotation] != ""},
	} {
		if x.given {
			t.reportFault(x.field, finding.AcceleratorSettingKept, finding.Warning, "the accelerator belongs to another owner, so the field has no effect", "remove the field")
		}
	}
	listenerBuilder(t).buildListeners()
	t.omitOtherRegions()
	rightsChecker(t).setRights()
	rightsChecker(t).setRevoked()
}

// omitOtherRegions removes and reports desired endpoint groups of other regions, which belong to other clusters.
func (t sharingBuilder) omitOtherRegions() {
	if t.live == nil {
		return
	}
	for i := range t.accelerator.Listeners {
		l := &t.accelerator.Listeners[i]
		l.Groups = slices.DeleteFunc(l.Groups, func(g model.EndpointGroup) bool {
			if g.Region == t.region() {
				return false
			}
			t.reportFault(g.Origin.Field+".region", finding.SpecInvalid, finding.Error,
				fmt.Sprintf("the cluster is in region %q, and may only have endpoint groups of this region in the accelerator of another owner; the endpoint group of %q is not created", t.region(), finding.TruncateValue(g.Region)), "remove the endpoint group, or its region")
			return true
		})
	}
}

// addDeletionQuestions adds the questions about guests or the shared accelerator of an object that is being deleted.
func (t sharingBuilder) addDeletionQuestions() {
	acc := &model.Accelerator{UID: string(t.ga.UID), Shared: t.sharedARN()}
	if acc.Shared == "" {
		acc.Guests = t.guests()
	}
	if acc.Shared != "" || len(acc.Guests) > 0 {
		t.stack.Accelerator, t.stack.Contested = acc, true
	}
}
