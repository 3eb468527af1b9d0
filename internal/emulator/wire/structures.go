package wire

import (
	"reflect"
	"sync"
)

// wireNames determines the names of the members of structures in a protocol. It caches the members of each type, because
// reflection and the lookup of names would take most of the time of a codec.
type wireNames struct {
	memberName func(structure, member string) string
	cache      sync.Map // reflect.Type to *structure
}

// structure has the fields of a Go type that are members of the structure in the API model.
type structure struct {
	members []member
	byName  map[string]int // index of the field, by the member's name in the protocol
}

// member is a field of a structure, with its name in the protocol.
type member struct {
	fieldIndex int
	name       string
}

// describeStruct returns the members of a Go struct type, in the order of its fields.
func (n *wireNames) describeStruct(t reflect.Type) *structure {
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

// goNames is for protocols in which each member has its Go name.
var goNames = &wireNames{memberName: func(_, member string) string { return member }}
