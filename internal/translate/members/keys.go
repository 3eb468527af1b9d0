package members

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// MergeMapSetting merges maps of all members; each key is a separate setting. If the class of the first member sets a key,
// ResolveClassKey determines its value. Otherwise the values of members are merged with those values of classes that AWS
// has. get and class return the map of a member and of a class. live returns the map in AWS; nil if it is not known.
func MergeMapSetting(t *Translation, members []*Member, what string, get func(*Member) settings.Opt[map[string]string], class func(settings.Class) map[string]string, live func() map[string]string, same func(a, b string) bool) map[string]string {
	if t.Isolated {
		members = slices.DeleteFunc(slices.Clone(members), func(m *Member) bool { return !t.hasDecidingClass(m) })
		if len(members) == 0 {
			return nil
		}
	}
	decided := class(members[0].Set.Class)
	by := membersByKeyOf(members, get, class)
	for k := range decided {
		by.ofKey[k] = append([]*Member(nil), by.ofKey[k]...)
	}
	out, guests := map[string]string{}, t.hasMembersOfOtherNamespaces(members)
	for _, k := range slices.Sorted(maps.Keys(by.ofKey)) {
		incumbent := liveMapValue(k, live, same)
		if v, ok := decided[k]; ok {
			out[k] = t.ResolveClassKey(members, what, k, v, class, get, incumbent)
			continue
		}
		byClass := t.liveClassValues(by.firstOfClass, k, class, incumbent)
		won := mergeMemberValues(t, by.membersFor(k, byClass), guests, what+": "+k, func(m *Member) settings.Opt[string] {
			if v, ok := byClass[m]; ok {
				return settings.NewOpt(v, m.Set.Class.Origin)
			}
			o := get(m)
			v, ok := o.Value[k]
			return settings.Opt[string]{Value: v, Set: o.Set && ok, Fault: o.Fault, Origin: o.Origin}
		}, same, incumbent)
		if won.Set {
			out[k] = won.Value
		}
	}
	return out
}

// membersByKey has the members that set each key of a map, so that a loop over the keys does not visit all members for each
// key.
type membersByKey struct {
	position     map[*Member]int      // index of each member in the order of the frontend
	ofKey        map[string][]*Member // members that set the key, in order
	firstOfClass []*Member            // the first member of each class, without the first member of all
	unavailable  *Member              // the first member with a map that cannot be read
}

func membersByKeyOf(members []*Member, get func(*Member) settings.Opt[map[string]string], class func(settings.Class) map[string]string) membersByKey {
	out := membersByKey{position: map[*Member]int{}, ofKey: map[string][]*Member{}}
	classes := map[finding.Ref]bool{}
	for i, m := range members {
		out.position[m] = i
		o := get(m)
		if o.Fault != nil && out.unavailable == nil {
			out.unavailable = m
		}
		for k := range o.Value {
			out.ofKey[k] = append(out.ofKey[k], m)
		}
		if of := m.Set.Class.Origin.Object; i > 0 && !classes[of] {
			classes[of] = true
			out.firstOfClass = append(out.firstOfClass, m)
			for k := range class(m.Set.Class) {
				out.ofKey[k] = append([]*Member(nil), out.ofKey[k]...)
			}
		}
	}
	return out
}

// membersFor returns, in order, the members that may have a value for a key: their own value, the value of their class, or a
// value that cannot be read.
func (s membersByKey) membersFor(key string, byClass map[*Member]string) []*Member {
	out := slices.Clone(s.ofKey[key])
	if s.unavailable != nil {
		out = append(out, s.unavailable)
	}
	for m := range byClass {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b *Member) int { return cmp.Compare(s.position[a], s.position[b]) })
	return slices.Compact(out)
}

// liveClassValues returns, by member, the values of a key that the classes of the members set and that AWS has. It is used
// for keys that the class of the first member does not set.
func (t *Translation) liveClassValues(members []*Member, key string, class func(settings.Class) map[string]string, current func() LiveValue[string]) map[*Member]string {
	var out map[*Member]string
	for _, m := range members {
		v, ok := class(m.Set.Class)[key]
		if !ok {
			continue
		}
		t.Stack.Contested = true
		if t.Live == nil {
			continue
		}
		if live := current(); live.Known && live.Matches(v) {
			if out == nil {
				out = map[*Member]string{}
			}
			out[m] = v
		}
	}
	return out
}

// liveMapValue returns a function that reads the value in AWS of key k of a map.
func liveMapValue(k string, live func() map[string]string, same func(a, b string) bool) func() LiveValue[string] {
	return func() LiveValue[string] {
		values := live()
		v, known := values[k]
		out := LiveValueOf(v, known, same)
		out.Absent = values != nil && !known
		return out
	}
}

// ResolveClassKey returns the value of a key that the class of the first member sets. If another class, or a member with
// another class, sets the value that AWS has, it returns the value in AWS instead and adds a finding.
func (t *Translation) ResolveClassKey(members []*Member, what, key, value string, class func(settings.Class) map[string]string, get func(*Member) settings.Opt[map[string]string], current func() LiveValue[string]) string {
	if t.retainedMember != nil && t.Live != nil {
		if live := current(); live.Known && !live.Matches(value) {
			first := members[0]
			t.ReportIgnoredValue(first, first.Set.Class.Origin, finding.AnnotationConflict, what+": "+key, value, live.Value, t.retainedMember.Ref, true)
			return live.Value
		}
	}
	for _, m := range members[1:] {
		v, ok := class(m.Set.Class)[key]
		if !ok && m.Set.Class.Origin.Object != members[0].Set.Class.Origin.Object && !t.Isolated {
			v, ok = get(m).Value[key]
		}
		if !ok || v == value || t.Isolated && !t.hasDecidingClass(m) {
			continue
		}
		t.Stack.Contested = true
		if t.Live == nil {
			continue
		}
		if live := current(); live.Known && live.Matches(v) && !live.Matches(value) {
			first := members[0]
			t.ReportIgnoredValue(first, first.Set.Class.Origin, finding.AnnotationConflict, what+": "+key, value, v, m.Ref, true)
			return v
		}
	}
	return value
}

// OriginsOfKeys returns the origins of all keys of a map: the members and the classes that set some of the keys.
func OriginsOfKeys(members []*Member, get func(*Member) settings.Opt[map[string]string], class func(settings.Class) map[string]string) []finding.Origin {
	var out []finding.Origin
	seen := map[finding.Origin]bool{}
	for _, m := range members {
		if o := get(m); len(o.Value) > 0 {
			out = append(out, o.Origin)
		}
		if c := m.Set.Class; len(class(c)) > 0 && !seen[c.Origin] {
			seen[c.Origin] = true
			out = append(out, c.Origin)
		}
	}
	return out
}

// NoClassKeys returns no keys. It is for maps whose keys class parameters cannot set.
func NoClassKeys(settings.Class) map[string]string { return nil }
