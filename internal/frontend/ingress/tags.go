package ingress

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/assemble"
	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/naming"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

func sortedKeys[T any](m map[string]T) []string { return slices.Sorted(maps.Keys(m)) }

// memberTags settles a member's tags, those of its class over its own.
func (t *translation) memberTags(m *member) {
	own := t.allowed(m, m.set.Tags.Value, m.set.Tags.Origin)
	class := m.set.Class.Origin
	class.Field = "spec.tags"
	m.classTags = t.allowed(m, m.set.Class.Tags, class)
	m.tags = t.fittingTags(m, assemble.Overlay(own, m.classTags))
}

// trackingTags is how many tags of a resource the controller needs itself.
const trackingTags = 3

// roomForTags is how many tags users may give a resource. One more, and AWS refuses all of them.
func (t *translation) roomForTags() int {
	return max(0, naming.MaxTags-trackingTags-len(t.opt.DefaultTags))
}

// fittingTags leaves out those of a member's tags for which AWS has no room.
func (t *translation) fittingTags(m *member, tags map[string]string) map[string]string {
	keys := sortedKeys(tags)
	if room := t.roomForTags(); len(keys) > room {
		t.noRoomForTags(m, keys[room:], len(keys))
		tags = maps.Clone(tags)
		for _, k := range keys[room:] {
			delete(tags, k)
		}
	}
	return tags
}

func (t *translation) noRoomForTags(m *member, keys []string, of int) {
	t.found.Add(finding.Finding{
		Object: m.ref, Field: settings.Prefix + "tags", Reason: finding.TagInvalid, Severity: finding.Warning,
		Message: fmt.Sprintf("there are %d tags, and AWS has room for %d; %d are left out, the first is %q", of, t.roomForTags(), len(keys), keys[0]),
		Fix:     "use fewer tags",
	})
}

// sharedRoom leaves out tags for which AWS has no room on something that members share. Namespaces with few
// tags come first, so that none can use up the room of the others. unread is how many live tags may be of
// members that cannot be read; they count as those of one more namespace.
func (t *translation) sharedRoom(members []*member, of func(*member) map[string]string, tags map[string]string, unread int) map[string]string {
	room := t.roomForTags()
	if len(tags)+unread <= room {
		return tags
	}
	uses := map[string]int{}
	for _, m := range members {
		uses[m.ref.Namespace] += len(of(m))
	}
	fewest := slices.Clone(members)
	slices.SortStableFunc(fewest, func(a, b *member) int { return cmp.Compare(uses[a.ref.Namespace], uses[b.ref.Namespace]) })
	out := map[string]string{}
	for _, m := range fewest {
		var lost []string
		left := room
		if uses[m.ref.Namespace] >= unread {
			left -= unread
		}
		for _, k := range sortedKeys(of(m)) {
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
			t.noRoomForTags(m, lost, len(tags))
		}
	}
	return out
}

// allowed leaves out tags that nobody may set here, and reports them.
func (t *translation) allowed(m *member, tags map[string]string, from finding.Origin) map[string]string {
	out := map[string]string{}
	for _, k := range sortedKeys(tags) {
		reason, severity, why := finding.TagReserved, finding.Error, ""
		switch {
		case slices.Contains(t.opt.ExternalTags, k):
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
		object, field := m.ref, fieldOn(m.ref, from)
		if from.Object.Kind == "Service" {
			object, field = from.Object, from.Field
		}
		t.found.Add(finding.Finding{Object: object, Field: field, Reason: reason, Severity: severity,
			Message: fmt.Sprintf("tag %q %s and is left out", cut(k), why), Fix: "remove the tag"})
	}
	return out
}

// listenerTags are the tags of the listener of a port and of what it has.
func (t *translation) listenerTags(p *port) map[string]string {
	return t.mergeTags(p.members, func() map[string]string {
		if l := listenerOf(t.liveALB(), p.number); l != nil {
			return liveTags(l.Tags)
		}
		return nil
	})
}

// sharedTags are the tags of the load balancer.
func (t *translation) sharedTags(members []*member, live *observed.LoadBalancer) map[string]string {
	return t.mergeTags(members, func() map[string]string {
		if live == nil {
			return nil
		}
		return liveTags(live.Tags)
	})
}

// mergeTags are the tags of what several members share.
func (t *translation) mergeTags(members []*member, live func() map[string]string) map[string]string {
	of := func(m *member) map[string]string { return m.tags }
	if t.isolated() {
		of = func(m *member) map[string]string { return m.classTags }
	}
	tags := agreeKeys(t, members, "tags", func(m *member) settings.Opt[map[string]string] {
		from := m.set.Tags.Origin
		if t.isolated() || from.Object.IsZero() {
			from = finding.Origin{Object: m.set.Class.Origin.Object, Field: "spec.tags"}
		}
		return settings.Of(of(m), from)
	}, noClassKeys, live, equal[string])
	return t.withDefaults(t.sharedRoom(members, of, tags, t.unreadTags(tags, live())))
}

// unreadTags is how many live tags are held for members that cannot be read.
func (t *translation) unreadTags(tags, live map[string]string) int {
	if !t.stack.Held.Tags {
		return 0
	}
	n := 0
	for k := range live {
		_, known := tags[k]
		_, byDefault := t.opt.DefaultTags[k]
		if !known && !byDefault && !slices.Contains(t.opt.ExternalTags, k) && !strings.HasPrefix(k, "aws:") {
			n++
		}
	}
	return n
}

func (t *translation) withDefaults(tags map[string]string) map[string]string {
	return assemble.Tags(tags, t.opt.DefaultTags, t.opt.DefaultTagsLow)
}
