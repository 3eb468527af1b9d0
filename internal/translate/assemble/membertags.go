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

// SetMemberTags sets Tags and ClassTags of a member. Tags of its class have precedence over tags in its annotations.
func (b *Builder) SetMemberTags(m *members.Member) {
	own := b.AllowedTags(m, m.OwnTags.Value, m.OwnTags.Origin)
	class := m.Set.Class.Origin
	class.Field = "spec.tags"
	m.ClassTags = b.AllowedTags(m, m.Set.Class.Tags, class)
	m.Tags = tagBuilder{b}.fitTags(tagBuilder{b}.tagsSetting(m), "", tagBuilder{b}.maxUserTags(), MergeMaps(own, m.ClassTags))
}

// TargetGroupTags returns the tags of the target group of a Service for a member, including the default tags. Tags of the
// Service have precedence only over tags of the member that are not those of its class.
func (b *Builder) TargetGroupTags(m *members.Member, service finding.Ref, own map[string]string) map[string]string {
	tags := MergeMaps(m.Tags, own, m.ClassTags)
	if len(b.WithDefaultTags(tags)) > naming.MaxTags-reservedTagCount {
		tags = tagBuilder{b}.fitTags(tagBuilder{b}.tagsSetting(m), fmt.Sprintf(" for the target group of Service %s/%s", service.Namespace, service.Name), tagBuilder{b}.maxUserTags(), tags)
	}
	return b.WithDefaultTags(tags)
}

// ResourceTags returns the tags of a resource of a member: the tags in own, which users set in the setting at, and the
// default tags. It reports the tags that it leaves out. resource names the resource in messages, such as "the rule".
func ResourceTags(b *Builder, m *members.Member, own map[string]string, at finding.Origin, resource string) map[string]string {
	return b.WithDefaultTags(tagBuilder{b}.fitTags(at, " for "+resource, tagBuilder{b}.maxUserTags(), b.AllowedTags(m, own, at)))
}

// tagsSetting returns the setting for the tags of a member.
func (b tagBuilder) tagsSetting(m *members.Member) finding.Origin {
	return finding.Origin{Object: m.Ref, Field: b.settingField("tags")}
}

// reservedTagCount is the number of tags that the controller itself needs on each resource.
const reservedTagCount = 3

// tagBuilder builds the tags of resources. A resource never gets more tags than AWS permits.
type tagBuilder struct{ *Builder }

// maxUserTags returns the maximum number of user tags on a resource. With more tags, AWS would reject all of them.
func (b tagBuilder) maxUserTags() int {
	return max(0, naming.MaxTags-reservedTagCount-len(b.DefaultTags))
}

// fitTags returns at most room of the tags that users set in the setting at. It reports the tags that it leaves out. use is
// the part of the message that names the resource of the tags.
func (b tagBuilder) fitTags(at finding.Origin, use string, room int, tags map[string]string) map[string]string {
	keys := slices.Sorted(maps.Keys(tags))
	if len(keys) > room {
		b.reportOmittedTags(at, use, room, keys[room:], len(keys))
		tags = maps.Clone(tags)
		for _, k := range keys[room:] {
			delete(tags, k)
		}
	}
	return tags
}

// reportOmittedTags reports that the tags with these keys are left out. of is the number of all tags.
func (b tagBuilder) reportOmittedTags(at finding.Origin, use string, room int, keys []string, of int) {
	b.Found.Add(finding.Finding{
		Object: at.Object, Field: at.Field, Reason: finding.TagInvalid, Severity: finding.Warning,
		Message: fmt.Sprintf("there are %d tags%s, and AWS allows %d; %d are left out, the first is %q", of, use, room, len(keys), keys[0]),
		Fix:     "use fewer tags",
	})
}

// fitSharedTags returns the tags of a resource that members share, up to the maximum number, and reports the tags that
// it leaves out. Namespaces with few tags come first, so one namespace cannot use up the limit for the others.
// unavailable is the number of tags in AWS that may belong to members that cannot be read. They count as the tags of
// another namespace.
func (b tagBuilder) fitSharedTags(sharing []*members.Member, of func(*members.Member) map[string]string, tags map[string]string, unavailable int) map[string]string {
	room := b.maxUserTags()
	if len(tags)+unavailable <= room {
		return tags
	}
	uses := map[string]int{}
	for _, m := range sharing {
		uses[m.Ref.Namespace] += len(of(m))
	}
	fewestFirst := slices.Clone(sharing)
	slices.SortStableFunc(fewestFirst, func(a, b *members.Member) int { return cmp.Compare(uses[a.Ref.Namespace], uses[b.Ref.Namespace]) })
	out := map[string]string{}
	for _, m := range fewestFirst {
		var omitted []string
		limit := room
		if uses[m.Ref.Namespace] >= unavailable {
			limit -= unavailable
		}
		for _, k := range slices.Sorted(maps.Keys(of(m))) {
			if _, has := out[k]; has || tags[k] != of(m)[k] {
				continue
			}
			if len(out) < limit {
				out[k] = tags[k]
			} else {
				omitted = append(omitted, k)
			}
		}
		if len(omitted) > 0 {
			b.reportOmittedTags(b.tagsSetting(m), "", room, omitted, len(tags))
		}
	}
	return out
}

// AllowedTags returns the tags that users may set, and reports the others as findings about m or the Service in from.
func (b *Builder) AllowedTags(m *members.Member, tags map[string]string, from finding.Origin) map[string]string {
	out := map[string]string{}
	for _, k := range slices.Sorted(maps.Keys(tags)) {
		reason, severity, why := TagFault(k, tags[k], b.ExternalTags, naming.IsReservedTag)
		if why == "" {
			out[k] = tags[k]
			continue
		}
		object, field := m.Ref, members.FieldForObject(m.Ref, from)
		if from.Object.Kind == "Service" {
			object, field = from.Object, from.Field
		}
		b.Found.Add(finding.Finding{Object: object, Field: field, Reason: reason, Severity: severity,
			Message: fmt.Sprintf("tag %q %s and is left out", finding.Truncate(k, 40), why), Fix: "remove the tag"})
	}
	return out
}

// TagFault returns the reason why users may not set a tag. why is the end of the message about the tag, or "" if users
// may set it. external has the keys that are managed outside of the cluster. reserved reports whether the controller
// uses a key.
func TagFault(key, value string, external []string, reserved func(key string) bool) (_ finding.Reason, _ finding.Severity, why string) {
	switch {
	case slices.Contains(external, key):
		return finding.TagReserved, finding.Error, "is managed outside of the cluster"
	case reserved(key):
		return finding.TagReserved, finding.Warning, "is used by the controller"
	case strings.HasPrefix(strings.ToLower(key), "aws:"):
		return finding.TagInvalid, finding.Error, "begins with aws:, which AWS reserves"
	case key == "":
		return finding.TagInvalid, finding.Error, "has an empty key"
	case len([]rune(key)) > 128 || len([]rune(value)) > 256:
		return finding.TagInvalid, finding.Error, "is longer than 128 characters, or its value longer than 256"
	}
	return "", 0, ""
}

// ListenerTags returns the tags for the listener of a port and for its rules.
func (b *Builder) ListenerTags(p *members.Port) map[string]string {
	return tagBuilder{b}.mergeTags(p.Members, func() map[string]string {
		if l := b.LiveLoadBalancer().ListenerOnPort(p.Number); l != nil {
			return members.LiveTags(l.Tags)
		}
		return nil
	})
}

// loadBalancerTags returns the tags of the load balancer. It includes a tag of a guest only if the load balancer already
// has it. Resources that only guests use get all tags of the guests.
func (b tagBuilder) loadBalancerTags(sharing []*members.Member, live *observed.LoadBalancer) map[string]string {
	have := func() map[string]string {
		if live == nil {
			return nil
		}
		return members.LiveTags(live.Tags)
	}
	return b.mergeTags(b.withoutGuestTags(sharing, have()), have)
}

// withoutGuestTags returns the members, with copies of guests that have only the tags in live.
func (b tagBuilder) withoutGuestTags(sharing []*members.Member, live map[string]string) []*members.Member {
	if b.Owner == nil {
		return sharing
	}
	out := make([]*members.Member, len(sharing))
	for i, m := range sharing {
		if out[i] = m; b.IsFromOtherNamespace(m) && len(m.Tags) > 0 {
			b.Stack.Contested = true
			guest := *m
			guest.Tags = maps.Clone(m.Tags)
			maps.DeleteFunc(guest.Tags, func(k, v string) bool { return live[k] != v })
			out[i] = &guest
		}
	}
	return out
}

// mergeTags returns the merged tags of a resource that members share, including the default tags. live returns the tags
// of the resource in AWS.
func (b tagBuilder) mergeTags(sharing []*members.Member, live func() map[string]string) map[string]string {
	of := func(m *members.Member) map[string]string { return m.Tags }
	if b.Isolated {
		of = func(m *members.Member) map[string]string { return m.ClassTags }
	}
	tags := members.MergeMapSetting(&b.Translation, sharing, b.settingName("tags"), func(m *members.Member) settings.Opt[map[string]string] {
		from := m.OwnTags.Origin
		if b.Isolated || from.Object.IsZero() {
			from = finding.Origin{Object: m.Set.Class.Origin.Object, Field: "spec.tags"}
		}
		return settings.NewOpt(of(m), from)
	}, members.NoClassKeys, live, members.Equal[string])
	return b.WithDefaultTags(b.fitSharedTags(sharing, of, tags, b.unavailableTags(tags, live())))
}

// unavailableTags returns the number of tags in AWS that are held because some members cannot be read.
func (b tagBuilder) unavailableTags(tags, live map[string]string) int {
	if !b.Stack.Held.Tags {
		return 0
	}
	n := 0
	for k := range live {
		_, known := tags[k]
		_, byDefault := b.DefaultTags[k]
		if !known && !byDefault && !slices.Contains(b.ExternalTags, k) && !naming.IsAWSTag(k) {
			n++
		}
	}
	return n
}

// WithDefaultTags returns tags merged with the default tags of the controller.
func (b *Builder) WithDefaultTags(tags map[string]string) map[string]string {
	return MergeTags(tags, b.DefaultTags, b.DefaultTagsLowPriority)
}
