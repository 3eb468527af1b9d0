package ingress

import (
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
	m.tags = assemble.Overlay(own, m.classTags)
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
			Message: fmt.Sprintf("tag %q %s and is left out", k, why), Fix: "remove the tag"})
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
	tags := agreeKeys(t, members, "tags", func(m *member) settings.Opt[map[string]string] {
		if t.isolated() {
			return settings.Of(m.classTags, finding.Origin{Object: m.set.Class.Origin.Object, Field: "spec.tags"})
		}
		from := m.set.Tags.Origin
		if from.Object.IsZero() {
			from = finding.Origin{Object: m.set.Class.Origin.Object, Field: "spec.tags"}
		}
		return settings.Of(m.tags, from)
	}, noClassKeys, live, equal[string])
	return t.withDefaults(tags)
}

func (t *translation) withDefaults(tags map[string]string) map[string]string {
	return assemble.Tags(tags, t.opt.DefaultTags, t.opt.DefaultTagsLow)
}
