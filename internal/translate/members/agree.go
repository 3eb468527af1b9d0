package members

import (
	"errors"
	"fmt"
	"slices"

	"github.com/fulcrum-lb/fulcrum/internal/finding"
	"github.com/fulcrum-lb/fulcrum/internal/translate/settings"
)

// Incumbent is what is live of a setting.
type Incumbent[T any] struct {
	// Known reports that there is a live value to compare with.
	Known bool
	// Is reports whether a value that is asked for is the live one.
	Is func(T) bool
	// Value is the live one.
	Value T
	// None reports that AWS reports that nothing is live, so that no member can have asked for it before.
	None bool
	// Unavailable reports that AWS does not say now what is live. Then nothing is changed, and no finding says
	// that something else is live.
	Unavailable bool
}

// IncumbentOf returns the incumbent of a live value.
func IncumbentOf[T any](value T, known bool, same func(a, b T) bool) Incumbent[T] {
	return Incumbent[T]{Known: known, Value: value, Is: func(v T) bool { return same(value, v) }}
}

// Merged is what the members' values of a setting come to. Kept reports that the live value stays
// although no value that can be read asks for it.
type Merged[T any] struct {
	settings.Opt[T]
	Kept bool
}

// asked is what one member says of a setting.
type asked[T any] struct {
	m *Member
	o settings.Opt[T]
}

// Agree merges a setting over members in the order of the frontend (of Ingresses: group.order, then name), of which the
// first wins; those that disagree get a finding. What is live
// is read only where something is contested.
func Agree[T any](t *Translation, members []*Member, what string, get func(*Member) settings.Opt[T], same func(a, b T) bool, current func() Incumbent[T]) Merged[T] {
	return agree(t, members, t.guestsAmong(members), what, get, same, current)
}

// AgreeAll is Agree where guests count like others.
func AgreeAll[T any](t *Translation, members []*Member, what string, get func(*Member) settings.Opt[T], same func(a, b T) bool, current func() Incumbent[T]) Merged[T] {
	return agree(t, members, false, what, get, same, current)
}

// agree is Agree over the members that may say something. guests reports whether some of those that share the setting are
// guests of the others.
func agree[T any](t *Translation, members []*Member, guests bool, what string, get func(*Member) settings.Opt[T], same func(a, b T) bool, current func() Incumbent[T]) Merged[T] {
	var asks []asked[T]
	var unavailable *asked[T]
	for _, m := range members {
		o := get(m)
		switch {
		case o.Set:
			asks = append(asks, asked[T]{m, o})
		case o.Fault != nil && unavailable == nil:
			unavailable = &asked[T]{m, o}
		}
	}
	if t.Isolated && len(asks) > 0 {
		var live Incumbent[T]
		if t.Live != nil {
			live = current()
		}
		asks, unavailable = filterByClass(t, what, asks, live), nil
	}
	if guests {
		asks, unavailable = withoutGuests(t, what, asks, unavailable, same, current)
	}
	if unavailable == nil && t.missingClass != nil {
		unavailable = &asked[T]{t.missingClass, settings.Opt[T]{Origin: finding.Origin{Object: t.missingClass.Ref, Field: t.ClassField}}}
	}
	if unavailable == nil && !slices.ContainsFunc(asks, func(a asked[T]) bool { return !same(asks[0].o.Value, a.o.Value) }) {
		if len(asks) == 0 {
			return Merged[T]{}
		}
		return Merged[T]{Opt: asks[0].o}
	}
	t.Stack.Contested = true
	var live Incumbent[T]
	if t.Live != nil {
		live = current()
	}
	if live.Unavailable && len(asks) > 0 {
		return Merged[T]{Opt: asks[0].o} // for the plan to hold
	}
	at := -1
	for i := 0; i < len(asks) && live.Known && at < 0; i++ {
		before := t.unanswered
		if live.Is(asks[i].o.Value) {
			at = i
		} else if t.unanswered > before && unavailable == nil {
			unavailable = &asks[i] // AWS does not say whether it is the live one
		}
	}
	switch {
	case at < 0 && live.Known && unavailable != nil:
		for _, a := range asks {
			if a.m == unavailable.m {
				continue
			}
			t.ReportNotTaken(a.m, a.o.Origin, finding.AnnotationConflict, what, a.o.Value, live.Value, unavailable.m.Ref, true)
		}
		return Merged[T]{Opt: settings.Opt[T]{Value: live.Value, Set: true, Origin: unavailable.o.Origin}, Kept: true}
	case at < 0 && !live.None && t.missingClass != nil && t.LiveLoadBalancer() != nil:
		// None of them is live, and no new member decides while those that are served cannot be heard.
		for _, a := range asks {
			t.ReportNotTaken(a.m, a.o.Origin, finding.AnnotationConflict, what, a.o.Value, live.Value, t.missingClass.Ref, true)
		}
		return Merged[T]{}
	case len(asks) == 0:
		return Merged[T]{}
	}
	isLive := at >= 0
	won := asks[max(at, 0)]
	for _, a := range asks {
		if !same(won.o.Value, a.o.Value) {
			t.ReportNotTaken(a.m, a.o.Origin, finding.AnnotationConflict, what, a.o.Value, won.o.Value, won.m.Ref, isLive)
		}
	}
	return Merged[T]{Opt: won.o}
}

// AgreeOn merges a setting that the members on a port must agree on. A member whose ports are not known
// and that is served may listen there too.
func AgreeOn[T any](t *Translation, p *Port, key string, get func(*Member) settings.Opt[T], same func(a, b T) bool, current func() Incumbent[T]) Merged[T] {
	lost := map[*Member]bool{}
	members := p.Members
	for _, m := range t.Members {
		if m.Undetermined && get(m).Present() && !slices.Contains(p.Members, m) {
			t.Stack.Contested = true
			if t.Live != nil && t.Serves(m) {
				lost[m] = true
				members = append(slices.Clone(members), m)
			}
		}
	}
	return Agree(t, members, fmt.Sprintf("%s on port %d", key, p.Number), func(m *Member) settings.Opt[T] {
		o := get(m)
		if lost[m] {
			return settings.Opt[T]{Fault: errPortsUnknown, Origin: o.Origin}
		}
		return o
	}, same, current)
}

var errPortsUnknown = errors.New("it is not known on which ports the member listens")

// ReportNotTaken reports that what a member asks for has no effect, because another one asks for something
// else that is live, or comes first in their order.
func (t *Translation) ReportNotTaken(m *Member, o finding.Origin, reason finding.Reason, what string, value, kept any, by finding.Ref, isLive bool) {
	why := "comes first in group order"
	if isLive {
		why = "has what is live"
	}
	t.Found.Add(finding.Finding{
		Object: m.Ref, Field: FieldOn(m.Ref, o), Reason: reason, Severity: finding.Error,
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

// Equal compares values that are equal as they stand.
func Equal[T comparable](a, b T) bool { return a == b }

// Sorted returns a list in order and without repeats.
func Sorted(s []string) []string {
	out := slices.Clone(s)
	slices.Sort(out)
	return slices.Compact(out)
}

// SameSet compares lists whose order and repeats do not matter.
func SameSet(a, b []string) bool { return slices.Equal(Sorted(a), Sorted(b)) }
