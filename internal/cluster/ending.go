package cluster

import "fmt"

// Definer is a Source that knows whether the definition of a kind is being deleted, and all objects of the kind with it.
type Definer interface {
	Ending(kind Kind) (bool, error)
}

// Ending reports whether the definition of a kind is being deleted, so that none of its objects was deleted by whoever
// wrote it. The source is asked each time: no event says so.
func (v *View) Ending(kind Kind) bool {
	d, ok := v.src.(Definer)
	if !ok || v.err != nil {
		return false
	}
	ending, err := d.Ending(kind)
	if err != nil {
		v.err = fmt.Errorf("read the definition of %s: %w", kind, err)
	}
	return ending
}

// Ending implements Definer.
func (r *Reduced) Ending(kind Kind) (bool, error) {
	if d, ok := r.Source.(Definer); ok {
		return d.Ending(kind)
	}
	return false, nil
}

// Ending implements Definer.
func (m *Memory) Ending(kind Kind) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.ending[kind], nil
}

// EndKind deletes the definition of a kind: the definition is there until all objects of the kind are gone, and all of them
// are deleted.
func (m *Memory) EndKind(kind Kind) error {
	m.mu.Lock()
	if m.ending == nil {
		m.ending = map[Kind]bool{}
	}
	m.ending[kind] = true
	m.mu.Unlock()
	for _, o := range m.All(kind) {
		if err := m.Delete(RefOf(o)); err != nil {
			return err
		}
	}
	return nil
}
