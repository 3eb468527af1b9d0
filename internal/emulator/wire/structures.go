package wire

import (
	"reflect"
	"sync"
)

// naming gives the members of structures their names on the wire. It keeps what it found for a type, because
// reflection and tables of names cost more than everything else in a codec.
type naming struct {
	name  func(structure, member string) string
	found sync.Map // reflect.Type to *structure
}

// structure has the members of a type that are the API's.
type structure struct {
	members []member
	byName  map[string]int // the index of a field by the name of its member on the wire
}

// member is a field with its name on the wire.
type member struct {
	index int
	name  string
}

// of returns the members of a type, in the order of its fields.
func (n *naming) of(t reflect.Type) *structure {
	if s, ok := n.found.Load(t); ok {
		return s.(*structure)
	}
	s := &structure{byName: map[string]int{}}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() || skipField(f) {
			continue
		}
		m := member{i, n.name(t.Name(), f.Name)}
		s.members = append(s.members, m)
		s.byName[m.name] = i
	}
	n.found.Store(t, s)
	return s
}

// ownNames leaves members the names that they have in Go.
var ownNames = &naming{name: func(_, member string) string { return member }}
