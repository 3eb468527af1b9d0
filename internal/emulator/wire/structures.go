package wire

import (
	"reflect"
	"sync"
)

// wireNames determines the names of members of structures on the wire. It caches the members of each type, because
// reflection and tables of names take more time than the rest of a codec.
type wireNames struct {
	memberName func(structure, member string) string
	cache      sync.Map // reflect.Type to *structure
}

// structure lists the fields of a type that are members of the API.
type structure struct {
	members []member
	byName  map[string]int // the index of a field by the name of its member on the wire
}

// member is a field with its name on the wire.
type member struct {
	fieldIndex int
	name       string
}

// structureOf returns the members of a type, in the order of its fields.
func (n *wireNames) structureOf(t reflect.Type) *structure {
	if s, ok := n.cache.Load(t); ok {
		return s.(*structure)
	}
	s := &structure{byName: map[string]int{}}
	for i := range t.NumField() {
		f := t.Field(i)
		if !f.IsExported() || isSDKField(f) {
			continue
		}
		m := member{i, n.memberName(t.Name(), f.Name)}
		s.members = append(s.members, m)
		s.byName[m.name] = i
	}
	n.cache.Store(t, s)
	return s
}

// goNames gives members on the wire their names in Go.
var goNames = &wireNames{memberName: func(_, member string) string { return member }}
