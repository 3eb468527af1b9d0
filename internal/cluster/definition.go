package cluster

import (
	"fmt"
	"slices"
)

// Definition is what is known of the CustomResourceDefinition of a kind.
type Definition struct {
	// Ending reports that it is being deleted, and all objects of the kind with it, or that it is gone.
	Ending bool
	// Spec are the fields of spec that it keeps; nil: all, or that is not known.
	Spec []string
}

// Drops reports whether objects are served without a field of their spec, whatever whoever wrote them gave.
func (d Definition) Drops(field string) bool { return d.Spec != nil && !slices.Contains(d.Spec, field) }

// Definer is a Source that knows the definition of a kind.
type Definer interface {
	Definition(kind Kind) (Definition, error)
}

// Definition returns the definition of a kind. The source is asked each time: no event says that it changes.
func (v *View) Definition(kind Kind) Definition {
	d, ok := v.src.(Definer)
	if !ok || v.err != nil {
		return Definition{}
	}
	out, err := d.Definition(kind)
	if err != nil {
		v.err = fmt.Errorf("read the definition of %s: %w", kind, err)
	}
	return out
}

// Definition implements Definer.
func (r *Reduced) Definition(kind Kind) (Definition, error) {
	if d, ok := r.Source.(Definer); ok {
		return d.Definition(kind)
	}
	return Definition{}, nil
}

// Definition implements Definer.
func (m *Memory) Definition(kind Kind) (Definition, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.definitions[kind], nil
}

// Define sets the definition of a kind. One that is being deleted is there until all objects of the kind are gone, and all of
// them are deleted.
func (m *Memory) Define(kind Kind, d Definition) error {
	m.mu.Lock()
	if m.definitions == nil {
		m.definitions = map[Kind]Definition{}
	}
	m.definitions[kind] = d
	m.mu.Unlock()
	if !d.Ending {
		return nil
	}
	for _, o := range m.All(kind) {
		if err := m.Delete(RefOf(o)); err != nil {
			return err
		}
	}
	return nil
}
