package bindings

import (
	"time"

	elbv2 "github.com/fulcrum-lb/fulcrum/api/elbv2/v1beta1"
	"github.com/fulcrum-lb/fulcrum/internal/observed"
	"github.com/fulcrum-lb/fulcrum/internal/targets"
)

// filling is what this process has registered for a binding. It is needed where the record in
// Kubernetes is missing, changed by its owner, or was never kept.
type filling struct {
	binding    *elbv2.TargetGroupBinding // as last described
	registered *targets.IdentitySet
	// written is when a target was last registered or taken out.
	written time.Time
	// complete reports whether the last run left nothing to do, running that one is under way, runs how often that
	// has changed.
	complete      bool
	running, runs int
	// unsure reports whether a registration may have taken effect although it failed.
	unsure bool
	// suspected is what others seem to have changed.
	suspected suspicion
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
		m.noteTargetsWritten(key)
	}
}

func (m *memory) noteFilled(key Key, described *elbv2.TargetGroupBinding, change func(*targets.IdentitySet) *targets.IdentitySet) {
	m.mu.Lock()
	defer m.mu.Unlock()
	f := m.fillings[key]
	if f == nil || f.binding.Spec.TargetGroupARN != described.Spec.TargetGroupARN {
		f = &filling{running: 1}
		m.fillings[key] = f
	}
	f.binding, f.registered = described, change(f.registered)
}

// noteDeregistered remembers that targets are not registered for a binding any more.
func (m *memory) noteDeregistered(key Key, described *elbv2.TargetGroupBinding, list []*observed.Target) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, t := range list {
		delete(m.leaving[key], t.ID)
	}
	if f := m.fillings[key]; f != nil && f.binding.Spec.TargetGroupARN == described.Spec.TargetGroupARN {
		f.registered, f.written = f.registered.Without(list), m.now()
	}
}

func (m *memory) noteTargetsWritten(key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.fillings[key].written = m.now()
}

// dropFilling forgets what was registered for a binding.
func (m *memory) dropFilling(key Key) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.fillings, key)
}
