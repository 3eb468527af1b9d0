package bindings

import (
	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// filling is what this process has registered for a binding. It is needed where the record in
// Kubernetes is missing, changed by its owner, or was never kept.
type filling struct {
	binding    *elbv2.TargetGroupBinding // as last described
	registered *targets.IdentitySet
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

// noteFound remembers targets of a binding that were found to be registered.
func (m *memory) noteFound(key Key, described *elbv2.TargetGroupBinding, list []*observed.Target) {
	if len(list) > 0 {
		m.noteFilled(key, described, func(s *targets.IdentitySet) *targets.IdentitySet { return s.WithTargets(list) })
	}
}

// noteRegistered remembers targets that were registered for a binding.
func (m *memory) noteRegistered(key Key, described *elbv2.TargetGroupBinding, list []targets.Endpoint) {
	if len(list) > 0 {
		m.noteFilled(key, described, func(s *targets.IdentitySet) *targets.IdentitySet { return s.With(list) })
	}
}

func (m *memory) noteFilled(key Key, described *elbv2.TargetGroupBinding, change func(*targets.IdentitySet) *targets.IdentitySet) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.fillings[key]
	if f == nil || f.binding.Spec.TargetGroupARN != described.Spec.TargetGroupARN {
		f = &filling{}
		m.fillings[key] = f
	}
	f.binding, f.registered = described, change(f.registered)
}

// noteDeregistered remembers that targets are not registered for a binding any more.
func (m *memory) noteDeregistered(key Key, described *elbv2.TargetGroupBinding, list []observed.Target) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if f := m.fillings[key]; f != nil && f.binding.Spec.TargetGroupARN == described.Spec.TargetGroupARN {
		f.registered = f.registered.Without(list)
	}
}

// dropFilling forgets what was registered for a binding.
func (m *memory) dropFilling(key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.fillings, key)
}
