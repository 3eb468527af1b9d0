package targets

import (
	"cmp"
	"slices"
	"strings"

	"github.com/fulcrum-lb/fulcrum/internal/cluster"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
)

// IdentitySet is an immutable set of identities of targets in canonical form. Methods that add or remove identities return a
// new set. Nil is the empty set.
type IdentitySet struct {
	list []identityParts // ascending, distinct
	// addedParts has up to maxAddedParts further identities, ascending, so that list is not copied for each new identity.
	addedParts []identityParts
	// lastAddedTargets has the targets of the last call of WithTargets. Their identities are in the set.
	lastAddedTargets []*observed.Target
}

// maxAddedParts is the maximum length of IdentitySet.addedParts.
const maxAddedParts = 64

// identityParts is an identity in canonical form. Its ID, port and server ID are not joined to a text, which saves memory.
type identityParts struct {
	id, server string
	port       int32
}

// identityPartsOf returns the identityParts of an ID, a port and a QUIC server ID, in canonical form.
func identityPartsOf(id string, port int32, server string) identityParts {
	if !strings.HasPrefix(id, "i-") { // an instance ID has one form
		id = cluster.CanonicalIP(id)
	}
	return identityParts{id, strings.ToLower(server), port}
}

// compareParts orders identities by ID, port and server ID.
func compareParts(a, b identityParts) int {
	return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.port, b.port), cmp.Compare(a.server, b.server))
}

// Len returns the number of identities.
func (s *IdentitySet) Len() int {
	if s == nil {
		return 0
	}
	return len(s.list) + len(s.addedParts)
}

// Has reports whether the identity of a target is in the set.
func (s *IdentitySet) Has(t *observed.Target) bool {
	if s == nil {
		return false
	}
	_, ok := s.find(identityPartsOf(t.ID, t.Port, t.ServerID))
	return ok
}

// MissingFrom returns the identities of the set that no target of a list has, in order.
func (s *IdentitySet) MissingFrom(list []*observed.Target) []string {
	if s == nil {
		return nil
	}
	found := make(map[identityParts]bool, len(list))
	for _, t := range list {
		found[identityPartsOf(t.ID, t.Port, t.ServerID)] = true
	}
	var out []string
	for _, p := range slices.Concat(s.list, s.addedParts) {
		if !found[p] {
			out = append(out, CanonicalIdentity(identity(p.id, p.port, p.server)))
		}
	}
	slices.Sort(out)
	return out
}

// find reports whether an identity is in the set, and returns its index in list, or the index at which it would be inserted.
func (s *IdentitySet) find(p identityParts) (at int, ok bool) {
	if at, ok = slices.BinarySearchFunc(s.list, p, compareParts); !ok {
		_, ok = slices.BinarySearchFunc(s.addedParts, p, compareParts)
	}
	return at, ok
}

// WithTargets returns the set with the identities of the targets added. It skips the targets at the beginning and the end of
// the list that are the same as in the last call. It compares the remaining targets with the set in order, because both
// usually have the same order.
func (s *IdentitySet) WithTargets(list []*observed.Target) *IdentitySet {
	if s == nil {
		s = &IdentitySet{}
	}
	var unknown []identityParts
	next := 0
	for _, t := range trimCommon(s.lastAddedTargets, list) {
		if next < len(s.list) && s.list[next].id == t.ID && s.list[next].port == t.Port && s.list[next].server == t.ServerID {
			next++
			continue
		}
		p := identityPartsOf(t.ID, t.Port, t.ServerID)
		at, known := s.find(p)
		if !known {
			unknown = append(unknown, p)
		}
		if next = at; at < len(s.list) && s.list[at] == p {
			next++
		}
	}
	out := *s.withParts(unknown)
	out.lastAddedTargets = list
	return &out
}

// trimCommon returns a list without the targets at its beginning and end that are the same as in old.
func trimCommon(old, list []*observed.Target) []*observed.Target {
	for len(old) > 0 && len(list) > 0 && old[0] == list[0] {
		old, list = old[1:], list[1:]
	}
	for len(old) > 0 && len(list) > 0 && old[len(old)-1] == list[len(list)-1] {
		old, list = old[:len(old)-1], list[:len(list)-1]
	}
	return list
}

// WithEndpoints returns the set with the identities of the endpoints added.
func (s *IdentitySet) WithEndpoints(endpoints []Endpoint) *IdentitySet {
	if s == nil {
		s = &IdentitySet{}
	}
	var unknown []identityParts
	for _, e := range endpoints {
		p := identityPartsOf(e.ID, e.Port, e.ServerID)
		if _, known := s.find(p); !known {
			unknown = append(unknown, p)
		}
	}
	return s.withParts(unknown)
}

// withParts returns the set with additional identities, which must not be in it yet.
func (s *IdentitySet) withParts(unknown []identityParts) *IdentitySet {
	if len(unknown) == 0 {
		return s
	}
	added := slices.Concat(s.addedParts, unknown)
	slices.SortFunc(added, compareParts)
	added = slices.Compact(added)
	if len(added) <= maxAddedParts {
		return &IdentitySet{s.list, added, s.lastAddedTargets}
	}
	out := make([]identityParts, 0, len(s.list)+len(added))
	rest := s.list
	for _, p := range added {
		at, _ := slices.BinarySearchFunc(rest, p, compareParts)
		out, rest = append(append(out, rest[:at]...), p), rest[at:]
	}
	return &IdentitySet{list: append(out, rest...), lastAddedTargets: s.lastAddedTargets}
}

// WithoutTargets returns the set without the identities of targets.
func (s *IdentitySet) WithoutTargets(list []*observed.Target) *IdentitySet {
	if s.Len() == 0 || len(list) == 0 {
		return s
	}
	removed := make(map[identityParts]bool, len(list))
	for _, t := range list {
		removed[identityPartsOf(t.ID, t.Port, t.ServerID)] = true
	}
	isRemoved := func(p identityParts) bool { return removed[p] }
	return &IdentitySet{list: slices.DeleteFunc(slices.Clone(s.list), isRemoved), addedParts: slices.DeleteFunc(slices.Clone(s.addedParts), isRemoved)}
}
