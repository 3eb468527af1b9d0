package assemble

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/translate/members"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// MemberTags sets a member's tags, those of its class over its own.
func (b *Builder) MemberTags(m *members.Member) {
	own := b.AllowedTags(m, m.OwnTags.Value, m.OwnTags.Origin)
	class := m.Set.Class.Origin
	class.Field = "spec.tags"
	m.ClassTags = b.AllowedTags(m, m.Set.Class.Tags, class)
	m.Tags = tagBuilder{b}.fittingTags(m, Overlay(own, m.ClassTags))
}

// trackingTags is how many tags of a resource the controller needs itself.
const trackingTags = 3

// tagBuilder builds the tags that members share, with room for those of each.
type tagBuilder struct{ *Builder }

// roomForTags returns how many tags users may give a resource. One more, and AWS refuses all of them.
func (b tagBuilder) roomForTags() int {
	return max(0, naming.MaxTags-trackingTags-len(b.DefaultTags))
}

// fittingTags leaves out those of a member's tags for which AWS has no room.
func (b tagBuilder) fittingTags(m *members.Member, tags map[string]string) map[string]string {
	keys := slices.Sorted(maps.Keys(tags))
	if room := b.roomForTags(); len(keys) > room {
		b.noRoomForTags(m, keys[room:], len(keys))
		tags = maps.Clone(tags)
		for _, k := range keys[room:] {
			delete(tags, k)
		}
	}
	return tags
}

func (b tagBuilder) noRoomForTags(m *members.Member, keys []string, of int) {
	b.Found.Add(finding.Finding{
		Object: m.Ref, Field: b.fieldOf("tags"), Reason: finding.TagInvalid, Severity: finding.Warning,
		Message: fmt.Sprintf("there are %d tags, and AWS has room for %d; %d are left out, the first is %q", of, b.roomForTags(), len(keys), keys[0]),
		Fix:     "use fewer tags",
	})
}

// sharedRoom leaves out tags for which AWS has no room on something that members share. Namespaces with few
// tags come first, so that none can use up the room of the others. unavailable is how many live tags may be of
// members that cannot be read; they count as those of one more namespace.
func (b tagBuilder) sharedRoom(sharing []*members.Member, of func(*members.Member) map[string]string, tags map[string]string, unavailable int) map[string]string {
	room := b.roomForTags()
	if len(tags)+unavailable <= room {
		return tags
	}
	uses := map[string]int{}
	for _, m := range sharing {
		uses[m.Ref.Namespace] += len(of(m))
	}
	fewest := slices.Clone(sharing)
	slices.SortStableFunc(fewest, func(a, b *members.Member) int { return cmp.Compare(uses[a.Ref.Namespace], uses[b.Ref.Namespace]) })
	out := map[string]string{}
	for _, m := range fewest {
		var lost []string
		left := room
		if uses[m.Ref.Namespace] >= unavailable {
			left -= unavailable
		}
		for _, k := range slices.Sorted(maps.Keys(of(m))) {
			if _, has := out[k]; has || tags[k] != of(m)[k] {
				continue
			}
			if len(out) < left {
				out[k] = tags[k]
			} else {
				lost = append(lost, k)
			}
		}
		if len(lost) > 0 {
			b.noRoomForTags(m, lost, len(tags))
		}
	}
	return out
}

// AllowedTags leaves out tags that users may not set, and reports them.
func (b *Builder) AllowedTags(m *members.Member, tags map[string]string, from finding.Origin) map[string]string {
	out := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		reason, severity, why := finding.TagReserved, finding.Error, ""
		switch {
		case slices.Contains(b.ExternalTags, k):
			why = "is managed outside of the cluster"
		case naming.ReservedTag(k):
			severity, why = finding.Warning, "is used by the controller"
		case strings.HasPrefix(strings.ToLower(k), "aws:"):
			reason, why = finding.TagInvalid, "begins with aws:, which AWS reserves"
		case k == "":
			reason, why = finding.TagInvalid, "has an empty key"
		case len([]rune(k)) > 128 || len([]rune(tags[k])) > 256:
			reason, why = finding.TagInvalid, "is longer than 128 characters, or its value longer than 256"
		default:
			out[k] = tags[k]
			continue
		}
		object, field := m.Ref, members.FieldOn(m.Ref, from)
		if from.Object.Kind == "Service" {
			object, field = from.Object, from.Field
		}
		b.Found.Add(finding.Finding{Object: object, Field: field, Reason: reason, Severity: severity,
			Message: fmt.Sprintf("tag %q %s and is left out", finding.CutTo(40, k), why), Fix: "remove the tag"})
	}
	return out
}

// ListenerTags returns the tags of the listener of a port and of what it has.
func (b *Builder) ListenerTags(p *members.Port) map[string]string {
	return tagBuilder{b}.mergeTags(p.Members, func() map[string]string {
		if l := b.LiveLoadBalancer().OnPort(p.Number); l != nil {
			return members.LiveTags(l.Tags)
		}
		return nil
	})
}

// sharedTags returns the tags of the load balancer. Those of guests are on what is theirs, and here where they are live.
func (b tagBuilder) sharedTags(sharing []*members.Member, live *observed.LoadBalancer) map[string]string {
	have := func() map[string]string {
		if live == nil {
			return nil
		}
		return members.LiveTags(live.Tags)
	}
	return b.mergeTags(b.withoutGuestTags(sharing, have()), have)
}

// withoutGuestTags returns the members with those tags of guests left out that the load balancer has not.
func (b tagBuilder) withoutGuestTags(sharing []*members.Member, live map[string]string) []*members.Member {
	if b.Owner == nil {
		return sharing
	}
	out := make([]*members.Member, len(sharing))
	for i, m := range sharing {
		if out[i] = m; b.IsGuest(m) && len(m.Tags) > 0 {
			b.Stack.Contested = true
			less := *m
			less.Tags = maps.Clone(m.Tags)
			maps.DeleteFunc(less.Tags, func(k, v string) bool { return live[k] != v })
			out[i] = &less
		}
	}
	return out
}

// mergeTags returns the tags of what several members share.
func (b tagBuilder) mergeTags(sharing []*members.Member, live func() map[string]string) map[string]string {
	of := func(m *members.Member) map[string]string { return m.Tags }
	if b.Isolated {
		of = func(m *members.Member) map[string]string { return m.ClassTags }
	}
	tags := members.AgreeKeys(&b.Translation, sharing, b.name("tags"), func(m *members.Member) settings.Opt[map[string]string] {
		from := m.OwnTags.Origin
		if b.Isolated || from.Object.IsZero() {
			from = finding.Origin{Object: m.Set.Class.Origin.Object, Field: "spec.tags"}
		}
		return settings.NewOpt(of(m), from)
	}, members.NoClassKeys, live, members.Equal[string])
	return b.WithDefaults(b.sharedRoom(sharing, of, tags, b.unavailableTags(tags, live())))
}

// unavailableTags returns how many live tags are held for members that cannot be read.
func (b tagBuilder) unavailableTags(tags, live map[string]string) int {
	if !b.Stack.Held.Tags {
		return 0
	}
	n := 0
	for k := range live {
		_, known := tags[k]
		_, byDefault := b.DefaultTags[k]
		if !known && !byDefault && !slices.Contains(b.ExternalTags, k) && !strings.HasPrefix(k, "aws:") {
			n++
		}
	}
	return n
}

func (b *Builder) WithDefaults(tags map[string]string) map[string]string {
	return Tags(tags, b.DefaultTags, b.DefaultTagsLow)
}
