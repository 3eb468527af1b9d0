package ingress

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/settings"
)

// Members of a group may say different things about what the load balancer has once. Then the live
// value stays as long as an accepted member, or its class, asks for it: a newcomer never replaces, opens
// or unguards a load balancer by disagreeing. Only where none of them asks for what is live, or nothing
// is live, does the first member in group order decide. A value that cannot be read counts as one that
// asks for what is live, since a guess could take it away.

// incumbent is what is live of a setting.
type incumbent[T any] struct {
	// known reports that there is a live value to compare with.
	known bool
	// is reports whether a value that is asked for is the live one.
	is func(T) bool
	// value is the live one.
	value T
	// none reports that AWS says that nothing is live, so that no member can have asked for it before.
	none bool
	// unread reports that AWS does not say now what is live. Then nothing is changed, and nobody is told
	// that something else is.
	unread bool
}

// serving returns the incumbent of a live value.
func serving[T any](value T, known bool, same func(a, b T) bool) incumbent[T] {
	return incumbent[T]{known: known, value: value, is: func(v T) bool { return same(value, v) }}
}

// merged is what the members' values of a setting come to. kept reports that the live value stays
// although no value that can be read asks for it.
type merged[T any] struct {
	settings.Opt[T]
	kept bool
}

// asked is what one member says of a setting.
type asked[T any] struct {
	m *member
	o settings.Opt[T]
}

// agree merges a setting over members in group order; those that disagree get a finding. What is live
// is read only where something is contested.
func agree[T any](t *translation, members []*member, what string, get func(*member) settings.Opt[T], same func(a, b T) bool, current func() incumbent[T]) merged[T] {
	var asks []asked[T]
	var unread *asked[T]
	for _, m := range members {
		o := get(m)
		switch {
		case o.Set:
			asks = append(asks, asked[T]{m, o})
		case o.Fault != nil && unread == nil:
			unread = &asked[T]{m, o}
		}
	}
	if t.isolated() && len(asks) > 0 {
		var live incumbent[T]
		if t.live != nil {
			live = current()
		}
		asks, unread = fromClass(t, what, asks, live), nil
	}
	if unread == nil && t.missingClass != nil {
		unread = &asked[T]{t.missingClass, settings.Opt[T]{Origin: finding.Origin{Object: t.missingClass.ref, Field: classNameField}}}
	}
	if unread == nil && !slices.ContainsFunc(asks, func(a asked[T]) bool { return !same(asks[0].o.Value, a.o.Value) }) {
		if len(asks) == 0 {
			return merged[T]{}
		}
		return merged[T]{Opt: asks[0].o}
	}
	t.stack.Contested = true
	var live incumbent[T]
	if t.live != nil {
		live = current()
	}
	if live.unread && len(asks) > 0 {
		return merged[T]{Opt: asks[0].o} // for the plan to hold
	}
	at := -1
	for i := 0; i < len(asks) && live.known && at < 0; i++ {
		before := t.unanswered
		if live.is(asks[i].o.Value) {
			at = i
		} else if t.unanswered > before && unread == nil {
			unread = &asks[i] // AWS does not say whether it is the live one
		}
	}
	switch {
	case at < 0 && live.known && unread != nil:
		for _, a := range asks {
			if a.m == unread.m {
				continue
			}
			t.notTaken(a.m, a.o.Origin, finding.AnnotationConflict, what, a.o.Value, live.value, unread.m.ref, true)
		}
		return merged[T]{Opt: settings.Opt[T]{Value: live.value, Set: true, Origin: unread.o.Origin}, kept: true}
	case at < 0 && !live.none && t.missingClass != nil && t.liveALB() != nil:
		// None of them is live, and nobody new decides while those that are served cannot be heard.
		for _, a := range asks {
			t.notTaken(a.m, a.o.Origin, finding.AnnotationConflict, what, a.o.Value, live.value, t.missingClass.ref, true)
		}
		return merged[T]{}
	case len(asks) == 0:
		return merged[T]{}
	}
	isLive := at >= 0
	won := asks[max(at, 0)]
	for _, a := range asks {
		if !same(won.o.Value, a.o.Value) {
			t.notTaken(a.m, a.o.Origin, finding.AnnotationConflict, what, a.o.Value, won.o.Value, won.m.ref, isLive)
		}
	}
	return merged[T]{Opt: won.o}
}

// agreeOn merges a setting that the members on a port must agree on. A member whose ports are not known
// and that is served may listen there too.
func agreeOn[T any](t *translation, p *port, key string, get func(*member) settings.Opt[T], same func(a, b T) bool, current func() incumbent[T]) merged[T] {
	lost := map[*member]bool{}
	members := p.members
	for _, m := range t.members {
		if m.lost && get(m).Present() && !slices.Contains(p.members, m) {
			t.stack.Contested = true
			if t.live != nil && t.serves(m) {
				lost[m] = true
				members = append(slices.Clone(members), m)
			}
		}
	}
	return agree(t, members, fmt.Sprintf("%s on port %d", key, p.number), func(m *member) settings.Opt[T] {
		o := get(m)
		if lost[m] {
			return settings.Opt[T]{Fault: errPortsUnknown, Origin: o.Origin}
		}
		return o
	}, same, current)
}

var errPortsUnknown = errors.New("it is not known on which ports the member listens")

// agreeKeys unites maps; each key is a setting of its own. Where the class of the first member says
// something of a key, the members' values of it do not count, and other classes are heard only where
// they ask for what is live. live returns the live values, nil if they are not known.
func agreeKeys(t *translation, members []*member, what string, get func(*member) settings.Opt[map[string]string], class func(settings.Class) map[string]string, live func() map[string]string, same func(a, b string) bool) map[string]string {
	if t.isolated() {
		members = slices.DeleteFunc(slices.Clone(members), func(m *member) bool { return !t.decides(m) })
		if len(members) == 0 {
			return nil
		}
	}
	decided := class(members[0].set.Class)
	by := speakersOf(members, get)
	for k := range decided {
		by.ofKey[k] = append([]*member(nil), by.ofKey[k]...)
	}
	out := map[string]string{}
	for _, k := range sortedKeys(by.ofKey) {
		incumbent := liveKey(k, live, same)
		if v, ok := decided[k]; ok {
			out[k] = t.classKey(members, what, k, v, class, get, incumbent)
			continue
		}
		byClass := t.classAsks(by.classes, k, class, incumbent)
		won := agree(t, by.of(k, byClass), what+": "+k, func(m *member) settings.Opt[string] {
			if v, ok := byClass[m]; ok {
				return settings.Of(v, m.set.Class.Origin)
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
	at      map[*member]int      // their places in group order
	ofKey   map[string][]*member // in group order
	classes []*member            // the first member of each class but the first member
	unread  *member              // the first one that cannot be read
}

func speakersOf(members []*member, get func(*member) settings.Opt[map[string]string]) speakers {
	out := speakers{at: map[*member]int{}, ofKey: map[string][]*member{}}
	classes := map[finding.Ref]bool{}
	for i, m := range members {
		out.at[m] = i
		o := get(m)
		if o.Fault != nil && out.unread == nil {
			out.unread = m
		}
		for k := range o.Value {
			out.ofKey[k] = append(out.ofKey[k], m)
		}
		if of := m.set.Class.Origin.Object; i > 0 && !classes[of] {
			classes[of] = true
			out.classes = append(out.classes, m)
		}
	}
	return out
}

// of are the members to hear of a key, in group order.
func (s speakers) of(key string, byClass map[*member]string) []*member {
	out := slices.Clone(s.ofKey[key])
	if s.unread != nil {
		out = append(out, s.unread)
	}
	for m := range byClass {
		out = append(out, m)
	}
	slices.SortFunc(out, func(a, b *member) int { return cmp.Compare(s.at[a], s.at[b]) })
	return slices.Compact(out)
}

// classAsks are the members whose classes ask for the live value of a key that the first member's class
// leaves open.
func (t *translation) classAsks(members []*member, key string, class func(settings.Class) map[string]string, current func() incumbent[string]) map[*member]string {
	var out map[*member]string
	for _, m := range members {
		v, ok := class(m.set.Class)[key]
		if !ok {
			continue
		}
		t.stack.Contested = true
		if t.live == nil {
			continue
		}
		if live := current(); live.known && live.is(v) {
			if out == nil {
				out = map[*member]string{}
			}
			out[m] = v
		}
	}
	return out
}

// liveKey is the incumbent of a key. The live values are read when they are compared.
func liveKey(k string, live func() map[string]string, same func(a, b string) bool) func() incumbent[string] {
	return func() incumbent[string] {
		values := live()
		v, known := values[k]
		out := serving(v, known, same)
		out.none = values != nil && !known
		return out
	}
}

// classKey settles a key of which the class of the first member says something: its value, unless another
// class, or a member of another class, asks for the live one.
func (t *translation) classKey(members []*member, what, key, value string, class func(settings.Class) map[string]string, get func(*member) settings.Opt[map[string]string], current func() incumbent[string]) string {
	if t.missingClass != nil && t.live != nil {
		if live := current(); live.known && !live.is(value) {
			first := members[0]
			t.notTaken(first, first.set.Class.Origin, finding.AnnotationConflict, what+": "+key, value, live.value, t.missingClass.ref, true)
			return live.value
		}
	}
	for _, m := range members[1:] {
		v, ok := class(m.set.Class)[key]
		if !ok && m.set.Class.Origin.Object != members[0].set.Class.Origin.Object && !t.isolated() {
			v, ok = get(m).Value[key]
		}
		if !ok || v == value || t.isolated() && !t.decides(m) {
			continue
		}
		t.stack.Contested = true
		if t.live == nil {
			continue
		}
		if live := current(); live.known && live.is(v) && !live.is(value) {
			first := members[0]
			t.notTaken(first, first.set.Class.Origin, finding.AnnotationConflict, what+": "+key, value, v, m.ref, true)
			return v
		}
	}
	return value
}

// notTaken reports that what a member asks for has no effect, because another one asks for something
// else that is live, or comes first in group order.
func (t *translation) notTaken(m *member, o finding.Origin, reason finding.Reason, what string, value, kept any, by finding.Ref, isLive bool) {
	why := "comes first in group order"
	if isLive {
		why = "has what is live"
	}
	t.found.Add(finding.Finding{
		Object: m.ref, Field: fieldOn(m.ref, o), Reason: reason, Severity: finding.Error,
		Message: fmt.Sprintf("%s %s disagrees with %s, which %s; %s stays", what, quoted(value), by, why, quoted(kept)),
		Fix:     "give both the same value, or remove it from one",
	})
}

// quoted shows a value of a setting in a message, as far as it is of use there.
func quoted(v any) string {
	const most = 300
	text := fmt.Sprint(v)
	if len(text) > most {
		text = text[:most] + "..."
	}
	return fmt.Sprintf("%q", text)
}

func equal[T comparable](a, b T) bool { return a == b }

// askers are where members, or their classes, ask for keys of a map.
func askers(members []*member, get func(*member) settings.Opt[map[string]string], class func(settings.Class) map[string]string) []finding.Origin {
	var out []finding.Origin
	seen := map[finding.Origin]bool{}
	for _, m := range members {
		if o := get(m); len(o.Value) > 0 {
			out = append(out, o.Origin)
		}
		if c := m.set.Class; len(class(c)) > 0 && !seen[c.Origin] {
			seen[c.Origin] = true
			out = append(out, c.Origin)
		}
	}
	return out
}

// noClassKeys is for maps of which classes say nothing.
func noClassKeys(settings.Class) map[string]string { return nil }

// some takes an empty list for none.
func some(o settings.Opt[[]string]) settings.Opt[[]string] {
	if o.Set && len(o.Value) == 0 {
		return settings.Opt[[]string]{}
	}
	return o
}

func sorted(s []string) []string {
	out := slices.Clone(s)
	slices.Sort(out)
	return slices.Compact(out)
}

func sameSet(a, b []string) bool { return slices.Equal(sorted(a), sorted(b)) }
