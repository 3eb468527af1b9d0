package bindings

import (
	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// filling is what this process has registered for a binding. It is needed where the record in
// Kubernetes is missing, changed by its owner, or was never kept.
type filling struct {
	binding    *elbv2.TargetGroupBinding // as last described
	identities map[string]bool           // in canonical form
}

// filledBy returns a binding as it was when targets were last registered for it, nil if none were.
func (m *memory) filledBy(key Key) *elbv2.TargetGroupBinding {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.fillings[key]; f != nil {
		return f.binding
	}
	return nil
}

// noteFilled remembers targets that are registered for a binding, or no longer.
func (m *memory) noteFilled(key Key, described *elbv2.TargetGroupBinding, registered bool, identities ...string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(identities) == 0 {
		return
	}
	f := m.fillings[key]
	if f == nil || f.binding.Spec.TargetGroupARN != described.Spec.TargetGroupARN {
		if !registered {
			return
		}
		f = &filling{identities: map[string]bool{}}
		m.fillings[key] = f
	}
	if registered {
		f.binding = described
	}
	for _, id := range identities {
		if id = targets.CanonicalIdentity(id); registered {
			f.identities[id] = true
		} else {
			delete(f.identities, id)
		}
	}
}

// dropFilling forgets what was registered for a binding.
func (m *memory) dropFilling(key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.fillings, key)
}
