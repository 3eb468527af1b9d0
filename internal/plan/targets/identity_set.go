package targets

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// IdentitySet is a set of identities of targets in canonical form. It is not changed: what adds and takes away returns
// others. Nil is the empty set.
type IdentitySet struct {
	list []identityParts // ascending, distinct
	// added are some more, none of which is in the list, ascending, so that one that comes costs no copy of all.
	added []identityParts
	// found are the targets that were added last. Their identities are in the set.
	lastAdded []*observed.Target
}

// mostAdded is how many identities are kept beside the list.
const maxAdded = 64

// identityParts is an identity in canonical form, without the text that it would take to join it.
type identityParts struct {
	id, server string
	port       int32
}

func partsOf(id string, port int32, server string) identityParts {
	if !strings.HasPrefix(id, "i-") { // an instance id has one form
		id = canonicalIP(id)
	}
	return identityParts{id, strings.ToLower(server), port}
}

func compareParts(a, b identityParts) int {
	return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.port, b.port), cmp.Compare(a.server, b.server))
}

// Len returns the number of identities.
func (s *IdentitySet) Len() int {
	if s == nil {
		return 0
	}
	return len(s.list) + len(s.added)
}

// Has reports whether the identity of a target is in the set.
func (s *IdentitySet) Has(t *observed.Target) bool {
	if s == nil {
		return false
	}
	_, ok := s.find(partsOf(t.ID, t.Port, t.ServerID))
	return ok
}

// Missing returns the identities of the set that none of the targets has, in order.
func (s *IdentitySet) Missing(list []*observed.Target) []string {
	if s == nil {
		return nil
	}
	there := make(map[identityParts]bool, len(list))
	for _, t := range list {
		there[partsOf(t.ID, t.Port, t.ServerID)] = true
	}
	var out []string
	for _, p := range slices.Concat(s.list, s.added) {
		if !there[p] {
			out = append(out, CanonicalIdentity(identity(p.id, p.port, p.server)))
		}
	}
	slices.Sort(out)
	return out
}

// find reports whether an identity is in the set, and where it is, or would be, in the list.
func (s *IdentitySet) find(p identityParts) (at int, ok bool) {
	if at, ok = slices.BinarySearchFunc(s.list, p, compareParts); !ok {
		_, ok = slices.BinarySearchFunc(s.added, p, compareParts)
	}
	return at, ok
}

// WithTargets adds the identities of targets. Those with which the list begins and ends as it did the last time are known;
// where the others are all there, it walks along both lists.
func (s *IdentitySet) WithTargets(list []*observed.Target) *IdentitySet {
	if s == nil {
		s = &IdentitySet{}
	}
	var more []identityParts
	next := 0
	for _, t := range differing(s.lastAdded, list) {
		if next < len(s.list) && s.list[next].id == t.ID && s.list[next].port == t.Port && s.list[next].server == t.ServerID {
			next++
			continue
		}
		p := partsOf(t.ID, t.Port, t.ServerID)
		at, known := s.find(p)
		if !known {
			more = append(more, p)
		}
		if next = at; at < len(s.list) && s.list[at] == p {
			next++
		}
	}
	out := *s.with(more)
	out.lastAdded = list
	return &out
}

// differing returns a list without what it has in common with another at its beginning and at its end.
func differing(old, list []*observed.Target) []*observed.Target {
	for len(old) > 0 && len(list) > 0 && old[0] == list[0] {
		old, list = old[1:], list[1:]
	}
	for len(old) > 0 && len(list) > 0 && old[len(old)-1] == list[len(list)-1] {
		old, list = old[:len(old)-1], list[:len(list)-1]
	}
	return list
}

// With adds the identities of endpoints.
func (s *IdentitySet) With(endpoints []Endpoint) *IdentitySet {
	if s == nil {
		s = &IdentitySet{}
	}
	var more []identityParts
	for _, e := range endpoints {
		p := partsOf(e.ID, e.Port, e.ServerID)
		if _, known := s.find(p); !known {
			more = append(more, p)
		}
	}
	return s.with(more)
}

// with adds identities that are not in the set.
func (s *IdentitySet) with(more []identityParts) *IdentitySet {
	if len(more) == 0 {
		return s
	}
	added := slices.Concat(s.added, more)
	slices.SortFunc(added, compareParts)
	added = slices.Compact(added)
	if len(added) <= maxAdded {
		return &IdentitySet{s.list, added, s.lastAdded}
	}
	out := make([]identityParts, 0, len(s.list)+len(added))
	rest := s.list
	for _, p := range added {
		at, _ := slices.BinarySearchFunc(rest, p, compareParts)
		out, rest = append(append(out, rest[:at]...), p), rest[at:]
	}
	return &IdentitySet{list: append(out, rest...), lastAdded: s.lastAdded}
}

// Without takes the identities of targets out.
func (s *IdentitySet) Without(list []*observed.Target) *IdentitySet {
	if s.Len() == 0 || len(list) == 0 {
		return s
	}
	out := make(map[identityParts]bool, len(list))
	for _, t := range list {
		out[partsOf(t.ID, t.Port, t.ServerID)] = true
	}
	gone := func(p identityParts) bool { return out[p] }
	return &IdentitySet{list: slices.DeleteFunc(slices.Clone(s.list), gone), added: slices.DeleteFunc(slices.Clone(s.added), gone)}
}
