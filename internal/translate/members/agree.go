package members

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/model"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// LiveValue is the value of a setting in AWS, as far as AWS reports it.
type LiveValue[T any] struct {
	// Known reports whether the value in AWS is known and can be compared with desired values.
	Known bool
	// Matches reports whether a desired value means the same as the value in AWS. It is used only if Known is true.
	Matches func(T) bool
	// Value is the value in AWS.
	Value T
	// Absent reports whether it is known that AWS has no value, which means that no member has set one before.
	Absent bool
	// Unavailable reports whether the value in AWS could not be read. Then the setting is not changed in AWS, and no finding
	// about a conflict with the value in AWS is reported.
	Unavailable bool
}

// LiveValueOf returns the LiveValue for a value in AWS. same reports whether the value in AWS and a desired value are the
// same.
func LiveValueOf[T any](value T, known bool, same func(a, b T) bool) LiveValue[T] {
	return LiveValue[T]{Known: known, Value: value, Matches: func(v T) bool { return same(value, v) }}
}

// MergedSetting is the value of a setting after merging the values of all members. RetainsObserved reports whether this is
// the value in AWS, which is not changed although no member is known to set it.
type MergedSetting[T any] struct {
	settings.Opt[T]
	RetainsObserved bool
}

// memberValue is the value of a setting in one member.
type memberValue[T any] struct {
	member  *Member
	setting settings.Opt[T]
}

// MergeSetting merges the values of a setting in all members. The members are in order of precedence; for Ingresses, this is
// the order of group.order, then name. The first value is used, unless AWS has the value of another member. Members with
// other values get a finding. what is the name of the setting in messages. current reads the value in AWS. It is called only
// if the result may depend on that value.
func MergeSetting[T any](t *Translation, members []*Member, what string, get func(*Member) settings.Opt[T], same func(a, b T) bool, current func() LiveValue[T]) MergedSetting[T] {
	return mergeMemberValues(t, members, t.hasMembersOfOtherNamespaces(members), what, get, same, current)
}

// MergeSettingOfAllNamespaces is like MergeSetting, but treats the values of guests like those of other members.
func MergeSettingOfAllNamespaces[T any](t *Translation, members []*Member, what string, get func(*Member) settings.Opt[T], same func(a, b T) bool, current func() LiveValue[T]) MergedSetting[T] {
	return mergeMemberValues(t, members, false, what, get, same, current)
}

// mergeMemberValues implements MergeSetting and MergeSettingOfAllNamespaces. guests reports whether the values of guests have
// lower precedence.
func mergeMemberValues[T any](t *Translation, members []*Member, guests bool, what string, get func(*Member) settings.Opt[T], same func(a, b T) bool, current func() LiveValue[T]) MergedSetting[T] {
	var setValues []memberValue[T]
	var unavailable *memberValue[T]
	for _, m := range members {
		o := get(m)
		switch {
		case o.Set:
			setValues = append(setValues, memberValue[T]{m, o})
		case o.Fault != nil && unavailable == nil:
			unavailable = &memberValue[T]{m, o}
		}
	}
	if t.Isolated && len(setValues) > 0 {
		var live LiveValue[T]
		if t.Live != nil {
			live = current()
		}
		setValues, unavailable = filterByClass(t, what, setValues, live), nil
	}
	if guests {
		setValues, unavailable = withoutOtherNamespaces(t, what, setValues, unavailable, same, current)
	}
	if unavailable == nil && t.retainedMember != nil {
		unavailable = &memberValue[T]{t.retainedMember, settings.Opt[T]{Origin: finding.Origin{Object: t.retainedMember.Ref, Field: t.ClassField}}}
	}
	if unavailable == nil && !slices.ContainsFunc(setValues, func(a memberValue[T]) bool { return !same(setValues[0].setting.Value, a.setting.Value) }) {
		if len(setValues) == 0 {
			return MergedSetting[T]{}
		}
		return MergedSetting[T]{Opt: setValues[0].setting}
	}
	t.Stack.Contested = true
	var live LiveValue[T]
	if t.Live != nil {
		live = current()
	}
	if live.Unavailable && len(setValues) > 0 {
		return MergedSetting[T]{Opt: setValues[0].setting} // the plan holds the setting
	}
	at := -1
	for i := 0; i < len(setValues) && live.Known && at < 0; i++ {
		before := t.unknownLiveValues
		if live.Matches(setValues[i].setting.Value) {
			at = i
		} else if t.unknownLiveValues > before && unavailable == nil {
			unavailable = &setValues[i] // the value may be equal to the value in AWS, which could not be read
		}
	}
	switch {
	case at < 0 && live.Known && unavailable != nil:
		for _, a := range setValues {
			if a.member == unavailable.member {
				continue
			}
			t.ReportIgnoredValue(a.member, a.setting.Origin, finding.AnnotationConflict, what, a.setting.Value, live.Value, unavailable.member.Ref, true)
		}
		return MergedSetting[T]{Opt: settings.Opt[T]{Value: live.Value, Set: true, Origin: unavailable.setting.Origin}, RetainsObserved: true}
	case at < 0 && !live.Absent && t.retainedMember != nil && t.LiveLoadBalancer() != nil:
		// AWS has none of the values. The class of a member that is still served cannot be read, so the value in AWS stays,
		// and the value of a new member is not used.
		var kept any
		if live.Known {
			kept = live.Value
		}
		for _, a := range setValues {
			t.ReportIgnoredValue(a.member, a.setting.Origin, finding.AnnotationConflict, what, a.setting.Value, kept, t.retainedMember.Ref, true)
		}
		return MergedSetting[T]{}
	case len(setValues) == 0:
		return MergedSetting[T]{}
	}
	isLive := at >= 0
	won := setValues[max(at, 0)]
	for _, a := range setValues {
		if !same(won.setting.Value, a.setting.Value) {
			t.ReportIgnoredValue(a.member, a.setting.Origin, finding.AnnotationConflict, what, a.setting.Value, won.setting.Value, won.member.Ref, isLive)
		}
	}
	return MergedSetting[T]{Opt: won.setting}
}

// MergePortSetting merges a setting on which the members that listen on a port must agree. A member that is served, but
// whose ports are not known, may also listen on the port. Its value is treated like a value that cannot be read.
func MergePortSetting[T any](t *Translation, p *Port, key string, get func(*Member) settings.Opt[T], same func(a, b T) bool, current func() LiveValue[T]) MergedSetting[T] {
	withUnknownPorts := map[*Member]bool{}
	members := p.Members
	for _, m := range t.Members {
		if m.Undetermined && get(m).IsPresent() && !slices.Contains(p.Members, m) {
			t.Stack.Contested = true
			if t.Live != nil && t.IsServed(m) {
				withUnknownPorts[m] = true
				members = append(slices.Clone(members), m)
			}
		}
	}
	return MergeSetting(t, members, fmt.Sprintf("%s on port %d", key, p.Number), func(m *Member) settings.Opt[T] {
		o := get(m)
		if withUnknownPorts[m] {
			return settings.Opt[T]{Fault: errPortsUnknown, Origin: o.Origin}
		}
		return o
	}, same, current)
}

var errPortsUnknown = errors.New("it is not known on which ports the member listens")

// ReportIgnoredValue reports that the value that member m sets at origin o has no effect, because object by sets the value
// kept. If isLive is true, AWS has the value kept. Otherwise, object by comes first in the order of the members. kept is nil
// if the value in AWS is not changed and is unknown. what is the name of the setting.
func (t *Translation) ReportIgnoredValue(m *Member, o finding.Origin, reason finding.Reason, what string, value, kept any, by finding.Ref, isLive bool) {
	why := "comes first by group.order and name"
	switch {
	case isLive:
		why = "has the value that exists in AWS"
	case t.Stack.ID.Kind == model.Service:
		why = "is older"
	}
	message := fmt.Sprintf("%s %s disagrees with %s, which %s; %s stays", what, quoteValue(value), by, why, quoteValue(kept))
	if kept == nil {
		message = fmt.Sprintf("%s %s may disagree with %s, which is held; the value in AWS stays", what, quoteValue(value), by)
	}
	t.Found.Add(finding.Finding{
		Object: m.Ref, Field: FieldForObject(m.Ref, o), Reason: reason, Severity: finding.Error,
		Message: message,
		Fix:     "set the same value on both objects, or remove the setting from one of them",
	})
}

// quoteValue returns the value of a setting in quotes, for messages, with at most 300 characters. The items of a list are
// separated by commas, as in annotations.
func quoteValue(v any) string {
	text := fmt.Sprint(v)
	if list, ok := v.([]string); ok && len(list) > 0 {
		text = strings.Join(list, ",")
	}
	return fmt.Sprintf("%q", finding.Truncate(text, 300))
}

// Equal compares values with ==.
func Equal[T comparable](a, b T) bool { return a == b }

// SortedUnique returns a sorted copy of a list without duplicates.
func SortedUnique(s []string) []string {
	out := slices.Clone(s)
	slices.Sort(out)
	return slices.Compact(out)
}

// SameSet reports whether two lists have the same items. Order and repetitions do not matter.
func SameSet(a, b []string) bool { return slices.Equal(SortedUnique(a), SortedUnique(b)) }
