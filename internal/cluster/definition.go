package cluster

import (
	"fmt"
	"slices"
)

// Definition describes the CustomResourceDefinition (CRD) of a kind.
type Definition struct {
	// MissingOrDeleting reports whether the CRD does not exist, or is being deleted together with all objects of the kind.
	MissingOrDeleting bool
	// SpecFields are the fields of spec in the schema of the CRD; nil if the API server keeps all fields, or if the schema
	// is not known.
	SpecFields []string
}

// DropsSpecField reports whether the API server drops a field of spec, because the schema does not contain the field.
func (d Definition) DropsSpecField(field string) bool {
	return d.SpecFields != nil && !slices.Contains(d.SpecFields, field)
}

// DefinitionSource is a Source that can also read the CRDs of kinds.
type DefinitionSource interface {
	Definition(kind Kind) (Definition, error)
}

// Definition returns the CRD of a kind, or the zero value if the source cannot read CRDs. It reads the CRD from the source
// each time, because a change of a CRD causes no event. If the read fails, Err returns the error.
func (v *View) Definition(kind Kind) Definition {
	d, ok := v.source.(DefinitionSource)
	if !ok || v.err != nil {
		return Definition{}
	}
	out, err := d.Definition(kind)
	if err != nil {
		v.err = fmt.Errorf("read the CustomResourceDefinition of %s: %w", kind, err)
	}
	return out
}

// Definition implements DefinitionSource.
func (r *ReducedSource) Definition(kind Kind) (Definition, error) {
	if d, ok := r.Source.(DefinitionSource); ok {
		return d.Definition(kind)
	}
	return Definition{}, nil
}

// Definition implements DefinitionSource.
func (m *Memory) Definition(kind Kind) (Definition, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.definitions[kind], nil
}

// SetDefinition sets the CRD of a kind. If the CRD is missing or being deleted, SetDefinition deletes all objects of the
// kind.
func (m *Memory) SetDefinition(kind Kind, d Definition) error {
	m.mu.Lock()
	if m.definitions == nil {
		m.definitions = map[Kind]Definition{}
	}
	m.definitions[kind] = d
	m.mu.Unlock()
	if !d.MissingOrDeleting {
		return nil
	}
	for _, o := range m.All(kind) {
		if err := m.Delete(RefOf(o)); err != nil {
			return err
		}
	}
	return nil
}
