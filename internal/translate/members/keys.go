package members

import (
	"cmp"
	"maps"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// AgreeKeys unites maps; each key is a setting of its own. Where the class of the first member says
// something of a key, the members' values of it do not count, and other classes are heard only where
// they ask for what is live. live returns the live values, nil if they are not known.
func AgreeKeys(t *Translation, members []*Member, what string, get func(*Member) settings.Opt[map[string]string], class func(settings.Class) map[string]string, live func() map[string]string, same func(a, b string) bool) map[string]string {
	if t.Isolated {
		members = slices.DeleteFunc(slices.Clone(members), func(m *Member) bool { return !t.ClassDecides(m) })
		if len(members) == 0 {
			return nil
		}
	}
	decided := class(members[0].Set.Class)
	by := keyMembersOf(members, get, class)
	for k := range decided {
		by.ofKey[k] = append([]*Member(nil), by.ofKey[k]...)
	}
	out, guests := map[string]string{}, t.guestsAmong(members)
	for _, k := range slices.Sorted(maps.Keys(by.ofKey)) {
		incumbent := liveKey(k, live, same)
		if v, ok := decided[k]; ok {
			out[k] = t.ClassKey(members, what, k, v, class, get, incumbent)
			continue
		}
		byClass := t.membersByClass(by.classes, k, class, incumbent)
		won := agree(t, by.membersFor(k, byClass), guests, what+": "+k, func(m *Member) settings.Opt[string] {
			if v, ok := byClass[m]; ok {
				return settings.Of(v, m.Set.Class.Origin)
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

// speakers are the members that say something of the keys of a map, so that no key costs a look at all.
type speakers struct {
	at          map[*Member]int      // their places in order
	ofKey       map[string][]*Member // in order
	classes     []*Member            // the first member of each class but the first member
	unavailable *Member              // the first one that cannot be read
}

func keyMembersOf(members []*Member, get func(*Member) settings.Opt[map[string]string], class func(settings.Class) map[string]string) speakers {
	out := speakers{at: map[*Member]int{}, ofKey: map[string][]*Member{}}
	classes := map[finding.Ref]bool{}
	for i, m := range members {
		out.at[m] = i
		o := get(m)
		if o.Fault != nil && out.unavailable == nil {
			out.unavailable = m
		}
		for k := range o.Value {
			out.ofKey[k] = append(out.ofKey[k], m)
		}
		if of := m.Set.Class.Origin.Object; i > 0 && !classes[of] {
			classes[of] = true
			out.classes = append(out.classes, m)
			for k := range class(m.Set.Class) {
				out.ofKey[k] = append([]*Member(nil), out.ofKey[k]...)
			}
		}
	}
	return out
}

// membersFor returns the members to which a finding about a key is reported, in order.
func (s speakers) membersFor(key string, byClass map[*Member]string) []*Member {
	out := slices.Clone(s.ofKey[key])
	if s.unavailable != nil {
		out = append(out, s.unavailable)
	}
	for m := range byClass {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b *Member) int { return cmp.Compare(s.at[a], s.at[b]) })
	return slices.Compact(out)
}

// membersByClass returns the members whose classes ask for the live value of a key that the first member's class
// leaves open.
func (t *Translation) membersByClass(members []*Member, key string, class func(settings.Class) map[string]string, current func() Incumbent[string]) map[*Member]string {
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
		if live := current(); live.Known && live.Is(v) {
			if out == nil {
				out = map[*Member]string{}
			}
			out[m] = v
		}
	}
	return out
}

// liveKey returns the incumbent of a key. The live values are read when they are compared.
func liveKey(k string, live func() map[string]string, same func(a, b string) bool) func() Incumbent[string] {
	return func() Incumbent[string] {
		values := live()
		v, known := values[k]
		out := IncumbentOf(v, known, same)
		out.None = values != nil && !known
		return out
	}
}

// ClassKey resolves a key of which the class of the first member says something: its value, unless another
// class, or a member of another class, asks for the live one.
func (t *Translation) ClassKey(members []*Member, what, key, value string, class func(settings.Class) map[string]string, get func(*Member) settings.Opt[map[string]string], current func() Incumbent[string]) string {
	if t.missingClass != nil && t.Live != nil {
		if live := current(); live.Known && !live.Is(value) {
			first := members[0]
			t.ReportNotTaken(first, first.Set.Class.Origin, finding.AnnotationConflict, what+": "+key, value, live.Value, t.missingClass.Ref, true)
			return live.Value
		}
	}
	for _, m := range members[1:] {
		v, ok := class(m.Set.Class)[key]
		if !ok && m.Set.Class.Origin.Object != members[0].Set.Class.Origin.Object && !t.Isolated {
			v, ok = get(m).Value[key]
		}
		if !ok || v == value || t.Isolated && !t.ClassDecides(m) {
			continue
		}
		t.Stack.Contested = true
		if t.Live == nil {
			continue
		}
		if live := current(); live.Known && live.Is(v) && !live.Is(value) {
			first := members[0]
			t.ReportNotTaken(first, first.Set.Class.Origin, finding.AnnotationConflict, what+": "+key, value, v, m.Ref, true)
			return v
		}
	}
	return value
}

// OriginsOfKeys returns where members, or their classes, ask for keys of a map.
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

// NoClassKeys returns no keys, for maps that an IngressClass cannot set.
func NoClassKeys(settings.Class) map[string]string { return nil }
